// Why there was no answer at all. Node tells; browsers keep it to themselves, so that a page has to find it out.
import { messageOf } from '../error.js';
import { Passing } from './attempt.js';
import { isLoopback } from './follow.js';

/** Node's fetch hides what happened in `cause`. */
export function describe(error: unknown): string {
    if (error instanceof Passing) return error.message;
    const cause = error instanceof Error ? error.cause : undefined;
    const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : undefined;
    const known: Record<string, string> = {
        ECONNREFUSED: 'the server refuses the connection',
        ENOTFOUND: 'the name of the server is not known',
        EAI_AGAIN: 'the name of the server could not be looked up',
        ECONNRESET: 'the connection broke off',
        UND_ERR_SOCKET: 'the connection broke off',
    };
    if (code !== undefined) return known[code] ?? `the connection failed (${code})`;
    return `the server cannot be reached (${messageOf(cause ?? error)})`;
}

/**
 * What keeps this page from a server of another origin for good; undefined where the network may be to blame. The
 * browser says the same about both, but lets a page see whether a request it may not read was answered at all.
 */
export async function whyForbidden(url: URL): Promise<string | undefined> {
    if (typeof location !== 'object' || location.origin === url.origin) return undefined;
    if (location.protocol === 'https:' && url.protocol === 'http:' && !isLoopback(url)) {
        return `a page behind https: may not read from an http: address`;
    }
    try {
        await fetch(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store', signal: AbortSignal.timeout(5000) });
    } catch {
        return undefined;
    }
    return (
        `the server is there, but does not let pages of ${location.origin} read it; ` +
        `it must send Access-Control-Allow-Origin (CORS)`
    );
}
