// Who may talk to us. A server on this computer can be reached by every web page its owner opens, so a request has to
// come to a name we know, from a page we know, and with the key where there is one.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { contentSecurityPolicyHeader } from 'lapidary/node';
import { hostCheck, hostnameOf, isLoopback } from './addresses.js';
import { HttpError, errorResponse, isUnder } from './errors.js';
import type { Context, Env } from './http.js';

export interface SecurityOptions {
    /** The address we listen on. */
    host: string;
    apiKey?: string | undefined;
    /** Origins of other sites' pages that may use the API; `*` is every page. */
    allowedOrigins: readonly string[];
    /** More names under which this server is known. */
    allowedHosts: readonly string[];
}

export function security(options: SecurityOptions): MiddlewareHandler<Env> {
    const hostAllowed = hostCheck(options.host, options.allowedHosts);
    const keyMatches = keyCheck(options.apiKey);
    return async (c, next) => {
        const { path } = c.req;
        const refuse = (status: number, sentence: string, code = 'not_allowed') =>
            errorResponse(path, new HttpError(status, sentence, { code }));
        // The line of the request may name a host too, and Hono believes that one.
        if (!hostAllowed(c.env.incoming.headers.host) || !hostAllowed(new URL(c.req.url).host)) {
            return refuse(403, 'this server is not known under that name; --allow-host adds one');
        }
        const origin = c.req.header('origin');
        const foreign = origin !== undefined && !isOwnOrigin(c, origin);
        if (foreign && !originAllowed(origin, options)) {
            return refuse(403, `pages of ${origin} may not use this server; --allow-origin lets them`);
        }
        if (origin === undefined && isOtherSitesLoad(c, options.allowedOrigins)) {
            return refuse(403, 'other sites may not use this server; --allow-origin lets them');
        }
        if (foreign && c.req.method === 'OPTIONS') return preflight(c, origin);
        if (needsKey(path) && !keyMatches(c.req.header('authorization')) && !keyMatches(`Bearer ${c.req.header('x-api-key') ?? ''}`)) {
            const refusal = refuse(401, 'an API key is needed: Authorization: Bearer …', 'invalid_api_key');
            if (foreign) allowOrigin(refusal.headers, origin);
            return refusal;
        }
        await next();
        if (foreign) allowOrigin(c.res.headers, origin);
        return undefined;
    };
}

/** The app's own files hold no secrets and have no way to send a key before they are there. */
function needsKey(path: string): boolean {
    return isUnder(path, '/v1') || isUnder(path, '/api') || path === '/metrics';
}

function isOwnOrigin(c: Context, origin: string): boolean {
    const { host } = c.env.incoming.headers;
    return origin === `http://${host}` || origin === `https://${host}`; // https: behind a proxy of the owner
}

/** Programs on this computer that are written as pages. No web site can have such an origin. */
const desktopSchemes = new Set(['app:', 'tauri:', 'vscode-webview:', 'vscode-file:']);

/**
 * What is asked for, and, as Ollama has it, what can only come from this computer: pages that other local servers have
 * sent, and desktop programs. Not where the server can be reached from elsewhere: there a page's own computer is another.
 */
function originAllowed(origin: string, { host, allowedOrigins }: SecurityOptions): boolean {
    if (allowedOrigins.includes('*') || allowedOrigins.includes(origin)) return true;
    if (!isLoopback(host)) return false;
    const scheme = /^[a-z][a-z0-9+.-]*:/.exec(origin)?.[0] ?? '';
    if (desktopSchemes.has(scheme)) return true;
    const [, place] = /^https?:\/\/(.+)$/.exec(origin) ?? [];
    const name = place === undefined ? undefined : hostnameOf(place);
    return name !== undefined && isLoopback(name);
}

/**
 * A picture or a script of another site carries no Origin, but browsers say where it comes from. Following a link to
 * the app is fine.
 */
function isOtherSitesLoad(c: Context, allowed: readonly string[]): boolean {
    const site = c.req.header('sec-fetch-site');
    if (site !== 'cross-site' && site !== 'same-site') return false;
    if (c.req.header('sec-fetch-mode') === 'navigate' && !needsKey(c.req.path)) return false;
    return !allowed.includes('*');
}

function preflight(c: Context, origin: string): Response {
    const headers = new Headers({
        'access-control-allow-methods': 'GET, HEAD, POST, OPTIONS',
        // What the official clients send is more than anybody wants to list.
        'access-control-allow-headers': c.req.header('access-control-request-headers') ?? 'content-type, authorization',
        'access-control-max-age': '600',
    });
    if (c.req.header('access-control-request-private-network') === 'true') {
        headers.set('access-control-allow-private-network', 'true');
    }
    allowOrigin(headers, origin);
    return new Response(null, { status: 204, headers });
}

function allowOrigin(headers: Headers, origin: string): void {
    headers.set('access-control-allow-origin', origin);
    headers.set('access-control-expose-headers', 'content-range, content-length, etag, retry-after, x-lapidary-ignored, x-lapidary-embeddings, x-lapidary-truncated');
    headers.append('vary', 'Origin');
}

/** Hashes are compared: they have one length, and how long it takes tells nothing. */
function keyCheck(key: string | undefined): (header: string | undefined) => boolean {
    if (key === undefined) return () => true;
    const digest = (text: string) => createHash('sha256').update(text).digest();
    const expected = digest(key);
    return (header) => {
        const given = /^Bearer +(.+)$/i.exec(header ?? '')?.[1];
        return given !== undefined && timingSafeEqual(digest(given.trim()), expected);
    };
}

export function securityHeaders(): MiddlewareHandler<Env> {
    return async (c, next) => {
        await next();
        const { headers } = c.res;
        headers.set('content-security-policy', contentSecurityPolicyHeader);
        headers.set('x-content-type-options', 'nosniff');
        headers.set('referrer-policy', 'no-referrer');
        // Together: the page is isolated, so the CPU's threads may share memory. What other sites send comes without cookies.
        headers.set('cross-origin-opener-policy', 'same-origin');
        headers.set('cross-origin-embedder-policy', 'credentialless');
        // Pages that were allowed to ask may also read; everybody else's are kept out.
        if (!headers.has('access-control-allow-origin')) headers.set('cross-origin-resource-policy', 'same-origin');
    };
}
