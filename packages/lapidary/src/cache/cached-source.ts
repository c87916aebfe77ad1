// A cached file as the engine reads it. Every chunk is compared with its checksum the first time it is read; a damaged
// one is fetched again, alone, so that a wrong byte on disk never becomes a wrong weight.
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import type { HttpOptions } from '../sources/http.js';
import { checkRange, readExactly, type ByteSource } from '../sources/source.js';
import { checksum } from './checksum.js';
import { Chunks } from './chunks.js';
import type { CacheStorageFs, ReadableFile } from './fs.js';
import type { JournalState } from './journal.js';
import type { ProgressMeter } from './progress.js';
import type { Wanted } from './remote.js';

interface Parts {
    fs: CacheStorageFs;
    fileName: string;
    file: ReadableFile;
    state: JournalState;
    want: Wanted;
    http: HttpOptions;
}

/** The file is there no more, or the disk does not give it. */
class Unreadable extends Error {}

export class CachedSource implements ByteSource {
    readonly name: string;
    readonly size: number;
    /** The SHA-256 the file had when it was complete. */
    readonly sha256: string;
    private readonly chunks: Chunks;
    private readonly good: boolean[];
    private file: ReadableFile | undefined;
    private closed = false;
    private turn: Promise<unknown> = Promise.resolve();

    constructor(private readonly parts: Parts) {
        const { header, done } = parts.state;
        this.name = parts.want.name;
        this.size = header.size;
        this.sha256 = done ?? '';
        this.chunks = new Chunks(header.size, header.chunkBytes);
        this.good = parts.state.sums.map(() => false);
        this.file = parts.file;
    }

    /** One read after the other: a repair in between changes the file under the others' feet. */
    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        return await this.inTurn(async () => await this.readChecked(offset, length, signal));
    }

    /** Reads everything now, so that a repair happens here and not in the middle of something. */
    async checkAll(meter: ProgressMeter, signal?: AbortSignal): Promise<void> {
        for (let index = 0; index < this.chunks.count; index++) {
            await this.read(this.chunks.offset(index), this.chunks.length(index), signal);
            meter.step('checking', this.chunks.offset(index + 1), this.size);
        }
    }

    async close(): Promise<void> {
        await this.inTurn(async () => {
            const { file } = this;
            this.closed = true;
            this.file = undefined;
            await file?.close();
        });
    }

    private async inTurn<T>(work: () => Promise<T>): Promise<T> {
        const mine = this.turn.then(work);
        this.turn = mine.catch(() => undefined);
        return await mine;
    }

    private async readChecked(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
        throwIfCancelled(signal);
        if (length === 0) return new Uint8Array(0);
        const file = await this.openFile();
        try {
            return await this.readFrom(file, offset, length, signal);
        } catch (error) {
            if (!(error instanceof Unreadable)) throw error;
        }
        // The browser took it away to make room. What is wanted comes from where the file came from.
        this.file = undefined;
        await file.close().catch(() => undefined);
        return await this.readFrom(this.nothing(), offset, length, signal);
    }

    private async readFrom(
        file: ReadableFile,
        offset: number,
        length: number,
        signal: AbortSignal | undefined,
    ): Promise<Uint8Array> {
        const { first, end } = this.chunks.touched(offset, length);
        // A chunk can only be checked as a whole, so the read grows to the borders of those not checked yet.
        const from = this.good[first] ? offset : this.chunks.offset(first);
        const to = this.good[end - 1] ? offset + length : this.chunks.offset(end);
        const bytes = await this.readPadded(file, from, to - from);
        for (let index = first; index < end; index++) {
            if (this.good[index]) continue;
            const start = this.chunks.offset(index) - from;
            const chunk = bytes.subarray(start, start + this.chunks.length(index));
            this.good[index] = checksum(chunk) === this.parts.state.sums[index];
            if (this.good[index]) continue;
            throwIfCancelled(signal);
            const gone = file.size === 0;
            const repaired = await this.repair(index, gone, signal);
            chunk.set(repaired);
            // Where it could not be put back, the disk is as wrong as before.
            this.good[index] = !gone && (await this.putBack(this.chunks.offset(index), repaired));
        }
        return bytes.length === length ? bytes : bytes.slice(offset - from, offset - from + length);
    }

    private async openFile(): Promise<ReadableFile> {
        if (this.closed) throw new LapidaryError('io', `'${this.name}' was closed`);
        this.file ??= await this.parts.fs.openRead(this.parts.fileName).catch(() => undefined);
        if (!this.file) return this.nothing();
        if (this.file.size !== this.size) this.good.fill(false); // somebody else was here
        return this.file;
    }

    private nothing(): ReadableFile {
        this.good.fill(false);
        return { size: 0, read: async () => new Uint8Array(0), close: async () => undefined };
    }

    /** Where the file is too short there are zeros, which the checksums will refuse. */
    private async readPadded(file: ReadableFile, offset: number, length: number): Promise<Uint8Array> {
        const there = Math.max(0, Math.min(length, file.size - offset));
        const bytes = await file.read(offset, there).catch((cause: unknown) => {
            throw new Unreadable('unreadable', { cause });
        });
        if (there === length) return bytes;
        const padded = new Uint8Array(length);
        padded.set(bytes);
        return padded;
    }

    /** The chunk as it should be, from where it came. */
    private async repair(index: number, gone: boolean, signal: AbortSignal | undefined): Promise<Uint8Array> {
        const [offset, length] = [this.chunks.offset(index), this.chunks.length(index)];
        const what = gone ? 'are no longer' : 'are damaged';
        const where = `bytes ${offset} to ${offset + length - 1} of '${this.name}' ${what} in the cache`;
        let bytes: Uint8Array;
        try {
            bytes = await this.fetchAgain(offset, length, signal);
        } catch (error) {
            throwIfCancelled(signal);
            const message = `${where} and could not be fetched again: ${messageOf(error)}`;
            throw new LapidaryError('bad_file', message, { cause: error });
        }
        if (checksum(bytes) !== this.parts.state.sums[index]) {
            throw new LapidaryError('bad_file', `${where}, and the server has other bytes there now; load it again`);
        }
        return bytes;
    }

    private async fetchAgain(offset: number, length: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
        const { want, http } = this.parts;
        const remote = await want.open(signal ? { ...http, signal } : http);
        try {
            return await readExactly(remote, offset, length, signal);
        } finally {
            await want.release(remote);
        }
    }

    /** False when another tab reads the file, or the disk is full. The reader has its bytes all the same. */
    private async putBack(offset: number, bytes: Uint8Array): Promise<boolean> {
        const { fs, fileName } = this.parts;
        await this.file?.close(); // it would keep the writer out, and is out of date afterwards
        this.file = undefined;
        try {
            const file = await fs.openWrite(fileName);
            try {
                await file.write(offset, bytes);
                await file.flush();
            } finally {
                await file.close();
            }
            return true;
        } catch {
            return false;
        }
    }
}
