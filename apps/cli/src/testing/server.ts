// A server for tests: on any free port, gone when the test is over.
import http from 'node:http';
import net from 'node:net';
import type { TestContext } from 'node:test';
import {
    cancelledError,
    type ByteSource,
    type ChatCompletionChunk,
    type ChatCompletionParams,
    type GenerateRequest,
    type LoadedEngine,
} from 'lapidary';
import type { AnswerEvent, Ended } from 'lapidary/dialects';
import type { Load } from '../serve/loaded.js';
import { startServer, type RunningServer, type ServeOptions } from '../serve/server.js';

// No store of the person who runs the tests.
process.env['OLLAMA_MODELS'] ??= '/nonexistent';

export interface TestServer extends RunningServer {
    logged: string[];
}

export async function testServer(
    t: Pick<TestContext, 'after'>,
    options: Partial<ServeOptions> = {},
): Promise<TestServer> {
    const logged: string[] = [];
    const server = await startServer({
        host: '127.0.0.1',
        port: 0,
        queue: 256,
        models: 1,
        load: { backend: 'cpu' },
        webRoot: '/nonexistent',
        version: '1.2.3',
        log: (text) => logged.push(text),
        ...options,
    });
    t.after(() => server.stop(0));
    return { ...server, logged };
}

export interface RawAnswer {
    status: number;
    headers: http.IncomingHttpHeaders;
    body: string;
}

/** A request exactly as given: fetch would repair paths and refuse to set some headers. */
export function raw(url: string, options: http.RequestOptions & { body?: string | Buffer } = {}): Promise<RawAnswer> {
    const { hostname, port, pathname, search } = new URL(url);
    return new Promise((resolve, reject) => {
        const request = http.request(
            { host: hostname, port, path: pathname + search, agent: false, ...options },
            (response) => {
                let body = '';
                response.setEncoding('utf8');
                response.on('data', (piece: string) => (body += piece));
                const { statusCode: status = 0, headers } = response;
                response.on('end', () => resolve({ status, headers, body }));
                response.on('error', reject);
            },
        );
        request.on('error', reject);
        request.end(options.body);
    });
}

/** Bytes to the socket and whatever comes back until it closes. */
export function rawSocket(port: number, text: string): Promise<string> {
    return new Promise((resolve, reject) => {
        let answer = '';
        const socket = net.connect(port, '127.0.0.1', () => socket.write(text));
        socket.setEncoding('utf8');
        socket.on('data', (piece: string) => (answer += piece));
        socket.on('close', () => resolve(answer));
        socket.on('error', reject);
    });
}

interface AnswerOptions {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: AnswerEvent) => void) | undefined;
}

/** An engine that repeats the last message word by word, as slowly as it is told to. */
export class EchoEngine {
    running = 0;
    /** The most answers that were ever written at the same time. */
    mostRunning = 0;
    stopped = 0;
    disposed = false;
    private sources: readonly ByteSource[] = [];

    constructor(
        readonly model: string,
        private readonly pauseMs: number,
    ) {}

    readonly load: Load = async (sources) => {
        this.sources = sources as ByteSource[]; // the server gives nothing else
        return this.asLoaded();
    };

    asLoaded(): LoadedEngine {
        const create = (params: ChatCompletionParams, { signal }: { signal?: AbortSignal } = {}) => {
            const chunks = this.chunks(params, signal);
            return params.stream ? Promise.resolve(chunks) : whole(chunks);
        };
        const engine = {
            chat: { completions: { create } },
            generate: async (request: GenerateRequest, options: AnswerOptions) => await this.generate(request, options),
            info: { model: this.model, backend: 'cpu', contextLength: 100, weightBytes: 5 },
            dispose: async () => {
                this.disposed = true;
                for (const source of this.sources) await source.close();
            },
        };
        return engine as unknown as LoadedEngine; // as much of one as the server uses in these tests
    }

