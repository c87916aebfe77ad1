// A server's refusal, with what a program must know to say it better or to act on it.
import { LapidaryError, type ErrorCode } from '../error.js';

export class RefusedError extends LapidaryError {
    constructor(
        code: ErrorCode,
        message: string,
        /** The HTTP status. */
        readonly status: number,
        /** What a server that is busy asks for. */
        readonly waitSeconds?: number,
        options?: { cause?: unknown },
        /** WWW-Authenticate: how one would be let in. */
        readonly challenge?: string,
    ) {
        super(code, message, options);
    }
}

// What a server may ask for is for it to say, but not how long a person waits without knowing.
const longestWait = 3600;

/** Retry-After: seconds, or a date. Undefined when it says nothing that makes sense. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
    const text = headers.get('retry-after')?.trim() ?? '';
    const date = /^[A-Za-z]{3,9},.*:/.test(text) ? Date.parse(text) : NaN;
    const seconds = /^\d{1,9}$/.test(text) ? Number(text) : (date - now) / 1000;
    return Number.isFinite(seconds) ? Math.min(Math.max(0, Math.ceil(seconds)), longestWait) : undefined;
}

/** The status as it is meant: to strangers Hugging Face does not say whether something is hidden or not there at all. */
export function meantStatus({ status, headers }: Response): number {
    return status === 401 && headers.get('x-error-code') === 'RepoNotFound' ? 404 : status;
}
