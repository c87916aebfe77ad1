// Bodies of requests: bytes that anybody may have sent, until they are a JSON object.
import { isObject, type JsonObject } from 'lapidary';
import { HttpError, badRequest } from './errors.js';
import type { Context } from './http.js';

/** Far more text than any context holds. */
export const largestBody = 8 * 1024 * 1024;

// All bodies that are in memory at the same time. Only reached by someone who wants to fill it.
const mostBytes = 256 * 1024 * 1024;

// JSON.parse and everything after it recurse; this is deeper than any schema or message.
const deepest = 200;

export class Bodies {
    private held = 0;

    /** The body of a request; the bytes are accounted for until the response is done. */
    async object(c: Context): Promise<JsonObject> {
        const value = parse(decode(await this.read(c)));
        if (!isObject(value)) throw badRequest('the body must be a JSON object');
        return value;
    }

    private async read(c: Context): Promise<Buffer> {
        const declared = Number(c.req.header('content-length') ?? 0);
        if (declared > largestBody) throw tooLarge();
        const pieces: Buffer[] = [];
        let size = 0;
        c.env.outgoing.once('close', () => (this.held -= size));
        try {
            for await (const piece of c.env.incoming) {
                const bytes = piece as Buffer; // no encoding was set
                size += bytes.length;
                this.held += bytes.length;
                if (size > largestBody) throw tooLarge();
                if (this.held > mostBytes) {
                    throw new HttpError(503, 'the server has no room for more requests', { retryAfter: 5 });
                }
                pieces.push(bytes);
            }
        } catch (error) {
            if (error instanceof HttpError) throw error;
            throw new HttpError(400, 'the body did not arrive completely'); // who could read this has left
        }
        return Buffer.concat(pieces, size);
    }
}

function tooLarge(): HttpError {
    return new HttpError(413, `the body is larger than ${largestBody / 2 ** 20} MiB`, { code: 'too_large' });
}

/** Silently replaced characters would be another prompt than the one that was sent. */
function decode(bytes: Uint8Array): string {
    try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch {
        throw badRequest('the body is not UTF-8 text');
    }
}

function parse(text: string): unknown {
    let value: unknown;
    try {
        value = JSON.parse(text);
    } catch {
        throw badRequest(text.trim() === '' ? 'the body is empty' : 'the body is not valid JSON');
    }
    check(value, 0);
    return value;
}

/** JSON can spell half a character, which is no text: nothing behind this line could write it down again. */
function check(value: unknown, depth: number): void {
    if (typeof value === 'string') checkText(value);
    if (typeof value !== 'object' || value === null) return;
    if (depth > deepest) throw badRequest(`the body is nested deeper than ${deepest} levels`);
    if (Array.isArray(value)) {
        for (const inner of value as unknown[]) check(inner, depth + 1);
        return;
    }
    for (const [name, inner] of Object.entries(value)) {
        checkText(name);
        check(inner, depth + 1);
    }
}

function checkText(text: string): void {
    if (/\p{Surrogate}/u.test(text)) throw badRequest('the body has half a character in it (a lone surrogate)');
}
