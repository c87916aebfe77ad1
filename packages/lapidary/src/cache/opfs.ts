// The browser's private file system. In a dedicated worker files are written through synchronous handles, in place and
// with a real flush. Elsewhere there is only `createWritable`, which writes a copy that replaces the file on close.
import { LapidaryError, messageOf } from '../error.js';
import {
    BusyError,
    StorageFullError,
    type CacheStorageFs,
    type FileEntry,
    type ReadableFile,
    type StorageRoom,
    type WritableFile,
} from './fs.js';

/** As in workers; the types of a page do not know it. */
interface SyncHandle {
    /** Where it is missing, the browser knows exclusive handles only. */
    readonly mode?: string;
    read(into: Uint8Array, at: { at: number }): number;
    write(from: Uint8Array, at: { at: number }): number;
    truncate(size: number): void;
    getSize(): number;
    flush(): void;
    close(): void;
}

interface FileHandle extends FileSystemFileHandle {
    createSyncAccessHandle?: (options?: { mode: string }) => Promise<SyncHandle>;
    move?: (name: string) => Promise<void>;
}

// On a slow line, what came in two seconds is worth keeping too.
const flushSync = { bytes: 16 * 1024 * 1024, milliseconds: 2000 };
// Every flush copies the whole file once more.
const flushByCopy = { bytes: 256 * 1024 * 1024, milliseconds: 60_000 };

const grantStep = 256 * 1024;

export class OpfsFs implements CacheStorageFs {
    readonly flushEvery: { bytes: number; milliseconds: number };
    private readonly sync: boolean;

    private constructor(private readonly folder: FileSystemDirectoryHandle) {
        this.sync = 'FileSystemFileHandle' in globalThis && 'createSyncAccessHandle' in FileSystemFileHandle.prototype;
        this.flushEvery = this.sync ? flushSync : flushByCopy;
    }

    /** Undefined where there is no such storage: outside browsers, without https, in some private windows. */
    static async open(path: readonly string[] = ['lapidary', 'models']): Promise<OpfsFs | undefined> {
        const storage = typeof navigator === 'undefined' ? undefined : navigator.storage;
        if (typeof storage?.getDirectory !== 'function') return undefined;
        try {
            let folder = await storage.getDirectory();
            for (const name of path) folder = await folder.getDirectoryHandle(name, { create: true });
            return new OpfsFs(folder);
        } catch {
            return undefined;
        }
    }

    async list(): Promise<FileEntry[]> {
        const entries: FileEntry[] = [];
        for await (const handle of this.handles()) {
            if (handle.kind !== 'file') continue;
            try {
                const { size } = await (handle as FileSystemFileHandle).getFile();
                entries.push({ name: handle.name, size });
            } catch (error) {
                if (nameOf(error) !== 'NotFoundError') throw storageError(error, handle.name); // removed meanwhile
            }
        }
        return entries;
    }

    async readWhole(name: string, mostBytes: number): Promise<Uint8Array | undefined> {
        for (let tries = 1; ; tries++) {
            try {
                const file = await (await this.find(name))?.getFile();
                if (!file) return undefined;
                if (file.size > mostBytes) throw new LapidaryError('limit', `'${name}' is too large`);
                return new Uint8Array(await file.arrayBuffer());
            } catch (error) {
                if (nameOf(error) === 'NotFoundError') return undefined;
                // Written to between the two lines above.
                if (nameOf(error) !== 'NotReadableError' || tries === 5) throw storageError(error, name);
            }
        }
    }

    async openRead(name: string): Promise<ReadableFile | undefined> {
        const handle = await this.find(name);
        if (!handle) return undefined;
        const shared = await this.sharedHandle(handle);
        if (shared) return new SyncReader(shared, name);
        try {
            return new BlobReader(await handle.getFile(), name);
        } catch (error) {
            if (nameOf(error) === 'NotFoundError') return undefined;
            throw storageError(error, name);
        }
    }

    async openWrite(name: string): Promise<WritableFile> {
        try {
            const handle: FileHandle = await this.folder.getFileHandle(name, { create: true });
            if (this.sync && handle.createSyncAccessHandle) {
                return new SyncFile(await handle.createSyncAccessHandle(), name);
            }
            return new CopiedFile(handle, name);
        } catch (error) {
            throw storageError(error, name);
        }
    }

    async move(from: string, to: string): Promise<boolean> {
        const handle = await this.find(from);
        if (!handle?.move) return false;
        try {
            await handle.move(to);
            return true;
        } catch (error) {
            if (nameOf(error) === 'NotSupportedError') return false;
            throw storageError(error, from);
        }
    }

    async remove(name: string): Promise<void> {
        try {
            await this.folder.removeEntry(name);
        } catch (error) {
            if (nameOf(error) !== 'NotFoundError') throw storageError(error, name);
        }
    }

    async room(): Promise<StorageRoom | undefined> {
        const { usage, quota } = await navigator.storage.estimate();
        if (usage === undefined || quota === undefined) return undefined;
        return { usage, quota, persisted: await navigator.storage.persisted() };
    }

    private handles(): AsyncIterable<FileSystemHandle> {
        return (this.folder as unknown as { values(): AsyncIterable<FileSystemHandle> }).values();
    }

    private async find(name: string): Promise<FileHandle | undefined> {
        try {
            return await this.folder.getFileHandle(name);
        } catch (error) {
            if (nameOf(error) === 'NotFoundError') return undefined;
            throw storageError(error, name);
        }
    }

