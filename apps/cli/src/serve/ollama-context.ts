// `context` of Ollama's /api/generate: a conversation that the client keeps for the server, as a list of numbers it need
// not understand. Here they are the messages themselves, three bytes of JSON a number.
import { isObject, type ChatMessage, type JsonValue } from 'lapidary';
import { badRequest } from './errors.js';

// Says that the list is ours, and in which form.
const mark = 0x4c5031;
const bytesPerNumber = 3;

const roles = new Set(['system', 'user', 'assistant']);

export function packContext(messages: readonly ChatMessage[]): number[] {
    const bytes = new TextEncoder().encode(JSON.stringify(messages.map(({ role, content }) => ({ role, content }))));
    const list = [mark, bytes.length];
    for (let i = 0; i < bytes.length; i += bytesPerNumber) {
        list.push(((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0));
    }
    return list;
}

/** No messages where there is no context. */
export function unpackContext(value: JsonValue | undefined): ChatMessage[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw badRequest("'context' must be a list of numbers");
    if (value.length === 0) return [];
    const [first, size, ...numbers] = value;
    const whole = numbers.every((one) => typeof one === 'number' && Number.isInteger(one) && one >= 0 && one < 2 ** 24);
    const fits = typeof size === 'number' && Math.ceil(size / bytesPerNumber) === numbers.length;
    const messages = first === mark && whole && fits ? read(numbers as number[], size) : undefined;
    if (!messages) {
        throw badRequest("'context' was not given by this server: leave it out, and the conversation begins anew");
    }
    return messages;
}

function read(numbers: readonly number[], size: number): ChatMessage[] | undefined {
    const bytes = Uint8Array.from(numbers.flatMap((one) => [one >> 16, (one >> 8) & 0xff, one & 0xff])).subarray(0, size);
    let messages: unknown;
    try {
        messages = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch {
        return undefined;
    }
    if (!Array.isArray(messages)) return undefined;
    const known = messages.every(
        (message): message is ChatMessage =>
            isObject(message) && roles.has(String(message['role'])) && typeof message['content'] === 'string',
    );
    return known ? messages : undefined;
}
