// The members that chats and plain text have in common: how tokens are chosen, when to stop, what to tell of them.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { AdapterUse, GenerateRequest, Sampling } from '../session.js';
import { Fields, defined, invalid } from './fields.js';

const mostStops = 64;
export const mostTopLogprobs = 20;

export function samplingOf(fields: Fields): Sampling {
    return defined({
        temperature: fields.number('temperature', 0, 100),
        top_p: fields.number('top_p', 0, 1),
        top_k: fields.integer('top_k', 0, 2 ** 31 - 1),
        min_p: fields.number('min_p', 0, 1),
        repeat_penalty: fields.number('repeat_penalty', 0.01, 100),
        frequency_penalty: fields.number('frequency_penalty', -2, 2),
        presence_penalty: fields.number('presence_penalty', -2, 2),
        seed: fields.integer('seed', 0, 2 ** 52),
        logit_bias: logitBias(fields),
    });
}

function logitBias(fields: Fields): Record<string, number> | undefined {
    const value = fields.value('logit_bias');
    if (value === undefined) return undefined;
    if (!isObject(value)) throw invalid(fields.at('logit_bias'), 'an object of token ids and numbers', value);
    const bias: Record<string, number> = {};
    for (const [id, amount] of Object.entries(value)) {
        if (!/^\d{1,7}$/.test(id)) throw invalid(fields.at('logit_bias'), 'an object whose names are token ids', id);
        if (typeof amount !== 'number' || !(Math.abs(amount) <= 100)) {
            throw invalid(`${fields.at('logit_bias')}.${id}`, 'a number from -100 to 100', amount);
        }
        bias[id] = amount;
    }
    return bias;
}

export function stopsOf(fields: Fields): string[] {
    const value = fields.value('stop');
    if (value === undefined) return [];
    const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
    if (stops.length > mostStops) {
        const why = `'stop' has ${stops.length} texts; at most ${mostStops} are looked for`;
        throw new LapidaryError('invalid_argument', why);
    }
    return stops.map((stop) => {
        if (typeof stop !== 'string' || stop === '') throw invalid(fields.at('stop'), 'a text or a list of texts', stop);
        return stop;
    });
}

/** 0, which means "until the model ends", when neither is given. */
export function maxTokensOf(fields: Fields): number {
    return fields.integer('max_completion_tokens', 1, 2 ** 26) ?? fields.integer('max_tokens', 1, 2 ** 26) ?? 0;
}

export function refuseSeveral(fields: Fields): void {
    const n = fields.integer('n', 1, 128);
    if (n !== undefined && n !== 1) {
        throw new LapidaryError('unsupported', `'n' is ${n}, but one answer is written at a time: ask ${n} times instead`);
    }
}

/** As the engine wants it; undefined for plain text. The engine says itself which schemas it can keep to. */
export function responseFormatOf(fields: Fields): JsonObject | undefined {
    const format = fields.fields('response_format');
    if (!format) return undefined;
    const type = format.oneOf('type', ['text', 'json_object', 'json_schema']);
    if (type === undefined) throw invalid(format.at('type'), 'text, json_object or json_schema', undefined);
    if (type === 'text') return undefined;
    if (type === 'json_object') return { type };
    const given = format.fields('json_schema');
    if (!given) throw invalid(format.at('json_schema'), 'an object with a schema', undefined);
    const schema = given.value('schema');
    if (!isObject(schema)) throw invalid(given.at('schema'), 'a JSON schema', schema);
    const name = given.string('name') ?? 'answer';
    return { type, json_schema: { name, schema, strict: given.boolean('strict') ?? true } };
}

export function streamOptionsOf(fields: Fields): { includeUsage: boolean } {
    return { includeUsage: fields.fields('stream_options')?.boolean('include_usage') ?? false };
}

export function adaptersOf(fields: Fields): AdapterUse[] {
    return (fields.list('adapters') ?? []).map((item, i) => {
        const use = new Fields(item, `adapters[${i}]`);
        const adapter = use.value('adapter');
        const id = isObject(adapter) ? adapter['id'] : adapter;
        if (typeof id !== 'string') throw invalid(use.at('adapter'), 'an adapter of engine.adapters', adapter);
        return { adapter: id, ...defined({ scale: use.number('scale', -100, 100) }) };
    });
}

/** What is common to both kinds of request. */
export function commonOf(fields: Fields): Pick<GenerateRequest, 'max_tokens' | 'sampling' | 'stop' | 'response_format' | 'adapters'> {
    fields.string('model');
    refuseSeveral(fields);
    const format = responseFormatOf(fields);
    const adapters = adaptersOf(fields);
    return {
        max_tokens: maxTokensOf(fields),
        sampling: samplingOf(fields),
        stop: stopsOf(fields),
        ...(format ? { response_format: format } : {}),
        ...(adapters.length > 0 ? { adapters } : {}),
    };
}
