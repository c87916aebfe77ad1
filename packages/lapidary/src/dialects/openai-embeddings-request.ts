// A request for the vectors of texts, checked.
import type { EmbedRequest } from '../core/core.js';
import { readablesOf } from './openai-completions-request.js';
import { Fields, invalid } from './fields.js';

/** As OpenAI has it. */
export const mostEmbedded = 2048;

export interface CheckedEmbedding {
    embed: EmbedRequest;
    dimensions: number | undefined;
    base64: boolean;
}

export function checkEmbedding(params: unknown): CheckedEmbedding {
    const fields = new Fields(params);
    const input = readablesOf(fields, 'input', mostEmbedded);
    const empty = input.findIndex((text) => text === '');
    if (empty >= 0) throw invalid(input.length > 1 ? `input[${empty}]` : 'input', 'a text that is not empty', '');
    return {
        embed: {
            input,
            truncate: fields.boolean('truncate') ?? true,
            longest: fields.integer('max_input_tokens', 1, 2 ** 31 - 1),
            task: fields.string('task'),
            title: fields.string('title'),
        },
        dimensions: fields.integer('dimensions', 1, 2 ** 20),
        base64: fields.oneOf('encoding_format', ['float', 'base64']) === 'base64',
    };
}

export function checkTexts(texts: unknown, name: string): string[] {
    if (!Array.isArray(texts) || texts.length === 0) throw invalid(name, 'a text or a list of texts', texts);
    return texts.map((text: unknown, i) => {
        if (typeof text !== 'string' || text === '') throw invalid(`${name}[${i}]`, 'a text that is not empty', text);
        return text;
    });
}
