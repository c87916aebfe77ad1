// Answers in Ollama's words: one JSON object a line while it is written, or one object at the end.
import {
    isObject,
    type ChatCompletionChunk,
    type Completion,
    type CompletionLogprobs,
    type TokenLogprob,
    type ToolCallDelta,
    type TopLogprob,
} from 'lapidary';

export interface OllamaToolCall {
    id: string;
    function: { index: number; name: string; arguments: unknown };
}

/** A piece of an answer, whatever it was asked with. */
export interface Piece {
    content: string;
    thinking: string;
    calls: OllamaToolCall[];
    logprobs: TokenLogprob[];
}

/** What is known when an answer is complete. Durations are in nanoseconds. */
export interface Summary {
    done_reason: string;
    total_duration: number;
    load_duration: number;
    prompt_eval_count: number;
    prompt_eval_duration: number;
    eval_count: number;
    eval_duration: number;
}

/** Follows the chunks of the library's stream and remembers what the last line tells. */
export class Answer {
    private readonly started = performance.now();
    private finish = 'stop';
    private promptTokens = 0;
    private completionTokens = 0;
    private promptMs = 0;
    private completionMs = 0;
    private open: OpenCall | undefined;

    chatPiece(chunk: ChatCompletionChunk): Piece | undefined {
        this.remember(chunk);
        const [choice] = chunk.choices;
        if (!choice) return undefined;
        if (choice.finish_reason === 'length') this.finish = 'length';
        const { content, reasoning_content: thinking, tool_calls: told = [] } = choice.delta;
        return piece(content ?? '', thinking ?? '', this.calls(told, choice.finish_reason !== null), choice.logprobs?.content ?? []);
    }

    /** Those that are complete: here a call comes in one piece. */
    private calls(told: readonly ToolCallDelta[], last: boolean): OllamaToolCall[] {
        const complete: OpenCall[] = [];
        for (const { index, id, function: called } of told) {
            if (id !== undefined) {
                if (this.open) complete.push(this.open);
                this.open = { index, id, name: called.name ?? '', arguments: '' };
            }
            if (this.open) this.open.arguments += called.arguments;
        }
        if (this.open && (last || isWhole(this.open.arguments))) {
            complete.push(this.open);
            this.open = undefined;
        }
        return complete.map(toolCall);
    }

    textPiece(chunk: Completion): Piece | undefined {
        this.remember(chunk);
        const [choice] = chunk.choices;
        if (choice?.finish_reason === 'length') this.finish = 'length';
        return choice ? piece(choice.text, '', [], logprobsOf(choice.logprobs)) : undefined;
    }

    summary(loadMs: number): Summary {
        return {
            done_reason: this.finish,
            total_duration: nanoseconds(performance.now() - this.started),
            load_duration: nanoseconds(loadMs),
            prompt_eval_count: this.promptTokens,
            prompt_eval_duration: nanoseconds(this.promptMs),
            eval_count: this.completionTokens,
            eval_duration: nanoseconds(this.completionMs),
        };
    }

    private remember({ usage, timings }: Pick<ChatCompletionChunk, 'usage' | 'timings'>): void {
        if (usage) {
            this.promptTokens = usage.prompt_tokens;
            this.completionTokens = usage.completion_tokens;
        }
        if (timings) {
            this.promptMs = timings.prompt_ms;
            this.completionMs = timings.completion_ms;
        }
    }
}

function piece(
    content: string,
    thinking: string,
    calls: OllamaToolCall[],
    logprobs: TokenLogprob[],
): Piece | undefined {
    if (content === '' && thinking === '' && calls.length === 0 && logprobs.length === 0) return undefined;
    return { content, thinking, calls, logprobs };
}

export function nanoseconds(milliseconds: number): number {
    return Math.round(milliseconds * 1e6);
}

/** Ollama gives arguments as an object, OpenAI as its text. */
function toolCall({ id, index, name, arguments: given }: OpenCall): OllamaToolCall {
    return { id, function: { index, name, arguments: parsed(given) } };
}

interface OpenCall {
    index: number;
    id: string;
    name: string;
    arguments: string;
}

function isWhole(text: string): boolean {
    if (!text.endsWith('}')) return false;
    try {
        return isObject(JSON.parse(text));
    } catch {
        return false;
    }
}

/** From the four lists of OpenAI's older way to the entries of the newer one, which Ollama has too. */
function logprobsOf(lists: CompletionLogprobs | null): TokenLogprob[] {
    if (!lists) return [];
    return lists.tokens.map((token, i) => ({
        ...entryOf(token, lists.token_logprobs[i] ?? 0),
        top_logprobs: Object.entries(lists.top_logprobs[i] ?? {}).map(([text, logprob]) => entryOf(text, logprob)),
    }));
}

function entryOf(token: string, logprob: number): TopLogprob {
    return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}

function parsed(text: string): unknown {
    try {
        const value: unknown = JSON.parse(text);
        return isObject(value) ? value : {};
    } catch {
        return {};
    }
}

/** Everything in one piece, for who does not want a stream. */
export function joined(pieces: readonly Piece[]): Piece {
    return {
        content: pieces.map((one) => one.content).join(''),
        thinking: pieces.map((one) => one.thinking).join(''),
        calls: pieces.flatMap((one) => one.calls),
        logprobs: pieces.flatMap((one) => one.logprobs),
    };
}

export function chatMembers({ content, thinking, calls, logprobs }: Piece) {
    return {
        message: {
            role: 'assistant',
            content,
            ...(thinking === '' ? {} : { thinking }),
            ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
        ...(logprobs.length === 0 ? {} : { logprobs }),
    };
}

export function generateMembers({ content, thinking, logprobs }: Piece) {
    return {
        response: content,
        ...(thinking === '' ? {} : { thinking }),
        ...(logprobs.length === 0 ? {} : { logprobs }),
    };
}

export const nothing: Piece = { content: '', thinking: '', calls: [], logprobs: [] };