    private async generate({ messages }: GenerateRequest, { signal, onEvent }: AnswerOptions): Promise<Ended> {
        const fold = { content: '', reasoning: '', calls: [], invalid: [], logprobs: [] };
        for await (const { choices } of this.chunks({ messages: messages as never }, signal)) {
            const text = choices[0]?.delta.content ?? '';
            fold.content += text;
            onEvent?.({ type: 'content', text });
        }
        const usage = { prompt: 1, cached: 0, completion: 1 };
        const times = { prompt_ms: 0, completion_ms: 0, tokens_per_second: 0, time_to_first_token_ms: 0 };
        const end = { type: 'end', finish: 'stop', usage, times } as const;
        onEvent?.(end);
        return { ...fold, end };
    }

    private async *chunks(params: ChatCompletionParams, signal?: AbortSignal): AsyncGenerator<ChatCompletionChunk> {
        this.mostRunning = Math.max(this.mostRunning, ++this.running);
        const words = String(params.messages.at(-1)?.content).split(/(?<= )/);
        try {
            for (const word of words) {
                await new Promise((resolve) => setTimeout(resolve, this.pauseMs));
                if (signal?.aborted) {
                    this.stopped++;
                    throw cancelledError();
                }
                yield this.chunk({ content: word }, null);
            }
            yield this.chunk({}, 'stop');
        } finally {
            this.running--;
        }
    }

    private chunk(delta: { content?: string }, finish: 'stop' | null): ChatCompletionChunk {
        const choices = [{ index: 0 as const, delta, finish_reason: finish }];
        const head = { id: 'x', created: 0, model: this.model, system_fingerprint: 'fp_0' };
        return { ...head, object: 'chat.completion.chunk', choices };
    }
}

async function whole(chunks: AsyncIterable<ChatCompletionChunk>) {
    let content = '';
    for await (const chunk of chunks) content += chunk.choices[0]?.delta.content ?? '';
    return { choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }] };
}

/** An engine whose every answer is a call of a tool. */
export const withToolCalls: Load = async (sources) => {
    async function* chunks() {
        const called = { name: 'weather', arguments: '{"city":"Oslo"}' };
        const call = { index: 0, id: 'call_7', type: 'function', function: called };
        const chunk = { id: 'x', object: 'chat.completion.chunk', created: 0, model: 'x' };
        yield { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: null }, finish_reason: null }] };
        yield { ...chunk, choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] };
        yield { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
    }
    const generate = async (_: GenerateRequest, { onEvent }: AnswerOptions): Promise<Ended> => {
        const call = { id: 'call_7', name: 'weather', arguments: '{"city":"Oslo"}' };
        const usage = { prompt: 1, cached: 0, completion: 1 };
        const times = { prompt_ms: 0, completion_ms: 0, tokens_per_second: 0, time_to_first_token_ms: 0 };
        const end = { type: 'end', finish: 'tool_calls', usage, times } as const;
        onEvent?.({ type: 'call', index: 0, ...call });
        onEvent?.(end);
        return { content: '', reasoning: '', calls: [call], invalid: [], logprobs: [], end };
    };
    const engine = {
        chat: { completions: { create: async () => chunks() } },
        generate,
        info: { model: 'x', backend: 'cpu', contextLength: 100, weightBytes: 5 },
        dispose: async () => {
            for (const source of sources as ByteSource[]) await source.close();
        },
    };
    return engine as unknown as LoadedEngine; // as much of one as the server uses in these tests
};

/** Whether the engine constrains its answers: one that does refuses a schema that is none. */
export async function keepsToSchemas(url: string): Promise<boolean> {
    const schema = { type: 'nonsense' };
    const body = {
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 1,
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    };
    return (await raw(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })).status === 400;
}

export async function canEmbed(url: string): Promise<boolean> {
    const { body } = await raw(`${url}/v1/embeddings`, { method: 'POST', body: '{"input":"x"}' });
    return !body.includes('there is no method');
}
