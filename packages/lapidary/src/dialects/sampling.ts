// The members that chats and plain text have in common: how tokens are chosen, when to stop, what to tell of them.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { AdapterUse, DiffusionSettings, GenerateRequest, Sampling } from '../session.js';
import { Fields, defined, invalid } from './fields.js';

const mostStops = 64;
export const mostTopLogprobs = 20;

/** What these numbers may be, both ends included: OpenAI's limits where it has the member. */
export const samplingRanges = {
    temperature: [0, 2],
    top_p: [0, 1],
    top_k: [0, 2 ** 31 - 1],
    min_p: [0, 1],
    repeat_penalty: [0.01, 100],
    frequency_penalty: [-2, 2],
    presence_penalty: [-2, 2],
} as const;

export function samplingOf(fields: Fields): Sampling {
    const number = (name: keyof typeof samplingRanges) => {
        const [least, most] = samplingRanges[name];
        return fields.number(name, least, most);
    };
    return defined({
        temperature: number('temperature'),
        top_p: number('top_p'),
        // Other servers' word for "all of them", which is 0 here.
        top_k: fields.value('top_k') === -1 ? 0 : fields.integer('top_k', ...samplingRanges.top_k),
        min_p: number('min_p'),
        repeat_penalty: number('repeat_penalty'),
        frequency_penalty: number('frequency_penalty'),
        presence_penalty: number('presence_penalty'),
        seed: seedOf(fields),
        logit_bias: logitBias(fields),
    });
}

const seedBits = 52;
// The golden ratio's bits, so that what is reduced falls far from the small numbers that people choose.
const spread = 0x9e3779b97f4a7n;

/**
 * Any whole number is a seed: those that need more bits than the engine takes, and those below zero, are reduced. -1 is
 * what many programs send for "any".
 */
export function seedOf(fields: Fields): number | undefined {
    const value = fields.value('seed');
    if (value === undefined || value === -1) return undefined;
    if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid(fields.at('seed'), 'a whole number', value);
    if (value >= 0 && value <= 2 ** seedBits) return value;
    // JSON's numbers beyond 2^53 are multiples of powers of two: their high bits are the ones that tell them apart.
    const bits = BigInt.asUintN(2 * seedBits, BigInt(value));
    return Number(BigInt.asUintN(seedBits, bits ^ ((bits >> BigInt(seedBits)) * spread)));
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
    const texts = stops.map((stop) => {
        if (typeof stop !== 'string') throw invalid(fields.at('stop'), 'a text or a list of texts', stop);
        return stop;
    });
    return texts.filter((text) => text !== ''); // forms with an empty field send that
}

/** 0, which means "until the model ends", when neither is given. */
export function maxTokensOf(fields: Fields): number {
    return limitOf(fields, 'max_completion_tokens') ?? limitOf(fields, 'max_tokens') ?? 0;
}

/** -1 is other servers' word for "no limit". */
function limitOf(fields: Fields, name: string): number | undefined {
    return fields.value(name) === -1 ? 0 : fields.integer(name, 1, 2 ** 26);
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
    // OpenAI's place for the schema is `json_schema.schema`; llama.cpp and others take it one level higher, and there
    // also beside `json_object`.
    const given = type === 'json_schema' ? format.fields('json_schema') : undefined;
    const holder = given ?? format;
    const schema = holder.value('schema');
    if (schema === undefined && type === 'json_object') return { type };
    if (schema === undefined && !given) throw invalid(format.at('json_schema'), 'an object with a schema', undefined);
    if (!isObject(schema)) throw invalid(holder.at('schema'), 'a JSON schema', schema);
    const name = given?.string('name') ?? 'answer';
    return { type: 'json_schema', json_schema: { name, schema, strict: holder.boolean('strict') ?? true } };
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
export function commonOf(fields: Fields): Pick<GenerateRequest, 'max_tokens' | 'sampling' | 'stop' | 'response_format' | 'adapters' | 'diffusion'> {
    fields.string('model');
    refuseSeveral(fields);
    const format = responseFormatOf(fields);
    const adapters = adaptersOf(fields);
    const diffusion = diffusionOf(fields);
    return {
        max_tokens: maxTokensOf(fields),
        sampling: samplingOf(fields),
        stop: stopsOf(fields),
        ...(format ? { response_format: format } : {}),
        ...(adapters.length > 0 ? { adapters } : {}),
        ...(diffusion ? { diffusion } : {}),
    };
}

/** Ours: how a diffusion model settles its canvases. What the numbers may be the engine says. */
function diffusionOf(fields: Fields): DiffusionSettings | undefined {
    const given = fields.fields('diffusion');
    if (!given) return undefined;
    const names = ['steps', 't_min', 't_max', 'entropy_bound', 'stability_threshold', 'confidence_threshold'] as const;
    return Object.fromEntries(names.map((name) => [name, given.number(name, 0, 1e6)]));
}
