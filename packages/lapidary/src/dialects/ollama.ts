// Ollama's answers: one JSON object a line while they are written, or one object at the end.
import type { AnswerEvent, Call, End, Ended, Score } from '../answer/events.js';
import { isObject, type JsonObject, type JsonValue } from '../json.js';

/** Which of Ollama's two endpoints: they differ in where an answer's text stands. */
export type OllamaKind = 'chat' | 'generate';

export interface OllamaEcho {
    kind: OllamaKind;
    /** How many likely tokens to tell at each place; undefined when none at all are asked for. */
    top: number | undefined;
}

/** A piece of an answer. */
interface Piece {
    content?: string;
    thinking?: string;
    calls?: JsonObject[];
    logprobs?: JsonObject[];
}

/** What only who serves it knows, in milliseconds. */
export interface OllamaTimes {
    loadMs: number;
    totalMs: number;
}

/** The words of one answer in a stream: a function for each. The last line is `ollamaEnd`. */
export function ollamaPieces({ kind, top }: OllamaEcho): (event: AnswerEvent) => JsonObject[] {
    /** The call that is being written. Clients take a call as an object, so it is told when it is complete. */
    let open: (Call & { index: number }) | undefined;
    const close = (): Piece[] => {
        const call = open && toolCall(open, open.index);
        open = undefined;
        return call ? [{ calls: [call] }] : [];
    };
    const of = (event: AnswerEvent): Piece[] => {
        switch (event.type) {
            case 'content': {
                const logprobs = logprobsOf(event.logprobs, top);
                return event.text === '' && logprobs.length === 0 ? [] : [...close(), { content: event.text, logprobs }];
            }
            case 'reasoning':
                return [...close(), { thinking: event.text }];
            case 'call': {
                const { type: _, ...call } = event;
                const before = close();
                open = call;
                return before;
            }
            case 'arguments':
                if (open) open.arguments += event.text;
                return [];
            case 'end':
                return close();
            default:
                return [];
        }
    };
    return (event) => of(event).flatMap((piece) => (kind === 'generate' && piece.calls ? [] : [members(kind, piece)]));
}

export function wholeOllama({ kind, top }: OllamaEcho, { content, reasoning, calls, logprobs }: Ended): JsonObject {
    const made = calls.map(toolCall).filter((call) => call !== undefined);
    return members(kind, { content, thinking: reasoning, calls: made, logprobs: logprobsOf(logprobs, top) });
}

/** What is known when an answer is complete. Durations are in nanoseconds. */
export function ollamaEnd({ finish, usage, times }: End, { loadMs, totalMs }: OllamaTimes): JsonObject {
    return {
        done: true,
        done_reason: finish === 'length' ? 'length' : 'stop',
        total_duration: nanoseconds(totalMs),
        load_duration: nanoseconds(loadMs),
        prompt_eval_count: usage.prompt,
        prompt_eval_duration: nanoseconds(times.prompt_ms),
        eval_count: usage.completion,
        eval_duration: nanoseconds(times.completion_ms),
    };
}

/** What a line has of an answer; without a piece that of a line that tells something else. */
export function members(kind: OllamaKind, { content = '', thinking = '', calls = [], logprobs = [] }: Piece = {}): JsonObject {
    const scores = logprobs.length === 0 ? {} : { logprobs };
    const thought = thinking === '' ? {} : { thinking };
    if (kind === 'generate') return { response: content, ...thought, ...scores };
    const made = calls.length === 0 ? {} : { tool_calls: calls };
    return { message: { role: 'assistant', content, ...thought, ...made }, ...scores };
}

export function nanoseconds(milliseconds: number): number {
    return Math.round(milliseconds * 1e6);
}

/** Arguments are an object here. A call that was cut off has none, and nobody should act on it. */
function toolCall({ id, name, arguments: given }: Call, index: number): JsonObject | undefined {
    let value: unknown;
    try {
        value = JSON.parse(given);
    } catch {
        return undefined;
    }
    return isObject(value) ? { id, function: { index, name, arguments: value } } : undefined;
}

function logprobsOf(scores: readonly Score[] = [], most: number | undefined): JsonObject[] {
    if (most === undefined) return [];
    const entry = ({ text, logprob = 0, bytes }: Score): JsonObject => ({ token: text, logprob, bytes: bytes as JsonValue[] });
    return scores.map((score) => ({ ...entry(score), top_logprobs: (score.top ?? []).slice(0, most).map(entry) }));
}
