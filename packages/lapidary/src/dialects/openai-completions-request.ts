// A request to continue a text, checked, and in the engine's own words.
import { LapidaryError } from '../error.js';
import type { Readable } from '../core/core.js';
import type { CheckedRequest } from './openai-chat-request.js';
import { Fields, defined, invalid, wrong } from './fields.js';
import { commonOf, mostTopLogprobs, streamOptionsOf } from './sampling.js';

export interface CheckedCompletion extends CheckedRequest {
    prompt: Readable;
    /** The prompt is told before the answer. */
    echo: boolean;
    /** Nothing is to be written. */
    readOnly: boolean;
}

export function checkCompletion(params: unknown): CheckedCompletion {
    const fields = new Fields(params);
    for (const name of ['suffix', 'best_of']) {
        const value = fields.value(name);
        if (value !== undefined && value !== 1 && value !== '') {
            throw new LapidaryError('unsupported', `'${name}' is not supported`);
        }
    }
    const logprobs = logprobsOf(fields);
    const prompt = promptOf(fields);
    // 0 means here what it says; for the engine, as for chats, it is no limit.
    const readOnly = fields.value('max_tokens') === 0;
    return {
        generate: {
            ...commonOf(readOnly ? new Fields({ ...(params as object), max_tokens: 1 }) : fields),
            ...(typeof prompt === 'string' ? { prompt } : { prompt_tokens: prompt }),
            add_bos: fields.boolean('add_bos') ?? true,
            parse_special: fields.boolean('parse_special') ?? true,
            ...defined({ logprobs }),
        },
        prompt,
        echo: fields.boolean('echo') ?? false,
        readOnly,
        stream: fields.boolean('stream') ?? false,
        ...streamOptionsOf(fields),
        topLogprobs: logprobs,
    };
}

/** Programs that send the same options to both endpoints write `logprobs: false`, or `true` for chats' way to say 0. */
function logprobsOf(fields: Fields): number | undefined {
    const value = fields.value('logprobs');
    if (value === false) return undefined;
    return value === true ? (fields.integer('top_logprobs', 0, mostTopLogprobs) ?? 0) : fields.integer('logprobs', 0, mostTopLogprobs);
}

function promptOf(fields: Fields): Readable {
    const prompts = readablesOf(fields, 'prompt');
    const [only] = prompts;
    if (only !== undefined && prompts.length === 1) return only;
    throw new LapidaryError('unsupported', `'prompt' has ${prompts.length} texts, but one is continued at a time`);
}

/** A text, several, a list of tokens, or several of those. */
export function readablesOf(fields: Fields, name: string, most = Infinity): Readable[] {
    const value = fields.value(name);
    if (typeof value === 'string') return [value];
    const expected = 'a text, a list of texts, or lists of tokens';
    if (!Array.isArray(value) || value.length === 0) throw invalid(fields.at(name), expected, value);
    const list: readonly unknown[] = value;
    if (typeof list[0] === 'number') return [tokensOf(list, fields.at(name))];
    if (list.length > most) {
        throw wrong(fields.at(name), `has ${list.length} texts; at most ${most} are taken`);
    }
    const texts = typeof list[0] === 'string';
    return list.map((one, i) => {
        const place = `${fields.at(name)}[${i}]`;
        if (texts && typeof one === 'string') return one;
        if (!texts && Array.isArray(one)) return tokensOf(one, place);
        throw invalid(place, texts ? 'a text as the others' : 'a list of tokens', one);
    });
}

function tokensOf(list: readonly unknown[], place: string): number[] {
    if (list.length === 0) throw invalid(place, 'a list of tokens that is not empty', list);
    return list.map((token, i) => {
        if (typeof token === 'number' && Number.isInteger(token) && token >= 0 && token < 2 ** 31) return token;
        throw invalid(`${place}[${i}]`, 'a token, a whole number', token);
    });
}
