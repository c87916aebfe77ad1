// A request to continue a text, checked, and in the engine's own words.
import { LapidaryError } from '../error.js';
import type { CheckedRequest } from './chat.js';
import { Fields, defined, invalid } from './fields.js';
import { commonOf, mostTopLogprobs, streamOptionsOf } from './sampling.js';

export function checkCompletion(params: unknown): CheckedRequest {
    const fields = new Fields(params);
    for (const name of ['echo', 'suffix', 'best_of']) {
        const value = fields.value(name);
        if (value !== undefined && value !== false && value !== 1 && value !== '') {
            throw new LapidaryError('unsupported', `'${name}' is not supported`);
        }
    }
    const logprobs = fields.integer('logprobs', 0, mostTopLogprobs);
    return {
        generate: {
            ...commonOf(fields),
            prompt: promptOf(fields),
            add_bos: fields.boolean('add_bos') ?? true,
            parse_special: fields.boolean('parse_special') ?? true,
            ...defined({ logprobs }),
        },
        stream: fields.boolean('stream') ?? false,
        ...streamOptionsOf(fields),
        topLogprobs: logprobs,
    };
}

function promptOf(fields: Fields): string {
    const value = fields.value('prompt');
    if (typeof value === 'string') return value;
    if (!Array.isArray(value)) throw invalid('prompt', 'a text', value);
    const [only]: unknown[] = value;
    if (value.length === 1 && typeof only === 'string') return only;
    if (value.every((part) => typeof part === 'string')) {
        throw new LapidaryError('unsupported', `'prompt' has ${value.length} texts, but one is continued at a time`);
    }
    throw invalid('prompt', 'a text', value);
}
