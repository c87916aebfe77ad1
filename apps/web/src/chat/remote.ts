// The same chat over HTTP: any OpenAI-compatible server (llama-server, vLLM, Lapidary's own) or Ollama.
import type { AnswerStats, ToolCall } from '../store/conversation.js';
import { isFile, readableText } from '../store/parts.js';
import type { Endpoint } from '../store/settings.js';
import {
    openAiMessage,
    withoutUndefined,
    type ChatBackend,
    type ChatDelta,
    type ChatMessage,
    type ChatOutcome,
    type ChatRequest,
} from './backend.js';
import { endpointUrl } from './address.js';
import { readEvents, readLines } from './lines.js';

type Json = Record<string, unknown>;

export function remoteBackend(endpoint: Endpoint): ChatBackend {
    return endpoint.kind === 'ollama' ? new OllamaBackend(endpoint) : new OpenAiBackend(endpoint);
}

async function post(
    endpoint: Endpoint,
    path: string,
    body: Json,
    signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
    const response = await request(endpoint, path, { method: 'POST', body: JSON.stringify(body), signal });
    if (!response.body) throw new Error('the server sent an empty answer');
    return response.body;
}

async function request(endpoint: Endpoint, path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers({ 'content-type': 'application/json' });
    if (endpoint.key !== '') headers.set('authorization', `Bearer ${endpoint.key}`);
    const url = endpointUrl(endpoint, path);
    let response: Response;
    try {
        response = await fetch(url, { ...init, headers });
    } catch (cause) {
        if (init.signal?.aborted) throw cause;
        const server = new URL(url).origin;
        throw new Error(`${server} cannot be reached, or does not allow this page to ask it (CORS)`, { cause });
    }
    if (!response.ok) throw new Error(await refusal(response));
    return response;
}

/** What the server said, as far as it said it in a form we know. */
async function refusal(response: Response): Promise<string> {
    const text = (await response.text().catch(() => '')).slice(0, 2000);
    let said = text;
    try {
        const { error } = JSON.parse(text) as { error?: string | { message?: string } };
        said = (typeof error === 'string' ? error : error?.message) ?? text;
    } catch {
        // Not JSON: a page of some proxy, perhaps.
    }
    return `the server answered ${response.status}${said ? `: ${said}` : ''}`;
}

export async function listRemoteModels(endpoint: Endpoint, signal: AbortSignal): Promise<string[]> {
    const path = endpoint.kind === 'ollama' ? '/tags' : '/models';
    const listed = (await (await request(endpoint, path, { signal })).json()) as Json;
    const entries = endpoint.kind === 'ollama' ? listed['models'] : listed['data'];
    if (!Array.isArray(entries)) throw new Error('the server did not send a list of models');
    return entries.map((entry: Json) => String(entry['id'] ?? entry['name'] ?? '')).filter(Boolean);
}

class OpenAiBackend implements ChatBackend {
    constructor(private readonly endpoint: Endpoint) {}

    async answer(request: ChatRequest, onDelta: (delta: ChatDelta) => void, signal: AbortSignal): Promise<ChatOutcome> {
        const started = performance.now();
        const body = await post(this.endpoint, '/chat/completions', await openAiBody(this.endpoint.model, request), signal);
        const calls = new Map<number, ToolCall>();
        const outcome: ChatOutcome = { finish: 'stop', model: this.endpoint.model };
        let first: number | undefined;
        for await (const data of readEvents(body)) {
            if (data === '[DONE]') break;
            const chunk = JSON.parse(data) as Json;
            if (chunk['error']) throw new Error(errorText(chunk['error']));
            if (typeof chunk['model'] === 'string') outcome.model = chunk['model'];
            const stats = openAiStats(chunk['usage'], started, first);
            if (stats) outcome.stats = stats;
            const choice = (chunk['choices'] as Json[] | undefined)?.[0];
            const delta = (choice?.['delta'] ?? {}) as Json;
            const text = delta['content'];
            const reasoning = delta['reasoning_content'] ?? delta['reasoning'];
            if (typeof text === 'string' || typeof reasoning === 'string') first ??= performance.now();
            if (typeof reasoning === 'string' && reasoning) onDelta({ type: 'reasoning', text: reasoning });
            if (typeof text === 'string' && text) onDelta({ type: 'content', text });
            collectCalls(calls, delta['tool_calls']);
            const finish = choice?.['finish_reason'];
            if (finish === 'length') outcome.finish = 'length';
        }
        for (const call of calls.values()) onDelta({ type: 'tool_call', call });
        if (calls.size > 0) outcome.finish = 'tool_calls';
        return outcome;
    }
}

async function openAiBody(model: string, request: ChatRequest): Promise<Json> {
    return withoutUndefined({
        model,
        stream: true,
        stream_options: { include_usage: true },
        messages: await Promise.all(withBegun(request).map(openAiWithMedia)),
        tools: request.tools,
        temperature: request.temperature,
        top_p: request.topP,
        top_k: request.topK,
        min_p: request.minP,
        seed: request.seed,
        max_tokens: request.maxTokens,
    });
}

