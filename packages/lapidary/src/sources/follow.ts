// fetch, with the redirects of other people's servers followed one by one where that is possible: what a caller sends to
// one server must not travel to another, and nothing goes from an encrypted connection to one that is not.
import { LapidaryError } from '../error.js';
import { isNode } from '../surroundings.js';

export interface Followed {
    response: Response;
    /** What the servers on the way said, in order. Empty in browsers, which do not tell. */
    passed: Headers[];
}

export interface FollowOptions {
    method?: string;
    /** For the first server alone, and for others on it. */
    headers?: Record<string, string>;
    /** For every server. */
    always?: Record<string, string>;
    signal?: AbortSignal;
}

const mostRedirects = 10;

export async function follow(start: URL, options: FollowOptions): Promise<Followed> {
    const { method = 'GET', headers = {}, always = {}, signal } = options;
    const rest: RequestInit = { method, cache: 'no-store', ...(signal ? { signal } : {}) };
    // A browser follows by itself, drops what it knows to be secret, and refuses what is not encrypted.
    if (!isNode()) return { response: await fetch(start, { ...rest, headers: { ...headers, ...always } }), passed: [] };
    const passed: Headers[] = [];
    for (let [url, own] = [start, headers]; ; ) {
        const response = await fetch(url, { ...rest, headers: { ...own, ...always }, redirect: 'manual' });
        const location = response.headers.get('location');
        if (response.status < 301 || response.status > 308 || response.status === 304 || location === null) {
            return { response, passed };
        }
        response.body?.cancel().catch(() => undefined);
        passed.push(response.headers);
        const shown = `${start.origin}${start.pathname}`;
        if (passed.length > mostRedirects) {
            throw new LapidaryError('io', `${shown} leads to other addresses again and again (${mostRedirects} times)`);
        }
        const next = nextAddress(url, location, shown);
        if (next.origin !== url.origin) own = {};
        url = next;
    }
}

function nextAddress(from: URL, location: string, shown: string): URL {
    let next: URL;
    try {
        next = new URL(location, from);
    } catch (cause) {
        throw new LapidaryError('io', `${shown} leads to an address that is none`, { cause });
    }
    // What was not encrypted to begin with may stay so on the same computer.
    const asBefore = from.protocol === 'http:' && next.protocol === 'http:';
    const near = next.hostname === from.hostname || (isLoopback(next) && isLoopback(from));
    if (next.protocol === 'https:' || (asBefore && near)) return next;
    throw new LapidaryError('io', `${shown} leads to ${next.protocol}//${next.host}, which is not encrypted`);
}

/** This computer itself. */
export function isLoopback({ hostname }: URL): boolean {
    return /^localhost$|\.localhost$|^\[::1\]$|^127(\.\d+){3}$/.test(hostname);
}
