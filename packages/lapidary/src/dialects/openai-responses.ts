// OpenAI's responses: an answer as a list of items, and the events in which they come to be.
import type { AnswerEvent, End, Ended, Score } from '../answer/events.js';
import type { JsonObject, JsonValue } from '../json.js';
import type { Head } from './head.js';
import { sealed } from './openai-responses-items.js';
import type { ResponsesEcho } from './openai-responses-request.js';
import { inputOf } from './tools.js';

/** `type` and `sequence_number` are in every one. */
export type ResponseEvent = JsonObject;

export const responsesPrefix = 'resp_';

/** The item that is being written: they come one after the other. */
type Open =
    | { kind: 'message'; id: string; text: string; logprobs: JsonObject[] }
    | { kind: 'reasoning'; id: string; text: string }
    | { kind: 'call'; id: string; index: number; callId: string; name: string; arguments: string };

/** An answer as it grows. */
export class ResponseWords {
    /** Items that are complete. */
    readonly output: JsonObject[] = [];
    private sequence = 0;
    private open: Open | undefined;
    private begun = false;
    private thoughts = 0;

    constructor(
        private readonly head: Head,
        private readonly echo: ResponsesEcho,
    ) {}

    /** What an event becomes in a stream. */
    pieces(event: AnswerEvent): ResponseEvent[] {
        const out: ResponseEvent[] = this.begin();
        switch (event.type) {
            case 'content':
                if (event.text !== '') out.push(...this.text(event.text, event.logprobs));
                break;
            case 'invalid_call':
                out.push(...this.text(event.text, undefined)); // what the model wrote, for who can make something of it
                break;
            case 'reasoning':
                out.push(...this.thought(event.text));
                break;
            case 'call':
                out.push(...this.call(event));
                break;
            case 'arguments':
                out.push(...this.arguments(event.text));
                break;
            case 'end': {
                const cut = event.finish === 'length';
                out.push(...this.close(cut ? 'incomplete' : 'completed'));
                out.push(this.told(cut ? 'response.incomplete' : 'response.completed', { response: this.response(event) }));
                break;
            }
            default:
        }
        return out;
    }

    /** How a stream ends that went wrong on its way. */
    failed(code: string, message: string): ResponseEvent[] {
        const response = { ...this.whole('failed'), error: { code, message } };
        return [...this.begin(), this.told('response.failed', { response })];
    }

    /** What is to be had of the answer when it has ended. */
    response(end: End): JsonObject {
        const cut = end.finish === 'length';
        const { prompt, cached, completion } = end.usage;
        return {
            ...this.whole(cut ? 'incomplete' : 'completed'),
            incomplete_details: cut ? { reason: 'max_output_tokens' } : null,
            usage: {
                input_tokens: prompt,
                input_tokens_details: { cached_tokens: cached },
                output_tokens: completion,
                // Counted by the pieces in which thoughts came, which are tokens for a reader who keeps up.
                output_tokens_details: { reasoning_tokens: Math.min(this.thoughts, completion) },
                total_tokens: prompt + completion,
            },
        };
    }

    private whole(status: string): JsonObject {
        const { id, created, model } = this.head;
        return {
            id,
            object: 'response',
            created_at: created,
            status,
            background: false,
            error: null,
            incomplete_details: null,
            model,
            output: [...this.output],
            ...this.echo.settings,
            usage: null,
        };
    }

    private told(type: string, members: JsonObject): ResponseEvent {
        return { type, sequence_number: this.sequence++, ...members };
    }

    private begin(): ResponseEvent[] {
        if (this.begun) return [];
        this.begun = true;
        const response = this.whole('in_progress');
        return [this.told('response.created', { response }), this.told('response.in_progress', { response })];
    }

    private newId(prefix: string): string {
        const number = this.output.length.toString(36).padStart(2, '0');
        return `${prefix}_${this.head.id.slice(responsesPrefix.length, -2)}${number}`;
    }

    /** Where the open item stands. */
    private get place(): JsonObject {
        return { item_id: this.open?.id ?? '', output_index: this.output.length };
    }

    private start(open: Open): ResponseEvent {
        this.open = open;
        return this.told('response.output_item.added', { output_index: this.output.length, item: this.item(open, 'in_progress') });
    }

    private text(text: string, scores: readonly Score[] | undefined): ResponseEvent[] {
        const out: ResponseEvent[] = [];
        if (this.open?.kind !== 'message') {
            out.push(...this.close('completed'), this.start({ kind: 'message', id: this.newId('msg'), text: '', logprobs: [] }));
            out.push(this.told('response.content_part.added', { ...this.place, content_index: 0, part: textPart('', []) }));
        }
        const open = this.open;
        if (open?.kind !== 'message') return out;
        const logprobs = logprobsOf(scores, this.echo.topLogprobs);
        open.text += text;
        open.logprobs.push(...logprobs);
        out.push(this.told('response.output_text.delta', { ...this.place, content_index: 0, delta: text, logprobs }));
        return out;
    }

