// Addresses as programs write them. Base URLs are typed by people: with a slash at the end, or without /v1.
import { isUnder } from './errors.js';

/** Of OpenAI's, Anthropic's and others' interfaces, those that are known without /v1 too. */
const withoutPrefix = /^\/(?:chat\/completions|chat\/completions\/input_tokens|completions|tokenize|detokenize|embeddings|models|messages|messages\/count_tokens|responses|responses\/.+)$/;

/** What a path means; everything that looks at paths, also who may ask, looks at this one. */
export function canonicalPath(path: string): string {
    const plain = path.length > 1 ? path.replace(/\/+$/, '') : path;
    if (withoutPrefix.test(plain)) return `/v1${plain}`;
    return isUnder(plain, '/v1') || isUnder(plain, '/api') ? plain : path;
}
