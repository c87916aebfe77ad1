// The address of a program that answers elsewhere, as people type or paste it.
import type { Endpoint } from '../store/settings.js';

// What people copy along with an address: the end of a call in a program's documentation or log.
const calls = /\/(?:chat\/completions|completions|responses|embeddings|models|api\/(?:chat|generate|tags|version|embed))$/;

/** What was typed or pasted, without the call at its end; with http: where that was left out. What is no address stays. */
export function baseAddress(typed: string): string {
    const text = typed.trim();
    if (text === '') return '';
    const url = parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
    if (!url || !/^https?:$/.test(url.protocol)) return text;
    return url.origin + url.pathname.replace(/\/+$/, '').replace(calls, '').replace(/\/+$/, '');
}

/** Which kind an address belongs to, where it tells. */
export function kindOf(typed: string): Endpoint['kind'] | undefined {
    if (/\/api\/(?:chat|generate|tags)\/*$/.test(typed.trim())) return 'ollama';
    return /\/v1(?:\/(?:chat\/completions|completions|models))?\/*$/.test(typed.trim()) ? 'openai' : undefined;
}

/** The address of `path` below what the person typed, which may or may not end in /v1 or /api. */
export function endpointUrl(endpoint: Endpoint, path: string): string {
    const url = parse(baseAddress(endpoint.url));
    if (!url) throw new Error(`'${endpoint.url}' is not a web address; something like http://localhost:11434 is needed`);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
        throw new Error(`'${url.protocol}' addresses cannot be used, only http: and https:`);
    }
    const prefix = endpoint.kind === 'ollama' ? '/api' : '/v1';
    const ending = endpoint.kind === 'ollama' ? /\/(?:api|v1)$/ : /\/v1$/;
    const base = url.pathname.replace(/\/+$/, '').replace(ending, '');
    return `${url.origin}${base}${prefix}${path}`;
}

function parse(address: string): URL | undefined {
    try {
        return new URL(address);
    } catch {
        return undefined;
    }
}
