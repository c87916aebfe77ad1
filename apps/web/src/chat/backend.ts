// Who answers: the engine in this page, or a program elsewhere. The chat knows only this.
import type { Tool } from '../shell/feature.js';
import type { AnswerStats, Draft, Role, ToolCall } from '../store/conversation.js';
import { partsOf, readableText, type Part } from '../store/parts.js';
import type { AdapterChoice, CanvasWishes, Wishes } from '../store/settings.js';

export interface ChatMessage {
    role: 'system' | 'user' | 'assistant' | 'tool';
    content: string;
    /** What goes with the text. */
    parts?: readonly Part[];
    toolCalls?: ToolCall[];
    toolCallId?: string;
}

export interface ChatRequest extends Wishes {
    messages: ChatMessage[];
    thinking: boolean;
    /** OpenAI's `tools`. */
    tools?: unknown[];
    /** For the engine in this page. */
    adapters?: readonly AdapterChoice[];
    /** Likewise, of a model that writes by canvases. */
    diffusion?: CanvasWishes;
    /** What there is of the answer already: only the rest is wanted. */
    begun?: Begun;
}

export interface Begun {
    content: string;
    reasoning?: string;
    /** What it is made of, if that was told: with the same model the answer then goes on as if it had never stopped. */
    tokens?: readonly number[];
}

export type ChatDelta =
    | { type: 'content'; text: string }
    | { type: 'reasoning'; text: string }
    | { type: 'tool_call'; call: ToolCall }
    /** What the pieces before and after are made of. */
    | { type: 'tokens'; tokens: number[] }
    /** What may come next: the next draft, or text that comes for good, takes its place. */
    | ({ type: 'draft' } & Draft)
    /** What this request brought so far is void: it begins again, because whoever wrote it went away. */
    | { type: 'restart' };

export interface ChatOutcome {
    finish: 'stop' | 'length' | 'tool_calls';
    model: string;
    stats?: AnswerStats;
    /** Messages at the beginning that no longer fitted. */
    leftOut?: number;
}

export interface ChatBackend {
    /** Rejects with an AbortError, or a LapidaryError of code `cancelled`, when stopped. */
    answer(request: ChatRequest, onDelta: (delta: ChatDelta) => void, signal: AbortSignal): Promise<ChatOutcome>;
}

export function isAbort(error: unknown): boolean {
    if (typeof error !== 'object' || error === null) return false;
    const { name, code } = error as { name?: unknown; code?: unknown };
    return name === 'AbortError' || code === 'cancelled';
}

/** Without the fields that are undefined: some servers refuse a null. */
export function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** As most programs, and the engine itself, take messages. */
export function openAiMessage(message: ChatMessage): Record<string, unknown> {
    return withoutUndefined({
        role: message.role,
        content: readableText(message.content, message.parts),
        tool_calls: message.toolCalls?.map(({ id, name, arguments: text }) => ({
            id,
            type: 'function',
            function: { name, arguments: text },
        })),
        tool_call_id: message.toolCallId,
    });
}

export interface RequestSettings extends Wishes {
    system: string;
    thinking: boolean;
    tools: string;
    ownTools?: readonly string[];
    adapters?: readonly AdapterChoice[];
    diffusion?: CanvasWishes;
}

/** The path of a conversation and the settings as a request. An answer that never began is not shown to the model. */
export function buildRequest(
    path: readonly (ChatMessage & { role: Role })[],
    settings: RequestSettings,
    /** Of the app. */
    own: readonly Tool[] = [],
): ChatRequest {
    const { system, tools, ownTools: _, ...sampling } = settings;
    const messages: ChatMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }];
    for (const { role, content, parts, toolCalls, toolCallId } of path) {
        if (role === 'assistant' && content === '' && !toolCalls?.length) continue;
        messages.push({
            role,
            content,
            ...partsOf(parts),
            ...(toolCalls?.length ? { toolCalls } : {}),
            ...(toolCallId === undefined ? {} : { toolCallId }),
        });
    }
    const request: ChatRequest = { messages, thinking: sampling.thinking };
    const { temperature, topP, topK, minP, repeatPenalty, seed, maxTokens } = sampling;
    Object.assign(request, withoutUndefined({ temperature, topP, topK, minP, repeatPenalty, seed, maxTokens }));
    const parsed = parseTools(tools);
    if (parsed.tools.length + own.length > 0) request.tools = [...parsed.tools, ...own.map(definition)];
    if (settings.adapters?.length) request.adapters = settings.adapters;
    if (settings.diffusion) request.diffusion = settings.diffusion;
    return request;
}

function definition({ name, description, parameters }: Tool): unknown {
    return { type: 'function', function: { name, description, parameters } };
}

export function parseTools(text: string): { tools: unknown[]; problem?: string } {
    if (text.trim() === '') return { tools: [] };
    try {
        const parsed: unknown = JSON.parse(text);
        if (Array.isArray(parsed)) return { tools: parsed };
        return { tools: [], problem: 'The tools must be a JSON list: [{"type": "function", …}].' };
    } catch (error) {
        return { tools: [], problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
    }
}
