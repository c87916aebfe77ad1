// Where models come from. Every address can be another one: a mirror, a proxy of a company, a stand-in of the tests.
import { LapidaryError } from '../error.js';
import { isNode } from '../surroundings.js';
import { isLoopback } from '../sources/follow.js';

export interface Endpoints {
    /** Of Hugging Face: `https://huggingface.co`, in Node also HF_ENDPOINT. */
    huggingface?: string | URL;
    /** Of Ollama's registry: `https://registry.ollama.ai`, in Node also OLLAMA_REGISTRY. */
    ollama?: string | URL;
    /** For Hugging Face, and sent nowhere else: for models that need an account. In Node also HF_TOKEN. */
    token?: string;
}

export interface Places {
    huggingface: URL;
    ollama: URL;
    token: string | undefined;
}

export function placesOf(endpoints: Endpoints = {}): Places {
    const env = isNode() ? process.env : {};
    const told = (option: string | URL | undefined, name: string, usual: string) =>
        parseEndpoint(option ?? (env[name] || usual), option === undefined && env[name] ? name : 'the endpoint');
    return {
        huggingface: told(endpoints.huggingface, 'HF_ENDPOINT', 'https://huggingface.co'),
        ollama: told(endpoints.ollama, 'OLLAMA_REGISTRY', 'https://registry.ollama.ai'),
        token: endpoints.token ?? (env['HF_TOKEN'] || undefined),
    };
}

function parseEndpoint(text: string | URL, what: string): URL {
    let url: URL;
    try {
        url = new URL(text);
    } catch (cause) {
        throw new LapidaryError('invalid_argument', `${what} '${String(text)}' is not a URL`, { cause });
    }
    const plain = url.protocol === 'https:' || url.protocol === 'http:';
    if (!plain || url.username !== '' || url.password !== '') {
        throw new LapidaryError('invalid_argument', `${what} '${url.protocol}//${url.host}' must be an http(s) address alone`);
    }
    return url;
}

/** An address below an endpoint; every part is one segment, whatever is in it. */
export function below(endpoint: URL, ...parts: readonly string[]): URL {
    const climbs = parts.find((part) => part === '' || part === '.' || part === '..');
    if (climbs !== undefined) throw new LapidaryError('invalid_argument', `'${climbs}' is not a part of an address`);
    const url = new URL(endpoint);
    url.pathname = [url.pathname.replace(/\/+$/, ''), ...parts.map(encodeURIComponent)].join('/');
    return url;
}

/** The token, for Hugging Face alone and never unencrypted over a network. */
export function headersFor(url: URL, { huggingface, token }: Places): Record<string, string> {
    const theirs = url.origin === huggingface.origin && (url.protocol === 'https:' || isLoopback(url));
    return token !== undefined && theirs ? { authorization: `Bearer ${token}` } : {};
}
