// Bodies of requests: bytes that anybody may have sent, until they are a JSON object.
import { isObject, type JsonObject } from 'lapidary';
import { HttpError, badRequest } from './errors.js';
import type { Context } from './http.js';

/** Far more text than any context holds, and a few photographs in base64. */
export const largestBody = 32 * 1024 * 1024;

// All bodies that are in memory at the same time. Only reached by someone who wants to fill it.
const mostBytes = 256 * 1024 * 1024;

// What is too large is taken to its end all the same and thrown away, up to here: many clients read an answer only when
// they have sent everything.
const mostDiscarded = 64 * 1024 * 1024;

// JSON.parse and everything after it recurse; this is deeper than any schema or message.
const deepest = 200;

// A pair of brackets is two bytes here and sixty in memory. So many take 30 MiB.
const mostBrackets = 500_000;

/**
 * The bytes of a body that was looked at. JSON takes many times the memory of its text, so who waits for a turn keeps
 * the bytes alone and reads them again when it has come.
 */
export class Body {
    constructor(private readonly bytes: Uint8Array) {}

    object(): JsonObject {
        const value = parse(decode(this.bytes));
        if (!isObject(value)) throw badRequest('the body must be a JSON object');
        return value;
    }
}

export class Bodies {
    private held = 0;

    constructor(private readonly most = mostBytes) {}

    /** A request to be read as JSON. */
    async read(c: Context): Promise<Body> {
        const bytes = await this.bytes(c);
        checkBrackets(bytes);
        return new Body(bytes);
    }

    /** The body of a request; its bytes are accounted for until the response is done. */
    async bytes(c: Context): Promise<Buffer> {
        const { incoming, outgoing } = c.env;
        if (Number(c.req.header('content-length') ?? 0) > mostDiscarded) throw tooLarge();
        const kept: Buffer[] = [];
        let size = 0;
        let held = 0;
        const release = () => {
            this.held -= held;
            held = 0;
        };
        outgoing.once('close', release);
        await new Promise<void>((resolve, reject) => {
            let refusal: HttpError | undefined;
            const refuse = (error: HttpError) => {
                refusal = error;
                kept.length = 0;
                release();
            };
            incoming.on('data', (piece: Buffer) => {
                size += piece.length;
                if (refusal) {
                    if (size > mostDiscarded) reject(refusal);
                    return;
                }
                held += piece.length;
                this.held += piece.length;
                kept.push(piece);
                if (size > largestBody) refuse(tooLarge());
                else if (this.held > this.most) {
                    refuse(new HttpError(503, 'the server has no room for more requests', { retryAfter: 5 }));
                }
            });
            incoming.once('end', () => (refusal ? reject(refusal) : resolve()));
            // Who could read this has left.
            const broken = () => reject(new HttpError(400, 'the body did not arrive completely'));
            incoming.once('error', broken);
            incoming.once('close', broken);
        });
        return Buffer.concat(kept, size);
    }
}

function tooLarge(): HttpError {
    return new HttpError(413, `the body is larger than ${largestBody / 2 ** 20} MiB`, { code: 'too_large' });
}

const quote = 0x22;
const backslash = 0x5c;

/** Before anything is parsed: how deep it is and how much memory it would take. */
function checkBrackets(bytes: Uint8Array): void {
    let depth = 0;
    let brackets = 0;
    let inText = false;
    for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i];
        if (inText) {
            if (byte === backslash) i++;
            else if (byte === quote) inText = false;
        } else if (byte === quote) inText = true;
        else if (byte === 0x5b || byte === 0x7b) {
            if (++depth > deepest) throw badRequest(`the body is nested deeper than ${deepest} levels`);
            if (++brackets > mostBrackets) {
                throw new HttpError(413, `the body has more than ${mostBrackets} lists and objects`, { code: 'too_large' });
            }
        } else if (byte === 0x5d || byte === 0x7d) depth--;
    }
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
    check(value);
    return value;
}

/** JSON can spell half a character, which is no text: nothing behind this line could write it down again. */
function check(value: unknown): void {
    if (typeof value === 'string') checkText(value);
    if (typeof value !== 'object' || value === null) return;
    if (Array.isArray(value)) {
        for (const inner of value as unknown[]) check(inner);
        return;
    }
    for (const [name, inner] of Object.entries(value)) {
        checkText(name);
        check(inner);
    }
}

function checkText(text: string): void {
    if (/\p{Surrogate}/u.test(text)) throw badRequest('the body has half a character in it (a lone surrogate)');
}
