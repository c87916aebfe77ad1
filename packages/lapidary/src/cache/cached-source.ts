// A cached file as the engine reads it. Every chunk is compared with its checksum the first time it is read; a damaged
// one is fetched again, alone, so that a wrong byte on disk never becomes a wrong weight.
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import type { HttpOptions } from '../sources/http.js';
import { checkRange, readExactly, type ByteSource } from '../sources/source.js';
import type { Checksum } from './checksum.js';
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
    checksum: Checksum;
    want: Wanted;
    http: HttpOptions;
}

export class CachedSource implements ByteSource {
    readonly name: string;
    readonly size: number;
    /** The SHA-256 the file had when it was complete. */
    readonly sha256: string;
    private readonly chunks: Chunks;
    private readonly good: boolean[];
    private file: ReadableFile | undefined;
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
        const { first, end } = this.chunks.touched(offset, length);
        // A chunk can only be checked as a whole, so the read grows to the borders of those not checked yet.
        const from = this.good[first] ? offset : this.chunks.offset(first);
        const to = this.good[end - 1] ? offset + length : this.chunks.offset(end);
        const bytes = await this.readFile(from, to - from);
        for (let index = first; index < end; index++) {
            if (this.good[index]) continue;
            const start = this.chunks.offset(index) - from;
            const chunk = bytes.subarray(start, start + this.chunks.length(index));
            if (this.parts.checksum(chunk) !== this.parts.state.sums[index]) {
                throwIfCancelled(signal);
                chunk.set(await this.repair(index, signal));
            }
            this.good[index] = true;
        }
        return bytes.length === length ? bytes : bytes.slice(offset - from, offset - from + length);
    }

    private async readFile(offset: number, length: number): Promise<Uint8Array> {
        const { fs, fileName } = this.parts;
        this.file ??= await fs.openRead(fileName);
        if (!this.file) throw new LapidaryError('not_found', `'${this.name}' was removed from the cache`);
        // A file that became shorter gives zeros here, which the checksums will refuse.
        const there = Math.max(0, Math.min(length, this.file.size - offset));
        const bytes = await this.file.read(offset, there);
        if (there === length) return bytes;
        const padded = new Uint8Array(length);
        padded.set(bytes);
        return padded;
    }

    /** The chunk as it should be, from where it came; put back on disk where that is possible. */
    private async repair(index: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
        const [offset, length] = [this.chunks.offset(index), this.chunks.length(index)];
        const where = `bytes ${offset} to ${offset + length - 1} of '${this.name}' are damaged in the cache`;
        let bytes: Uint8Array;
        try {
            bytes = await this.fetchAgain(offset, length, signal);
        } catch (error) {
            throwIfCancelled(signal);
            const message = `${where} and could not be fetched again: ${messageOf(error)}`;
            throw new LapidaryError('bad_file', message, { cause: error });
        }
        if (this.parts.checksum(bytes) !== this.parts.state.sums[index]) {
            throw new LapidaryError('bad_file', `${where}, and the server has other bytes there now; load it again`);
        }
        await this.putBack(offset, bytes);
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

    private async putBack(offset: number, bytes: Uint8Array): Promise<void> {
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
        } catch {
            // Another tab reads it, or the disk is full. The reader has its bytes; the next one will try again.
        }
    }
}
