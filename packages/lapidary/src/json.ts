// JSON that came from outside: nothing about its shape is believed before it was looked at.
import { LapidaryError } from './error.js';

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
    [key: string]: JsonValue;
}

export function isObject(value: unknown): value is JsonObject {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `what` names the thing in the error sentence: "the manifest of gemma4:e2b". */
export function parseObject(text: string, what: string): JsonObject {
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch (cause) {
        throw new LapidaryError('bad_file', `${what} is not valid JSON`, { cause });
    }
    if (!isObject(value)) throw new LapidaryError('bad_file', `${what} is not a JSON object`);
    return value;
}

export function numberField(object: JsonObject, key: string, what: string): number {
    const value = object[key];
    if (typeof value !== 'number') throw new LapidaryError('internal', `${what} has no number '${key}'`);
    return value;
}

export function stringField(object: JsonObject, key: string, what: string): string {
    const value = object[key];
    if (typeof value !== 'string') throw new LapidaryError('internal', `${what} has no text '${key}'`);
    return value;
}

export function optionalString(object: JsonObject, key: string): string | undefined {
    const value = object[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
}
