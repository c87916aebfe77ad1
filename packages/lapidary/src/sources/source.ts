// Where a model's bytes come from and where results go. The engine only ever asks for ranges and never knows
// whether they lie on a disk, in a browser or behind a URL.
import { LapidaryError } from '../error.js';

export interface ByteSource {
    readonly size: number;
    /** For people: the last part of a path or URL. */
    readonly name: string;
    /** Where it lies on a disk: another thread can open it there. */
    readonly path?: string | undefined;
    /** Exactly `length` bytes, or a LapidaryError. A range beyond the end is an error, not a short read. */
    read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
    close(): Promise<void>;
}

export interface ByteSink {
    /** Resolves once `bytes` are no longer needed. */
    write(offset: number, bytes: Uint8Array): Promise<void>;
}

/** Several times the largest model; what is said to be larger is a mistake or a lie. */
export const mostFileBytes = 1024 ** 4;

/** The check of a size that somebody else told, before anything is made after it. */
export function checkSize(what: string, size: number): void {
    if (Number.isSafeInteger(size) && size >= 0 && size <= mostFileBytes) return;
    throw new LapidaryError(
        'limit',
        `${what} is said to have ${size} bytes; no model has more than ${mostFileBytes}, so this cannot be right`,
    );
}

/** The check every source makes before it reads. */
export function checkRange(source: { size: number; name: string }, offset: number, length: number): void {
    const valid = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
    if (!valid) {
        throw new LapidaryError('invalid_argument', `'${source.name}' cannot be read at ${offset} for ${length} bytes`);
    }
    if (offset + length > source.size) {
        throw new LapidaryError(
            'truncated',
            `'${source.name}' ends at byte ${source.size}, but bytes up to ${offset + length} were wanted`,
        );
    }
}

/** The check after a read: a source that breaks its promise must not become someone's half-filled memory. */
export async function readExactly(
    source: ByteSource,
    offset: number,
    length: number,
    signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = await source.read(offset, length, signal);
    if (bytes.length !== length) {
        throw new LapidaryError('io', `'${source.name}' gave ${bytes.length} bytes instead of ${length}`);
    }
    return bytes as Uint8Array<ArrayBuffer>; // no source has reason to share memory between threads
}

/** Bytes that are already in memory: tests and small files. */
export class MemorySource implements ByteSource {
    constructor(
        private readonly bytes: Uint8Array,
        readonly name: string = 'memory',
    ) {}

    get size(): number {
        return this.bytes.length;
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        checkRange(this, offset, length);
        return this.bytes.slice(offset, offset + length);
    }

    async close(): Promise<void> {}
}
