// An answer as what happens while it is written: the one shape in which the inside tells it. Dialects word it.
import type { GenerateEvent, GenerateResult, Logprob } from '../session.js';

/** How likely a token was; of the first token of all nobody can say. */
export type Score = Pick<Logprob, 'text' | 'bytes'> & Partial<Pick<Logprob, 'logprob' | 'top'>>;

export interface Usage {
    prompt: number;
    /** Of the prompt's, those that were in memory from before. */
    cached: number;
    completion: number;
}

export interface Times {
    prompt_ms: number;
    completion_ms: number;
    tokens_per_second: number;
    time_to_first_token_ms: number;
}

export interface End {
    type: 'end';
    finish: GenerateResult['finish_reason'];
    usage: Usage;
    times: Times;
    /** Messages that were left out for want of room. */
    dropped?: number;
    /** Which of the request's stop texts ended it. */
    stop?: number;
    /** Of an answer that was continued: all of it, where the events tell the rest. */
    whole?: { content: string; reasoning: string; calls: Call[] };
}

export type AnswerEvent =
    | { type: 'reading'; done: number; total: number }
    | { type: 'content'; text: string; logprobs?: readonly Score[] | undefined }
    | { type: 'reasoning'; text: string }
    /** `arguments` is the beginning of a JSON text; the rest comes in events of its own. */
    | { type: 'call'; index: number; id: string; name: string; arguments: string }
    | { type: 'arguments'; index: number; text: string }
    | { type: 'invalid_call'; text: string; error: string }
    /**
     * Of a diffusion model, where drafts were asked for: what may come next. The next draft, or what is then told for good, takes
     * its place. `firm`: where accepted tokens are in the text, start and end in turn; `settled` of the canvas's `tokens` are.
     */
    | { type: 'draft'; text: string; firm: readonly number[]; settled: number; tokens: number; step: number; steps: number }
    /** What the next pieces are made of, where that was asked for. */
    | { type: 'tokens'; tokens: readonly number[] }
    | End;

export interface Call {
    id: string;
    name: string;
    arguments: string;
}

/** An answer that is complete. */
export interface Ended {
    content: string;
    reasoning: string;
    calls: Call[];
    invalid: { text: string; error: string }[];
    logprobs: Score[];
    end: End;
}

/** The only place where events become a whole. */
export class Fold {
    private content = '';
    private reasoning = '';
    private readonly calls: Call[] = [];
    private readonly invalid: { text: string; error: string }[] = [];
    private readonly logprobs: Score[] = [];

    take(event: AnswerEvent): void {
        switch (event.type) {
            case 'content':
                this.content += event.text;
                if (event.logprobs) this.logprobs.push(...event.logprobs);
                return;
            case 'reasoning':
                this.reasoning += event.text;
                return;
            case 'call': {
                const { id, name, arguments: given } = event;
                this.calls[event.index] = { id, name, arguments: given };
                return;
            }
            case 'arguments': {
                const call = this.calls[event.index];
                if (call) call.arguments += event.text;
                return;
            }
            case 'invalid_call':
                this.invalid.push({ text: event.text, error: event.error });
        }
    }

    ended(end: End): Ended {
        const { invalid, logprobs } = this;
        const told = { content: this.content, reasoning: this.reasoning, calls: this.calls.filter(Boolean) };
        return { ...told, ...end.whole, invalid, logprobs, end };
    }
}

/** From what the engine says to events. Measures from when it is made, so that waiting for other calls counts. */
export class Telling {
    private readonly started = performance.now();
    private first: number | undefined;
    /** The engine counts the calls of one answer; across a conversation their names must differ. */
    private readonly callPrefix = newId('call_').slice(0, 13);

    /** `known`: how many tokens of the answer were there before. */
    constructor(private readonly known = 0) {}

    of(event: GenerateEvent): AnswerEvent {
        if (event.type !== 'draft') this.first ??= performance.now();
        switch (event.type) {
            case 'content':
            case 'text':
                return { type: 'content', text: event.text, logprobs: event.logprobs };
            case 'reasoning':
                return { type: 'reasoning', text: event.text };
            case 'tool_call': {
                const { index, name, arguments: given } = event;
                return { type: 'call', index, id: this.callId(index), name, arguments: given };
            }
            case 'arguments':
                return { type: 'arguments', index: event.index, text: event.text };
            case 'invalid_tool_call':
                return { type: 'invalid_call', text: event.text, error: event.error };
            case 'draft':
            case 'tokens':
                return event;
        }
    }

    private callId(index: number): string {
        return `${this.callPrefix}_${index}`;
    }

    end(result: GenerateResult): End {
        const { prompt_ms, completion_ms, prompt_tokens, cached_tokens, completion_tokens, dropped_messages, message } = result;
        // The first token is chosen when the prompt has been read, so `completion_ms` is the time of the others only.
        const later = completion_tokens - this.known - 1;
        const { content = result.text, reasoning_content: reasoning = '', tool_calls: made = [] } = message ?? {};
        const calls = made.map((call, i) => ({ ...call.function, id: this.callId(i) }));
        return {
            type: 'end',
            finish: result.finish_reason,
            usage: { prompt: prompt_tokens, cached: cached_tokens, completion: completion_tokens },
            times: {
                prompt_ms,
                completion_ms,
                tokens_per_second: later > 0 && completion_ms > 0 ? (later * 1000) / completion_ms : 0,
                time_to_first_token_ms: (this.first ?? performance.now()) - this.started,
            },
            ...(result.stopped_by === undefined ? {} : { stop: result.stopped_by }),
            ...(dropped_messages === undefined ? {} : { dropped: dropped_messages }),
            ...(this.known > 0 ? { whole: { content, reasoning, calls } } : {}),
        };
    }
}

/** Not a secret: it only has to differ from the others. */
export function newId(prefix: string): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const random = Array.from({ length: 24 }, () => letters[Math.floor(Math.random() * letters.length)]);
    return prefix + random.join('');
}
