// What responses are asked with: a list of items (messages, calls, results, thoughts), and the conversation they are.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import { Fields, invalid } from './fields.js';
import { partOf } from './openai-chat-request.js';
import type { ToolList } from './tools.js';
import { Turns } from './turns.js';

/** An item that was told before. */
export type FindItem = (id: string) => JsonObject | undefined;

/** The items of a request, those it only names in full. */
export function itemsOf(fields: Fields, find: FindItem): JsonObject[] {
    const input = fields.value('input');
    if (input === undefined) return [];
    if (typeof input === 'string') return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
    if (!Array.isArray(input)) throw invalid('input', 'a text or a list of items', input);
    return input.map((item: unknown, i) => {
        const given = new Fields(item, `input[${i}]`);
        if (given.value('type') !== 'item_reference') return item as JsonObject; // Fields has seen that it is an object
        const id = given.string('id') ?? '';
        const found = find(id);
        if (found) return found;
        throw new LapidaryError('not_found', `Item with id '${id}' not found: it was not stored here, or not for so long`);
    });
}

export function messagesOf(items: readonly JsonObject[], tools: ToolList): JsonObject[] {
    const turns = new Turns();
    items.forEach((item, i) => addItem(turns, new Fields(item, `input[${i}]`), tools));
    return turns.messages;
}

function addItem(turns: Turns, item: Fields, tools: ToolList): void {
    const type = item.string('type') ?? 'message';
    switch (type) {
        case 'message': {
            const role = item.oneOf('role', ['user', 'assistant', 'system', 'developer']);
            if (role === undefined) throw invalid(item.at('role'), 'user, assistant, system or developer', undefined);
            turns.say(role, contentOf(item, 'content'));
            return;
        }
        case 'reasoning':
            turns.think(thoughtOf(item));
            return;
        case 'function_call':
        case 'custom_tool_call': {
            const namespace = item.string('namespace');
            const name = tools.nameOf({ name: textOf(item, 'name'), ...(namespace === undefined ? {} : { namespace }) });
            const custom = type === 'custom_tool_call';
            const given = custom ? JSON.stringify({ input: item.string('input') ?? '' }) : (item.string('arguments') ?? '');
            turns.call(textOf(item, 'call_id'), name, given);
            return;
        }
        case 'function_call_output':
        case 'custom_tool_call_output':
            turns.result(textOf(item, 'call_id'), contentOf(item, 'output'));
            return;
        default:
            // What tools of OpenAI's own did; the words that came of it are in the messages.
            if (/_call(?:_output)?$|^mcp_|^compaction/.test(type)) return;
            throw new LapidaryError('unsupported', `'${item.at('type')}' is '${type}', which is not known here`);
    }
}

function textOf(item: Fields, name: string): string {
    const text = item.string(name);
    if (text === undefined) throw invalid(item.at(name), 'a text', undefined);
    return text;
}

function contentOf(item: Fields, name: string): string | JsonObject[] {
    const content = item.value(name);
    if (typeof content === 'string') return content;
    if (content === undefined) return '';
    if (!Array.isArray(content)) throw invalid(item.at(name), 'a text or a list of parts', content);
    const parts = content.flatMap((part: unknown, i) => partOf(new Fields(part, `${item.at(name)}[${i}]`)));
    return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => String(text)).join('\n') : parts;
}

/** The thought itself, in the open or not; else what was told of it. */
function thoughtOf(item: Fields): string {
    const encrypted = item.string('encrypted_content');
    const hidden = encrypted === undefined ? undefined : opened(encrypted);
    if (hidden !== undefined) return hidden;
    const texts = (list: readonly unknown[] | undefined) =>
        (list ?? []).flatMap((part) => (isObject(part) && typeof part['text'] === 'string' ? [part['text']] : []));
    const content = texts(item.list('content'));
    return (content.length > 0 ? content : texts(item.list('summary'))).join('\n');
}

const mark = 'lapidary.';

/** Not a secret: a form that clients send back as it is. */
export function sealed(thought: string): string {
    const bytes = new TextEncoder().encode(thought);
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return mark + btoa(text);
}

function opened(sealedText: string): string | undefined {
    if (!sealedText.startsWith(mark)) return undefined; // another server's
    try {
        const text = atob(sealedText.slice(mark.length));
        return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(text, (letter) => letter.charCodeAt(0)));
    } catch {
        return undefined;
    }
}