    /** A handle for reading that other tabs can have too. An exclusive one would shut them out. */
    private async sharedHandle(handle: FileHandle): Promise<SyncHandle | undefined> {
        if (!this.sync) return undefined;
        try {
            const opened = await handle.createSyncAccessHandle?.({ mode: 'read-only' });
            if (opened?.mode === 'read-only') return opened;
            opened?.close();
        } catch {
            // Somebody writes to it, or the browser does not know the mode: a snapshot will do.
        }
        return undefined;
    }
}

class SyncReader implements ReadableFile {
    readonly size: number;

    constructor(
        private readonly handle: SyncHandle,
        private readonly name: string,
    ) {
        this.size = handle.getSize();
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        return wholly(readSync(this.handle, this.name, offset, length), length, this.name);
    }

    async close(): Promise<void> {
        this.handle.close();
    }
}

class BlobReader implements ReadableFile {
    constructor(
        private readonly file: Blob,
        private readonly name: string,
    ) {}

    get size(): number {
        return this.file.size;
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        return wholly(await readBlob(this.file, this.name, offset, length), length, this.name);
    }

    async close(): Promise<void> {}
}

class SyncFile implements WritableFile {
    constructor(
        private readonly handle: SyncHandle,
        private readonly name: string,
    ) {}

    async size(): Promise<number> {
        return this.handle.getSize();
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        return readSync(this.handle, this.name, offset, length);
    }

    async write(offset: number, bytes: Uint8Array): Promise<void> {
        for (let done = 0; done < bytes.length; ) {
            const written = this.attempt(() => this.handle.write(bytes.subarray(done), { at: offset + done }));
            if (written === 0) throw new StorageFullError(`'${this.name}'`);
            done += written;
        }
    }

    async truncate(size: number): Promise<void> {
        this.attempt(() => this.handle.truncate(size));
    }

    /** A longer file takes no space before something is written to it, but the quota is checked all the same. */
    async grantable(size: number): Promise<number> {
        const before = this.handle.getSize();
        if (size <= before || this.takes(size, before)) return size;
        let [granted, refused] = [before, size];
        while (refused - granted > grantStep) {
            const middle = Math.floor((granted + refused) / 2);
            if (this.takes(middle, before)) granted = middle;
            else refused = middle;
        }
        return granted;
    }

    async flush(): Promise<void> {
        this.attempt(() => this.handle.flush());
    }

    async close(): Promise<void> {
        this.handle.close();
    }

    private takes(size: number, before: number): boolean {
        try {
            this.handle.truncate(size);
            this.handle.truncate(before);
            return true;
        } catch {
            return false;
        }
    }

    private attempt<T>(work: () => T): T {
        try {
            return work();
        } catch (error) {
            throw storageError(error, this.name);
        }
    }
}

/** Where only `createWritable` exists. A flush closes the copy, which makes it the file, and begins another. */
class CopiedFile implements WritableFile {
    private stream: FileSystemWritableFileStream | undefined;

    constructor(
        private readonly handle: FileHandle,
        private readonly name: string,
    ) {
        if (typeof handle.createWritable !== 'function') {
            throw new LapidaryError('unsupported', 'this browser can write to its storage only from a worker');
        }
    }

    async size(): Promise<number> {
        await this.flush();
        return (await this.handle.getFile()).size;
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        return await readBlob(await this.handle.getFile(), this.name, offset, length);
    }

    async write(position: number, bytes: Uint8Array): Promise<void> {
        const data = bytes as Uint8Array<ArrayBuffer>;
        await this.attempt(async () => (await this.writable()).write({ type: 'write', position, data }));
    }

    async grantable(size: number): Promise<number> {
        return size; // trying it would copy the whole file
    }

    async truncate(size: number): Promise<void> {
        await this.attempt(async () => (await this.writable()).truncate(size));
    }

    async flush(): Promise<void> {
        const { stream } = this;
        if (!stream) return;
        this.stream = undefined;
        await this.attempt(() => stream.close());
    }

    async close(): Promise<void> {
        await this.flush();
    }

    private async writable(): Promise<FileSystemWritableFileStream> {
        const options = { keepExistingData: true, mode: 'exclusive' };
        return (this.stream ??= await this.handle.createWritable(options));
    }

    private async attempt<T>(work: () => Promise<T>): Promise<T> {
        try {
            return await work();
        } catch (error) {
            throw storageError(error, this.name);
        }
    }
}

function readSync(handle: SyncHandle, name: string, offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    let filled = 0;
    try {
        while (filled < length) {
            const count = handle.read(bytes.subarray(filled), { at: offset + filled });
            if (count === 0) break;
            filled += count;
        }
    } catch (error) {
        throw storageError(error, name);
    }
    return filled === length ? bytes : bytes.slice(0, filled);
}

async function readBlob(file: Blob, name: string, offset: number, length: number): Promise<Uint8Array> {
    try {
        return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
    } catch (error) {
        throw storageError(error, name);
    }
}

function wholly(bytes: Uint8Array, length: number, name: string): Uint8Array {
    if (bytes.length === length) return bytes;
    throw new LapidaryError('truncated', `'${name}' in the browser's storage is shorter than it should be`);
}

function nameOf(error: unknown): string {
    return error instanceof Error ? error.name : '';
}

function storageError(error: unknown, name: string): LapidaryError {
    if (error instanceof LapidaryError) return error;
    const what = `'${name}' in the browser's storage`;
    switch (nameOf(error)) {
        case 'NoModificationAllowedError':
            return new BusyError(what, { cause: error });
        case 'QuotaExceededError':
            return new StorageFullError(what, { cause: error });
        default:
            return new LapidaryError('io', `${what} could not be used: ${messageOf(error)}`, { cause: error });
    }
}