async function openAiWithMedia(message: ChatMessage): Promise<Json> {
    const said = openAiMessage(message);
    if (!message.parts?.some(isFile)) return said;
    const files = await (await import('./media-parts.js')).openAiParts(message);
    return { ...said, content: [...files, { type: 'text', text: said['content'] }] };
}

/** An answer at the end is one to go on with: llama-server, Ollama and most others read it so. */
function withBegun({ messages, begun }: ChatRequest): ChatMessage[] {
    return begun?.content ? [...messages, { role: 'assistant', content: begun.content }] : messages;
}

/** Calls arrive in pieces, told apart by their index. */
function collectCalls(calls: Map<number, ToolCall>, pieces: unknown): void {
    if (!Array.isArray(pieces)) return;
    for (const piece of pieces as Json[]) {
        const index = Number(piece['index'] ?? calls.size);
        const call = calls.get(index) ?? { id: '', name: '', arguments: '' };
        const called = (piece['function'] ?? {}) as Json;
        if (typeof piece['id'] === 'string') call.id = piece['id'];
        if (typeof called['name'] === 'string') call.name += called['name'];
        if (typeof called['arguments'] === 'string') call.arguments += called['arguments'];
        calls.set(index, call);
    }
}

function openAiStats(usage: unknown, started: number, first: number | undefined): AnswerStats | undefined {
    if (typeof usage !== 'object' || usage === null) return undefined;
    const { prompt_tokens: prompt, completion_tokens: completion } = usage as Json;
    if (typeof prompt !== 'number' || typeof completion !== 'number') return undefined;
    const stats: AnswerStats = { promptTokens: prompt, completionTokens: completion };
    if (first !== undefined) {
        stats.promptMs = first - started;
        stats.completionMs = performance.now() - first;
    }
    return stats;
}

class OllamaBackend implements ChatBackend {
    constructor(private readonly endpoint: Endpoint) {}

    async answer(request: ChatRequest, onDelta: (delta: ChatDelta) => void, signal: AbortSignal): Promise<ChatOutcome> {
        const body = await post(this.endpoint, '/chat', await ollamaBody(this.endpoint.model, request), signal);
        const outcome: ChatOutcome = { finish: 'stop', model: this.endpoint.model };
        let called = 0;
        for await (const line of readLines(body)) {
            if (line.trim() === '') continue;
            const chunk = JSON.parse(line) as Json;
            if (chunk['error']) throw new Error(errorText(chunk['error']));
            const message = (chunk['message'] ?? {}) as Json;
            if (typeof message['thinking'] === 'string' && message['thinking']) {
                onDelta({ type: 'reasoning', text: message['thinking'] });
            }
            if (typeof message['content'] === 'string' && message['content']) {
                onDelta({ type: 'content', text: message['content'] });
            }
            for (const call of (message['tool_calls'] ?? []) as Json[]) {
                const { name, arguments: args } = (call['function'] ?? {}) as Json;
                const id = `call_${called++}`;
                onDelta({ type: 'tool_call', call: { id, name: String(name), arguments: JSON.stringify(args ?? {}) } });
            }
            if (chunk['done'] !== true) continue;
            if (chunk['done_reason'] === 'length') outcome.finish = 'length';
            outcome.stats = ollamaStats(chunk);
        }
        if (called > 0) outcome.finish = 'tool_calls';
        return outcome;
    }
}

async function ollamaBody(model: string, request: ChatRequest): Promise<Json> {
    return withoutUndefined({
        model,
        stream: true,
        messages: await Promise.all(
            withBegun(request).map(async ({ role, content, parts, toolCalls }) =>
                withoutUndefined({
                    role,
                    content: readableText(content, parts),
                    images: parts?.some(isFile) ? await (await import('./media-parts.js')).images(parts) : undefined,
                    tool_calls: toolCalls?.map((call) => ({
                        function: { name: call.name, arguments: JSON.parse(call.arguments || '{}') as unknown },
                    })),
                }),
            ),
        ),
        tools: request.tools,
        think: request.thinking ? true : undefined,
        options: withoutUndefined({
            temperature: request.temperature,
            top_p: request.topP,
            top_k: request.topK,
            min_p: request.minP,
            repeat_penalty: request.repeatPenalty,
            seed: request.seed,
            num_predict: request.maxTokens,
        }),
    });
}

function ollamaStats(chunk: Json): AnswerStats {
    const number = (name: string) => (typeof chunk[name] === 'number' ? chunk[name] : 0);
    return {
        promptTokens: number('prompt_eval_count'),
        completionTokens: number('eval_count'),
        promptMs: number('prompt_eval_duration') / 1e6,
        completionMs: number('eval_duration') / 1e6,
    };
}

function errorText(error: unknown): string {
    if (typeof error === 'string') return error;
    const message = (error as { message?: unknown } | null)?.message;
    return typeof message === 'string' ? message : 'the server reported an error';
}
