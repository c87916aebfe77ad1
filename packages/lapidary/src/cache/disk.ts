// The cache's folder on a disk, for Node. Complete files are called ….gguf there, so that other programs can use them.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { LapidaryError } from '../error.js';
import { fileError, systemCode } from '../sources/file.js';
import { BusyError, StorageFullError, type CacheStorageFs, type FileEntry, type ReadableFile, type StorageRoom, type WritableFile } from './fs.js';

export class DiskFs implements CacheStorageFs {
    // A flush makes the disk write what it would rather write later.
    readonly flushEvery = { bytes: 64 * 1024 * 1024, milliseconds: 5000 };

    /** The folder is made when something is written to it. */
    constructor(readonly folder: string) {}

    /** Where a file of this name is, for people. */
    pathOf(name: string): string {
        return path.join(this.folder, onDisk(name));
    }

    async list(): Promise<FileEntry[]> {
        let names: string[];
        try {
            names = await fs.readdir(this.folder);
        } catch (error) {
            if (isMissing(error)) return [];
            throw fileError(error, this.folder, 'read');
        }
        const entries: FileEntry[] = [];
        for (const name of names) {
            const status = await fs.stat(path.join(this.folder, name)).catch(() => undefined); // removed meanwhile
            if (status?.isFile() && !name.endsWith(lockEnding)) entries.push({ name: inCache(name), size: status.size });
        }
        return entries;
    }

    async readWhole(name: string, mostBytes: number): Promise<Uint8Array | undefined> {
        const file = this.pathOf(name);
        try {
            const { size } = await fs.stat(file);
            if (size > mostBytes) throw new LapidaryError('limit', `'${file}' is too large`);
            return new Uint8Array(await fs.readFile(file));
        } catch (error) {
            if (isMissing(error)) return undefined;
            throw fileError(error, file, 'read');
        }
    }

    async openRead(name: string): Promise<ReadableFile | undefined> {
        const file = this.pathOf(name);
        try {
            const handle = await fs.open(file, 'r');
            const { size } = await handle.stat();
            return {
                size,
                read: async (offset, length) => {
                    const bytes = await readAt(handle, file, offset, length);
                    if (bytes.length !== length) throw new LapidaryError('truncated', `'${file}' became shorter while it was read`);
                    return bytes;
                },
                close: async () => await handle.close(),
            };
        } catch (error) {
            if (isMissing(error)) return undefined;
            throw fileError(error, file, 'read');
        }
    }

    async openWrite(name: string): Promise<WritableFile> {
        const file = this.pathOf(name);
        let release: () => Promise<void> = async () => undefined;
        try {
            await fs.mkdir(this.folder, { recursive: true });
            release = await lock(file);
            const handle = await openForWriting(file);
            return new DiskFile(handle, file, release);
        } catch (error) {
            await release();
            throw diskError(error, file);
        }
    }

    async move(from: string, to: string): Promise<boolean> {
        const [source, target] = [this.pathOf(from), this.pathOf(to)];
        try {
            await fs.rename(source, target);
            return true;
        } catch (error) {
            throw diskError(error, target);
        }
    }

    async remove(name: string): Promise<void> {
        const file = this.pathOf(name);
        try {
            await fs.rm(file, { force: true });
        } catch (error) {
            throw fileError(error, file, 'written');
        }
    }

    async room(): Promise<StorageRoom | undefined> {
        for (let folder = path.resolve(this.folder); ; folder = path.dirname(folder)) {
            try {
                const { bavail, bsize, blocks } = await fs.statfs(folder);
                return { usage: (blocks - bavail) * bsize, quota: blocks * bsize, persisted: true };
            } catch (error) {
                // The folder may not be there yet; the disk it will be on is that of one above it.
                if (!isMissing(error) || folder === path.dirname(folder)) return undefined;
            }
        }
    }
}

class DiskFile implements WritableFile {
    constructor(
        private readonly handle: fs.FileHandle,
        private readonly file: string,
        private readonly release: () => Promise<void>,
    ) {}

    async size(): Promise<number> {
        return (await this.handle.stat()).size;
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        return await readAt(this.handle, this.file, offset, length);
    }

    async write(offset: number, bytes: Uint8Array): Promise<void> {
        try {
            for (let done = 0; done < bytes.length; ) {
                const { bytesWritten } = await this.handle.write(bytes, done, bytes.length - done, offset + done);
                done += bytesWritten;
            }
        } catch (error) {
            throw diskError(error, this.file);
        }
    }

    async truncate(size: number): Promise<void> {
        await this.handle.truncate(size).catch((error: unknown) => {
            throw diskError(error, this.file);
        });
    }

    /** A disk tells how much room it has; `room` knows. */
    async grantable(size: number): Promise<number> {
        return size;
    }

    async flush(): Promise<void> {
        await this.handle.sync().catch((error: unknown) => {
            throw diskError(error, this.file);
        });
    }

    async close(): Promise<void> {
        await this.handle.close();
        await this.release();
    }
}

const lockEnding = '.lock';

/** Files have no locks that hold everywhere, so a file beside it says which program writes to it. */
async function lock(file: string): Promise<() => Promise<void>> {
    const mine = `${file}${lockEnding}`;
    for (let tries = 0; ; tries++) {
        try {
            await fs.writeFile(mine, String(process.pid), { flag: 'wx' });
            return async () => await fs.rm(mine, { force: true });
        } catch (error) {
            if (systemCode(error) !== 'EEXIST') throw error;
            const owner = Number(await fs.readFile(mine, 'utf8').catch(() => ''));
            // No number: somebody has made the file and not written to it yet. The next try will find one.
            if (tries > 3 || (owner > 0 && isAlive(owner))) throw new BusyError(`'${file}'`, { by: 'program' });
            if (owner > 0) await fs.rm(mine, { force: true });
            else await new Promise((resolve) => setTimeout(resolve, 20));
            if (tries === 3) await fs.rm(mine, { force: true });
        }
    }
}

function isAlive(pid: number): boolean {
    try {
        process.kill(pid, 0);
        return true;
    } catch (error) {
        return systemCode(error) === 'EPERM'; // somebody else's
    }
}

async function openForWriting(file: string): Promise<fs.FileHandle> {
    try {
        return await fs.open(file, 'r+');
    } catch (error) {
        if (!isMissing(error)) throw error;
        return await fs.open(file, 'wx+');
    }
}

async function readAt(handle: fs.FileHandle, file: string, offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
        const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled).catch((error: unknown) => {
            throw fileError(error, file, 'read');
        });
        if (bytesRead === 0) break;
        filled += bytesRead;
    }
    return bytes.subarray(0, filled);
}

function onDisk(name: string): string {
    return name.replace(/\.data$/, '.gguf');
}

function inCache(name: string): string {
    return name.replace(/\.gguf$/, '.data');
}

function isMissing(error: unknown): boolean {
    return systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR';
}

function diskError(error: unknown, file: string): LapidaryError {
    const code = systemCode(error);
    if (code === 'ENOSPC' || code === 'EDQUOT') return new StorageFullError(`'${file}'`, { cause: error });
    return fileError(error, file, 'written');
}
