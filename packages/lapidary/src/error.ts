// Errors carry a stable code for programs and one sentence for people, like the engine's own.

/**
 * The engine's codes. The host uses the same ones, so a caller need not know which side refused; `device_lost` is the
 * host's own, because only the host sees a GPU disappear. `needs_everything` is for the library itself: a page that
 * has the small engine loads the large one and asks again.
 */
export type ErrorCode =
    | 'invalid_argument'
    | 'not_found'
    | 'io'
    | 'truncated'
    | 'bad_file'
    | 'unsupported'
    | 'missing_tensor'
    | 'bad_shape'
    | 'limit'
    | 'out_of_memory'
    | 'cancelled'
    | 'device_lost'
    | 'needs_everything'
    | 'internal';

const codes: ReadonlySet<string> = new Set<ErrorCode>([
    'invalid_argument',
    'not_found',
    'io',
    'truncated',
    'bad_file',
    'unsupported',
    'missing_tensor',
    'bad_shape',
    'limit',
    'out_of_memory',
    'cancelled',
    'device_lost',
    'needs_everything',
    'internal',
]);

export function isErrorCode(text: unknown): text is ErrorCode {
    return typeof text === 'string' && codes.has(text);
}

/** What a program can do something with. */
export interface ErrorDetails {
    /** The member of a request that is to blame, such as `messages[0].role`. */
    param?: string;
    /** What `limit` is about: a conversation that the context does not hold. */
    context?: boolean;
}

export class LapidaryError extends Error {
    override readonly name = 'LapidaryError';
    readonly details: ErrorDetails | undefined;

    /** Also of another copy of the library: a module that stands alone has its own. */
    static override [Symbol.hasInstance](thrown: unknown): boolean {
        if (this !== LapidaryError) return Function.prototype[Symbol.hasInstance].call(this, thrown);
        return thrown instanceof Error && thrown.name === 'LapidaryError' && isErrorCode((thrown as { code?: unknown }).code);
    }

    constructor(
        readonly code: ErrorCode,
        message: string,
        options?: { cause?: unknown; details?: ErrorDetails },
    ) {
        super(message, options);
        this.details = options?.details;
    }
}

export function cancelledError(): LapidaryError {
    return new LapidaryError('cancelled', 'stopped before it was finished');
}

/** Throws when the caller has changed its mind: the usual first line of something that may take long. */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
    if (signal?.aborted) throw cancelledError();
}

/** The sentence of anything that was thrown. Never empty: an empty sentence would read as success to the engine. */
export function messageOf(thrown: unknown): string {
    const text = thrown instanceof Error ? thrown.message : String(thrown);
    return text.trim() === '' ? 'an error without a description' : text;
}
