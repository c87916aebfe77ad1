// Files on a disk, for Node. The browser's bundle never sees this file: it is part of `lapidary/node`.
import { randomBytes } from 'node:crypto';
import { promises as fs, rmSync } from 'node:fs';
import path from 'node:path';
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import { openAll, shardNames } from './shards.js';
import { checkRange, type ByteSink, type ByteSource } from './source.js';

// One read of the operating system is at most 2 GiB − 1; pieces this small also notice a cancelled read.
const largestRead = 64 * 1024 * 1024;

export class FileSource implements ByteSource {
    readonly name: string;

    private constructor(
        private readonly handle: fs.FileHandle,
        private readonly filePath: string,
        readonly size: number,
    ) {
        this.name = path.basename(filePath);
    }

    get path(): string {
        return path.resolve(this.filePath);
    }

    static async open(filePath: string): Promise<FileSource> {
        try {
            // Looked at before it is opened: opening a pipe would wait for someone to write to it.
            const status = await fs.stat(filePath);
            if (!status.isFile()) throw notAFile(filePath, status.isDirectory());
            const handle = await fs.open(filePath, 'r');
            return new FileSource(handle, filePath, status.size);
        } catch (error) {
            throw fileError(error, filePath, 'read');
        }
    }

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        const bytes = new Uint8Array(length);
        for (let filled = 0; filled < length; ) {
            throwIfCancelled(signal);
            const wanted = Math.min(length - filled, largestRead);
            let bytesRead: number;
            try {
                ({ bytesRead } = await this.handle.read(bytes, filled, wanted, offset + filled));
            } catch (error) {
                throw fileError(error, this.filePath, 'read');
            }
            if (bytesRead === 0) {
                throw new LapidaryError('truncated', `'${this.filePath}' became shorter while it was read`);
            }
            filled += bytesRead;
        }
        return bytes;
    }

    async close(): Promise<void> {
        await this.handle.close();
    }
}

/** Opens the file, and, when it is the first piece of a split model, all the pieces beside it. */
export async function openFile(filePath: string): Promise<FileSource[]> {
    const folder = path.dirname(filePath);
    const names = shardNames(path.basename(filePath));
    return await openAll(names, (name) => FileSource.open(path.join(folder, name)));
}

/**
 * A result that appears under its name only when it is complete: it is written to a temporary file beside it, which
 * `commit` renames and `discard` removes.
 */
export class FileSink implements ByteSink {
    private constructor(
        private readonly handle: fs.FileHandle,
        readonly temporaryPath: string,
        readonly targetPath: string,
        private readonly overwrite: boolean,
    ) {}

    static async create(targetPath: string, options: { overwrite: boolean }): Promise<FileSink> {
        const target = await checkTarget(targetPath, options.overwrite);
        const temporary = `${target}.${randomBytes(4).toString('hex')}.partial`;
        try {
            return new FileSink(await fs.open(temporary, 'wx'), temporary, target, options.overwrite);
        } catch (error) {
            throw fileError(error, targetPath, 'written');
        }
    }

    async write(offset: number, bytes: Uint8Array): Promise<void> {
        try {
            for (let done = 0; done < bytes.length; ) {
                const { bytesWritten } = await this.handle.write(bytes, done, bytes.length - done, offset + done);
                done += bytesWritten;
            }
        } catch (error) {
            throw fileError(error, this.targetPath, 'written');
        }
    }

    async commit(): Promise<void> {
        try {
            await this.handle.sync();
            await this.handle.close();
            await checkTarget(this.targetPath, this.overwrite);
            await fs.rename(this.temporaryPath, this.targetPath);
        } catch (error) {
            await this.discard();
            throw fileError(error, this.targetPath, 'written');
        }
    }

    async discard(): Promise<void> {
        await this.handle.close().catch(() => undefined); // already closed after a failed commit
        await fs.rm(this.temporaryPath, { force: true }).catch(() => undefined);
    }

    /** For a process that is about to end and cannot wait. */
    discardSync(): void {
        try {
            rmSync(this.temporaryPath, { force: true });
        } catch {
            // Nobody is left who could do something about it.
        }
    }
}

/** Where the result really goes (behind a symbolic link), once we know that it may go there. */
async function checkTarget(targetPath: string, overwrite: boolean): Promise<string> {
    let existing: string;
    try {
        existing = await fs.realpath(targetPath);
        const status = await fs.stat(existing);
        // Renaming over a device would replace the device.
        if (!status.isFile()) throw notAFile(targetPath, status.isDirectory());
    } catch (error) {
        if (systemCode(error) === 'ENOENT') return targetPath;
        throw fileError(error, targetPath, 'written');
    }
    if (!overwrite) throw new LapidaryError('invalid_argument', `'${targetPath}' exists already`);
    return existing;
}

function notAFile(filePath: string, isFolder: boolean): LapidaryError {
    return new LapidaryError('invalid_argument', `'${filePath}' is ${isFolder ? 'a folder' : 'not a regular file'}`);
}

export function systemCode(error: unknown): string | undefined {
    return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The operating system's refusal as a sentence. */
export function fileError(error: unknown, filePath: string, action: 'read' | 'written'): LapidaryError {
    if (error instanceof LapidaryError) return error;
    const code = systemCode(error);
    const fail = (why: string) =>
        new LapidaryError('io', `'${filePath}' could not be ${action}: ${why}`, { cause: error });
    switch (code) {
        case 'ENOENT':
            return action === 'read'
                ? new LapidaryError('not_found', `there is no file '${filePath}'`, { cause: error })
                : fail('its folder does not exist');
        case 'ENOTDIR':
            return fail('a part of the path is not a folder');
        case 'EISDIR':
            return fail('it is a folder');
        case 'EACCES':
        case 'EPERM':
            return fail('permission denied');
        case 'ENOSPC':
            return fail('the disk is full');
        case 'EDQUOT':
            return fail('this account may not store more');
        case 'EROFS':
            return fail('the disk is read-only');
        case 'EMFILE':
            return fail('too many files are open');
        default:
            return fail(code ?? messageOf(error));
    }
}
