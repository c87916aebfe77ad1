// Anthropic's messages: an answer as a list of blocks, and the events in which they come to be.
import type { AnswerEvent, End, Ended } from '../answer/events.js';
import type { JsonObject } from '../json.js';
import type { MessagesEcho } from './anthropic-request.js';
import type { Head } from './head.js';

export const messagesPrefix = 'msg_';

export type MessageEvent = JsonObject & { type: string };

/** Of a block that is being written. */
type Kind = 'text' | 'thinking' | 'tool_use';

/** What proves elsewhere that a thought was the model's own. Here nobody asks. */
const signature = 'lapidary';

/** The words of one answer in a stream: a function for each. */
export function messagePieces(head: Head, echo: MessagesEcho): (event: AnswerEvent) => MessageEvent[] {
    let open: Kind | undefined;
    let blocks = 0;
    let begun = false;
    const begin = (input: number): MessageEvent[] => {
        if (begun) return [];
        begun = true;
        const usage = { input_tokens: input, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 };
        return [{ type: 'message_start', message: { ...message(head), content: [], stop_reason: null, stop_sequence: null, usage } }];
    };
    const delta = (given: JsonObject): MessageEvent => ({ type: 'content_block_delta', index: blocks, delta: given });
    const close = (): MessageEvent[] => {
        if (!open) return [];
        const seal = open === 'thinking' ? [delta({ type: 'signature_delta', signature })] : [];
        open = undefined;
        return [...seal, { type: 'content_block_stop', index: blocks++ }];
    };
    const start = (kind: Kind, content_block: JsonObject): MessageEvent[] => {
        const before = close();
        open = kind;
        return [...before, { type: 'content_block_start', index: blocks, content_block }];
    };
    const text = (words: string): MessageEvent[] => {
        const opened = open === 'text' ? [] : start('text', { type: 'text', text: '' });
        return [...opened, delta({ type: 'text_delta', text: words })];
    };
    const of = (event: AnswerEvent): MessageEvent[] => {
        switch (event.type) {
            case 'content':
                return event.text === '' ? [] : text(event.text);
            case 'invalid_call':
                return text(event.text); // what the model wrote, for who can make something of it
            case 'reasoning': {
                const opened = open === 'thinking' ? [] : start('thinking', { type: 'thinking', thinking: '', signature: '' });
                return [...opened, delta({ type: 'thinking_delta', thinking: event.text })];
            }
            case 'call': {
                const { id, name, arguments: given } = event;
                const opened = start('tool_use', { type: 'tool_use', id, name, input: {} });
                return given === '' ? opened : [...opened, delta({ type: 'input_json_delta', partial_json: given })];
            }
            case 'arguments':
                return [delta({ type: 'input_json_delta', partial_json: event.text })];
            case 'end':
                return [...close(), { type: 'message_delta', delta: reasonOf(event, echo), usage: usageOf(event) }, { type: 'message_stop' }];
            default:
                return [];
        }
    };
    return (event) => [...begin(event.type === 'reading' ? event.total : 0), ...of(event)];
}

export function wholeMessage(head: Head, echo: MessagesEcho, { content, reasoning, calls, invalid, end }: Ended): JsonObject {
    const text = [content, ...invalid.map((one) => one.text)].join('');
    return {
        ...message(head),
        content: [
            ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning, signature }]),
            ...(text === '' ? [] : [{ type: 'text', text }]),
            ...calls.map(({ id, name, arguments: given }) => ({ type: 'tool_use', id, name, input: inputOf(given) })),
        ],
        ...reasonOf(end, echo),
        usage: usageOf(end),
    };
}

function message({ id, model }: Head): JsonObject {
    return { id, type: 'message', role: 'assistant', model };
}

function reasonOf({ finish, stop }: End, { stops }: MessagesEcho): JsonObject {
    const stop_sequence = (stop === undefined ? undefined : stops[stop]) ?? null;
    const reasons = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const;
    return { stop_reason: stop_sequence === null ? reasons[finish] : 'stop_sequence', stop_sequence };
}

/** Here what was in memory is counted by itself. */
function usageOf({ usage: { prompt, cached, completion } }: End): JsonObject {
    return {
        input_tokens: prompt - cached,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: cached,
        output_tokens: completion,
    };
}

/** Of a call that was cut off there is no object. */
function inputOf(text: string): JsonObject {
    try {
        return JSON.parse(text) as JsonObject;
    } catch {
        return {};
    }
}