    private thought(text: string): ResponseEvent[] {
        const out: ResponseEvent[] = [];
        this.thoughts++;
        if (this.open?.kind !== 'reasoning') {
            out.push(...this.close('completed'), this.start({ kind: 'reasoning', id: this.newId('rs'), text: '' }));
            if (this.echo.summary) {
                out.push(this.told('response.reasoning_summary_part.added', { ...this.place, summary_index: 0, part: summaryPart('') }));
            }
        }
        if (this.open?.kind === 'reasoning') this.open.text += text;
        const [type, index] = this.echo.summary ? ['reasoning_summary_text', 'summary_index'] : ['reasoning_text', 'content_index'];
        out.push(this.told(`response.${type}.delta`, { ...this.place, [index]: 0, delta: text }));
        return out;
    }

    private call({ index, id: callId, name, arguments: given }: Extract<AnswerEvent, { type: 'call' }>): ResponseEvent[] {
        const out = this.close('completed');
        const prefix = this.echo.tools.meaning(name).custom ? 'ctc' : 'fc';
        out.push(this.start({ kind: 'call', id: this.newId(prefix), index, callId, name, arguments: '' }));
        return [...out, ...this.arguments(given)];
    }

    private arguments(text: string): ResponseEvent[] {
        const open = this.open;
        if (open?.kind !== 'call' || text === '') return [];
        open.arguments += text;
        // A custom tool's input is told when it is complete: what comes in pieces is JSON.
        if (this.echo.tools.meaning(open.name).custom) return [];
        return [this.told('response.function_call_arguments.delta', { ...this.place, delta: text })];
    }

    /** Ends the open item. */
    private close(status: 'completed' | 'incomplete'): ResponseEvent[] {
        const { open, place } = this;
        if (!open) return [];
        const out: ResponseEvent[] = [];
        const item = this.item(open, status);
        const tell = (type: string, members: JsonObject) => out.push(this.told(`response.${type}`, { ...place, ...members }));
        if (open.kind === 'message') {
            const { text, logprobs } = open;
            tell('output_text.done', { content_index: 0, text, logprobs });
            tell('content_part.done', { content_index: 0, part: textPart(text, logprobs) });
        } else if (open.kind === 'reasoning') {
            const { text } = open;
            if (this.echo.summary) {
                tell('reasoning_summary_text.done', { summary_index: 0, text });
                tell('reasoning_summary_part.done', { summary_index: 0, part: summaryPart(text) });
            } else tell('reasoning_text.done', { content_index: 0, text });
        } else if ('input' in item) {
            const { input = null } = item;
            tell('custom_tool_call_input.delta', { delta: input });
            tell('custom_tool_call_input.done', { input });
        } else tell('function_call_arguments.done', { name: item['name'] ?? null, arguments: open.arguments });
        out.push(this.told('response.output_item.done', { output_index: this.output.length, item }));
        this.output.push(item);
        this.open = undefined;
        return out;
    }

    private item(open: Open, status: string): JsonObject {
        const { id } = open;
        const done = status !== 'in_progress';
        switch (open.kind) {
            case 'message':
                return { id, type: 'message', status, role: 'assistant', content: done ? [textPart(open.text, open.logprobs)] : [] };
            case 'reasoning': {
                const { summary, encrypted } = this.echo;
                return {
                    id,
                    type: 'reasoning',
                    summary: done && summary ? [summaryPart(open.text)] : [],
                    ...(summary ? {} : { content: done ? [{ type: 'reasoning_text', text: open.text }] : [] }),
                    ...(encrypted ? { encrypted_content: done ? sealed(open.text) : '' } : {}),
                };
            }
            case 'call': {
                const { custom, ...name } = this.echo.tools.meaning(open.name);
                const { callId: call_id } = open;
                if (custom) return { id, type: 'custom_tool_call', status, call_id, ...name, input: done ? inputOf(open.arguments) : '' };
                return { id, type: 'function_call', status, call_id, ...name, arguments: open.arguments };
            }
        }
    }
}

/** The events of an answer that is there already. */
export function* eventsOf({ content, reasoning, calls, invalid, logprobs, end }: Ended): Generator<AnswerEvent> {
    if (reasoning !== '') yield { type: 'reasoning', text: reasoning };
    if (content !== '') yield { type: 'content', text: content, logprobs };
    for (const [index, call] of calls.entries()) yield { type: 'call', index, ...call };
    for (const { text, error } of invalid) yield { type: 'invalid_call', text, error };
    yield end;
}

function textPart(text: string, logprobs: JsonObject[]): JsonObject {
    return { type: 'output_text', text, annotations: [], logprobs };
}

function summaryPart(text: string): JsonObject {
    return { type: 'summary_text', text };
}

function logprobsOf(scores: readonly Score[] | undefined, most: number | undefined): JsonObject[] {
    if (!scores || most === undefined) return [];
    const entry = ({ text, logprob = 0, bytes }: Score): JsonObject => ({ token: text, logprob, bytes: bytes as JsonValue[] });
    return scores.map((score) => ({ ...entry(score), top_logprobs: (score.top ?? []).slice(0, most).map(entry) }));
}
