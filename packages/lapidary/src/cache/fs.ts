// The little that the cache needs of a file system: one folder of plain files. OPFS is one, and tests have another
// that loses, corrupts and refuses on request.
import { LapidaryError } from '../error.js';

export interface FileEntry {
    name: string;
    size: number;
}

export interface ReadableFile {
    readonly size: number;
    /** Exactly `length` bytes, or a LapidaryError. */
    read(offset: number, length: number): Promise<Uint8Array>;
    close(): Promise<void>;
}

/** Open for one writer alone. */
export interface WritableFile {
    size(): Promise<number>;
    /** Sees at least everything that was flushed; fewer bytes than asked for when the file ends before. */
    read(offset: number, length: number): Promise<Uint8Array>;
    /** The bytes may be reused once it resolves. */
    write(offset: number, bytes: Uint8Array): Promise<void>;
    truncate(size: number): Promise<void>;
    /**
     * How large the file could become, at most `size`, as far as can be found out without writing to it. Browsers
     * keep their real quota from pages, and tell it only by refusing.
     */
    grantable(size: number): Promise<number>;
    /** What was written before this survives whatever happens after it. */
    flush(): Promise<void>;
    close(): Promise<void>;
}

/** What the browser grants the whole origin, not just this folder. */
export interface StorageRoom {
    usage: number;
    quota: number;
    /** Whether the browser has promised not to clear it when disk space becomes scarce. */
    persisted?: boolean;
}

export interface CacheStorageFs {
    /** What may be lost between two flushes. A flush that is dear should be rare. */
    readonly flushEvery: { bytes: number; milliseconds: number };
    list(): Promise<FileEntry[]>;
    /** A small file, also while somebody writes to it and without disturbing them. Undefined when there is none. */
    readWhole(name: string, mostBytes: number): Promise<Uint8Array | undefined>;
    /** Undefined when there is no such file. It cannot be written to before it is closed. */
    openRead(name: string): Promise<ReadableFile | undefined>;
    /** Creates the file when there is none. A BusyError while somebody else has it open for writing. */
    openWrite(name: string): Promise<WritableFile>;
    /** Atomic, and replaces what is there. False where the platform cannot. */
    move(from: string, to: string): Promise<boolean>;
    /** Quiet when there is no such file. */
    remove(name: string): Promise<void>;
    /** Undefined where nobody can tell. */
    room(): Promise<StorageRoom | undefined>;
}

/** Somebody else has the file open. */
export class BusyError extends LapidaryError {
    constructor(what: string, { by = 'tab or window', ...options }: { cause?: unknown; by?: string } = {}) {
        super('io', `${what} is in use by another ${by}`, options);
    }
}

/** The storage took no more bytes. */
export class StorageFullError extends LapidaryError {
    constructor(what: string, options?: { cause?: unknown }) {
        super('limit', `there is no room left for ${what}`, options);
    }
}
