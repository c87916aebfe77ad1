// A cache folder in memory that fails on request: it dies in the middle, loses what was not flushed, runs full.
import {
    BusyError,
    StorageFullError,
    type CacheStorageFs,
    type FileEntry,
    type ReadableFile,
    type StorageRoom,
    type WritableFile,
} from '../cache/fs.js';
import { LapidaryError } from '../error.js';

/** The tab is gone. Everything after this fails the same way. */
export class Killed extends Error {}

type Change = { at: number; bytes: Uint8Array } | { size: number };

interface Stored {
    /** What survives a crash for certain. */
    safe: Uint8Array;
    /** What the running program sees. */
    now: Uint8Array;
    /** What lies between the two. */
    changes: Change[];
    writer: boolean;
}

/** What a crash does to changes that were not flushed: a disk may keep all, none, the first or only the last. */
export type CrashMode = 'lose' | 'keep' | 'tear' | 'reorder';
export const crashModes: readonly CrashMode[] = ['lose', 'keep', 'tear', 'reorder'];

export interface MemoryFsOptions {
    flushBytes?: number;
    quota?: number;
    /** Claims so much room, whatever the quota is, as some browsers do. */
    promises?: number;
    /** Die instead of the n-th change to the disk. */
    killAt?: number;
    /** Some browsers cannot rename. */
    canMove?: boolean;
}

export class MemoryFs implements CacheStorageFs {
    readonly flushEvery: { bytes: number; milliseconds: number };
    /** Changes to the disk so far. */
    changes = 0;
    quota: number;
    private readonly killAt: number;
    private readonly canMove: boolean;
    private readonly files = new Map<string, Stored>();

    constructor(private readonly options: MemoryFsOptions = {}) {
        this.flushEvery = { bytes: options.flushBytes ?? 1, milliseconds: Infinity };
        this.quota = options.quota ?? Infinity;
        this.killAt = options.killAt ?? Infinity;
        this.canMove = options.canMove ?? true;
    }

    /** The disk as the next start finds it. */
    afterCrash(mode: CrashMode, options: MemoryFsOptions = {}): MemoryFs {
        const next = new MemoryFs({ ...this.options, killAt: Infinity, ...options });
        for (const [name, file] of this.files) {
            const bytes = survive(file, mode);
            next.files.set(name, { safe: bytes, now: bytes, changes: [], writer: false });
        }
        return next;
    }

    get names(): string[] {
        return [...this.files.keys()].sort();
    }

    /** The browser needed the room: nothing is there any more, and what was open cannot be read. */
    evict(): void {
        this.files.clear();
    }

    /** Changes bytes behind everybody's back. */
    tamper(name: string, change: (bytes: Uint8Array) => Uint8Array): void {
        const file = this.files.get(name);
        if (!file) throw new Error(`no ${name} among ${this.names.join(', ')}`);
        file.now = file.safe = change(file.now.slice());
    }

    async list(): Promise<FileEntry[]> {
        return [...this.files].map(([name, { now }]) => ({ name, size: now.length }));
    }

    async readWhole(name: string, mostBytes: number): Promise<Uint8Array | undefined> {
        const file = this.files.get(name);
        if (file && file.now.length > mostBytes) throw new LapidaryError('limit', `'${name}' is too large`);
        return file?.now.slice();
    }

    async openRead(name: string): Promise<ReadableFile | undefined> {
        const file = this.files.get(name);
        if (!file) return undefined;
        const read = async (offset: number, length: number) => {
            if (this.files.size === 0) throw new LapidaryError('io', `'${name}' could not be read`);
            const bytes = file.now.slice(offset, offset + length);
            if (bytes.length !== length) throw new LapidaryError('truncated', `'${name}' is too short`);
            return bytes;
        };
        return { size: file.now.length, read, close: async () => undefined };
    }

    async openWrite(name: string): Promise<WritableFile> {
        let file = this.files.get(name);
        if (file?.writer) throw new BusyError(`'${name}'`);
        if (!file) {
            this.change();
            file = { safe: new Uint8Array(0), now: new Uint8Array(0), changes: [], writer: false };
            this.files.set(name, file);
        }
        file.writer = true;
        return this.writable(name, file);
    }

    async move(from: string, to: string): Promise<boolean> {
        const file = this.files.get(from);
        if (!file || !this.canMove) return false;
        if (file.writer) throw new BusyError(`'${from}'`);
        this.change();
        this.files.delete(from);
        this.files.set(to, file);
        return true;
    }

    async remove(name: string): Promise<void> {
        if (!this.files.has(name)) return;
        this.change();
        this.files.delete(name);
    }

    async room(): Promise<StorageRoom | undefined> {
        if (this.options.promises) return { usage: this.used(), quota: this.used() + this.options.promises };
        return this.quota === Infinity ? undefined : { usage: this.used(), quota: this.quota };
    }

    private used(): number {
        return [...this.files.values()].reduce((sum, { now }) => sum + now.length, 0);
    }

    private change(): void {
        if (++this.changes >= this.killAt) throw new Killed(`killed at change ${this.killAt}`);
    }

    private writable(name: string, file: Stored): WritableFile {
        const alter = (change: Change) => {
            const now = applied(file.now, change);
            if (this.used() - file.now.length + now.length > this.quota) throw new StorageFullError(`'${name}'`);
            file.changes.push(change);
            file.now = now;
            this.change(); // dying here, the change may or may not have reached the disk
        };
        return {
            size: async () => file.now.length,
            read: async (offset, length) => file.now.slice(offset, offset + length),
            write: async (at, bytes) => alter({ at, bytes: bytes.slice() }),
            truncate: async (size) => alter({ size }),
            grantable: async (size) => Math.min(size, this.quota - this.used() + file.now.length),
            flush: async () => {
                this.change();
                file.safe = file.now;
                file.changes = [];
            },
            close: async () => void (file.writer = false),
        };
    }
}

function applied(bytes: Uint8Array, change: Change): Uint8Array {
    const size = 'size' in change ? change.size : Math.max(bytes.length, change.at + change.bytes.length);
    const result = new Uint8Array(size);
    result.set(bytes.subarray(0, size));
    if ('at' in change) result.set(change.bytes, change.at);
    return result;
}

function survive(file: Stored, mode: CrashMode): Uint8Array {
    const { safe, now, changes } = file;
    if (mode === 'keep') return now;
    if (mode === 'lose' || changes.length === 0) return safe;
    if (mode === 'reorder') return applied(safe, changes.at(-1) as Change);
    const half = Math.floor(changes.length / 2);
    const whole = changes.slice(0, half).reduce(applied, safe);
    const torn = changes[half] as Change;
    if ('size' in torn) return whole;
    return applied(whole, { at: torn.at, bytes: torn.bytes.subarray(0, torn.bytes.length / 2) });
}
