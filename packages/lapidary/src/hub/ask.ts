// A question to a server whose answer is a small text: asked again when that may help, and read up to a limit.
import { LapidaryError, throwIfCancelled } from '../error.js';
import { pause } from '../cache/pause.js';
import { follow } from '../sources/follow.js';
import { RefusedError, meantStatus, retryAfter } from '../sources/refused.js';
import { describe } from '../sources/unreachable.js';

export interface AskOptions {
    headers?: Record<string, string>;
    signal?: AbortSignal;
    /** Give up on an answer that takes longer: 20 s unless told. */
    timeoutMs?: number;
    /** How often it is asked again: 2 times unless told. */
    retries?: number;
    /** Pause before that; it doubles each time. */
    retryDelayMs?: number;
    /** More than this many bytes cannot be right: 8 MiB unless told. */
    mostBytes?: number;
    /** How to wait, for tests. */
    wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

export interface Asked {
    text: string;
    headers: Headers;
}

/** Longer than this nobody waits for a list: the person is told instead. */
const patienceSeconds = 30;

/** `what` names what was asked for: "the files of google/gemma". */
export async function ask(url: URL, what: string, options: AskOptions = {}): Promise<Asked> {
    const { retries = 2, retryDelayMs = 500, signal, wait = pause } = options;
    for (let tries = 0; ; tries++) {
        throwIfCancelled(signal);
        try {
            return await askOnce(url, what, options);
        } catch (error) {
            throwIfCancelled(signal);
            const status = error instanceof RefusedError ? error.status : 0;
            const passing = !(error instanceof LapidaryError) || status === 429 || status === 408 || status >= 500;
            const asked = error instanceof RefusedError ? error.waitSeconds : undefined;
            if (passing && tries < retries && (asked ?? 0) <= patienceSeconds) {
                await wait(asked === undefined ? retryDelayMs * 2 ** tries : asked * 1000, signal);
                continue;
            }
            if (error instanceof LapidaryError) throw error;
            throw new RefusedError('io', `${url.host} cannot be reached: ${describe(error)}`, 0, undefined, { cause: error });
        }
    }
}

async function askOnce(url: URL, what: string, options: AskOptions): Promise<Asked> {
    const { headers = {}, signal, timeoutMs = 20_000, mostBytes = 8 * 1024 * 1024 } = options;
    const stop = new AbortController();
    const abort = () => stop.abort();
    const timer = setTimeout(abort, timeoutMs);
    signal?.addEventListener('abort', abort);
    try {
        const { response } = await follow(url, { headers, signal: stop.signal });
        if (!response.ok) {
            response.body?.cancel().catch(() => undefined);
            throw refusal(response, url, what);
        }
        return { text: await readBounded(response, mostBytes, what), headers: response.headers };
    } catch (error) {
        if (stop.signal.aborted && !signal?.aborted) throw new Error(`nothing came within ${timeoutMs / 1000} s`);
        throw error;
    } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
    }
}

function refusal(response: Response, url: URL, what: string): RefusedError {
    const { headers } = response;
    const status = meantStatus(response);
    if (status === 401 || status === 403) {
        const challenge = headers.get('www-authenticate') ?? undefined;
        const sentence = `${what} needs an account at ${url.host} (HTTP ${status})`;
        return new RefusedError('io', sentence, status, undefined, undefined, challenge);
    }
    if (status === 404 || status === 410) {
        const hidden = response.status === 401 ? ', or shows it to some accounts only' : '';
        return new RefusedError('not_found', `${url.host} does not have ${what}${hidden}`, status);
    }
    const wait = retryAfter(headers);
    if (status === 429) {
        const long = wait === undefined ? '' : ` ${wait} s`;
        return new RefusedError('io', `${url.host} is busy and asks to wait${long}`, status, wait);
    }
    return new RefusedError('io', `${url.host} was asked for ${what} and answers HTTP ${status}`, status, wait);
}

async function readBounded(response: Response, mostBytes: number, what: string): Promise<string> {
    const pieces: Uint8Array[] = [];
    let size = 0;
    const reader = response.body?.getReader(); // not every browser can iterate over it
    while (reader) {
        const { done, value } = await reader.read();
        if (done) break;
        size += value.length;
        if (size > mostBytes) {
            reader.cancel().catch(() => undefined);
            const which = `the answer about ${what}`;
            throw new LapidaryError('limit', `${which} is longer than ${mostBytes} bytes, which cannot be right`);
        }
        pieces.push(value);
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
    }
    return new TextDecoder().decode(whole);
}
