// Brings one file onto the disk, chunk by chunk. The order of things is what makes it safe to kill at any moment: bytes
// are written and flushed, only then the journal says so, and only a file whose SHA-256 was right is ever called done.
import { LapidaryError, throwIfCancelled } from '../error.js';
import { Passing } from '../sources/http.js';
import { checksum } from './checksum.js';
import { Chunks, type Run } from './chunks.js';
import type { CacheStorageFs, WritableFile } from './fs.js';
import { canResume, type JournalWriter } from './journal.js';
import { pause } from './pause.js';
import { PrefixHash } from './prefix-hash.js';
import type { ProgressMeter } from './progress.js';
import type { RemoteSource } from './remote.js';

export interface RetryOptions {
    /** How often in a row a connection may fail without bringing a chunk. */
    retries: number;
    /** Pause after the first failure; it doubles each time, up to half a minute. */
    retryDelayMs: number;
}

interface Parts {
    fs: CacheStorageFs;
    remote: RemoteSource;
    journal: JournalWriter;
    file: WritableFile;
    meter: ProgressMeter;
    signal: AbortSignal | undefined;
    retry: RetryOptions;
}

const longestPauseMs = 30_000;

export class Download {
    private readonly chunks: Chunks;
    private readonly have: boolean[];
    private readonly resumes: boolean;
    private hash = new PrefixHash();
    private readonly pending: { index: number; sum: string }[] = [];
    private pendingBytes = 0;
    private lastFlush = performance.now();
    private done = 0;

    constructor(private readonly parts: Parts) {
        const { header, sums } = parts.journal.state;
        this.chunks = new Chunks(header.size, header.chunkBytes);
        this.have = sums.map(() => false);
        this.resumes = canResume(header);
    }

    /** Finds out which chunks are on disk as the journal says. Resolves to their bytes. */
    async checkKept(): Promise<number> {
        const { file, journal, meter, signal } = this.parts;
        const { size } = this.chunks;
        if ((await file.size()) > size) await file.truncate(size);
        const onDisk = await file.size();
        for (const [index, sum] of journal.state.sums.entries()) {
            throwIfCancelled(signal);
            const [offset, length] = [this.chunks.offset(index), this.chunks.length(index)];
            if (sum === undefined || offset + length > onDisk) continue;
            const bytes = await file.read(offset, length);
            if (bytes.length !== length || checksum(bytes) !== sum) continue;
            this.have[index] = true;
            this.done += length;
            this.hash.offer(index, bytes);
            meter.step('checking', this.done, size);
        }
        return this.done;
    }

    /**
     * Instead of `checkKept` when all the bytes are there but the journal that vouched for them is damaged: takes the
     * file as it is if it has this digest, and leaves everything as it was, with undefined, if not.
     */
    async adopt(sha256: string): Promise<string | undefined> {
        const { file, meter, signal } = this.parts;
        const hash = new PrefixHash();
        const sums: string[] = [];
        for (let index = 0; index < this.chunks.count; index++) {
            throwIfCancelled(signal);
            const bytes = await file.read(this.chunks.offset(index), this.chunks.length(index));
            sums.push(checksum(bytes));
            hash.offer(index, bytes);
            meter.step('checking', this.chunks.offset(index + 1), this.chunks.size);
        }
        if (hash.digest() !== sha256) return undefined;
        await file.flush();
        await this.parts.journal.addChunks(sums.map((sum, index) => ({ index, sum })));
        return sha256;
    }

    get missing(): Run[] {
        return this.chunks.runs((index) => !this.have[index]);
    }

    get missingBytes(): number {
        return this.chunks.size - this.done;
    }

    async fetchMissing(): Promise<void> {
        try {
            if (!this.resumes) this.startOver();
            for (const run of this.missing) await this.fetchRun(run);
        } finally {
            // Also when it was stopped: what has arrived should not be fetched again. When even this fails, the reason
            // why we are here says more.
            await this.checkpoint().catch(() => undefined);
        }
        await this.checkpoint();
    }

    /** The SHA-256 of what is on disk now. */
    async digest(): Promise<string> {
        const { file, meter, signal } = this.parts;
        await this.checkpoint(); // a reader may see flushed bytes only
        while (this.hash.next < this.chunks.count) {
            throwIfCancelled(signal);
            const index = this.hash.next;
            meter.step('verifying', this.chunks.offset(index), this.chunks.size);
            this.hash.offer(index, await file.read(this.chunks.offset(index), this.chunks.length(index)));
        }
        return this.hash.digest();
    }

    /** Forgets what has arrived, which may be of another version than what comes now. */
    private startOver(): void {
        this.have.fill(false);
        this.done = 0;
        this.hash = new PrefixHash();
        this.pending.length = 0;
        this.pendingBytes = 0;
    }

    private async fetchRun(run: Run): Promise<void> {
        const { remote, meter, signal, retry } = this.parts;
        const end = this.chunks.offset(run.end);
        let assembly = new Assembly(this.chunks, run.first);
        for (let failures = 0; assembly.position < end; ) {
            const before = assembly.index;
            let passing = new Passing('the server sends too little at a time');
            try {
                meter.step('downloading', this.done, this.chunks.size);
                for await (const piece of remote.stream(assembly.position, end - assembly.position, signal)) {
                    for (const bytes of assembly.add(piece)) await this.keep(assembly.index - 1, bytes);
                    meter.step('downloading', this.done + assembly.filled, this.chunks.size);
                }
            } catch (error) {
                if (!(error instanceof Passing)) throw error;
                passing = error;
            }
            if (assembly.position >= end) return;
            failures = this.resumes && assembly.index > before ? 1 : failures + 1;
            if (failures > retry.retries) throw this.gaveUp(passing, failures);
            if (!this.resumes) {
                this.startOver();
                assembly = new Assembly(this.chunks, run.first);
            }
            // A server that names a time (Retry-After) is not asked again before.
            const asked = (passing.waitSeconds ?? 0) * 1000;
            const wait = Math.max(Math.min(retry.retryDelayMs * 2 ** (failures - 1), longestPauseMs), asked);
            const why = { reason: passing.message, seconds: wait / 1000 };
            meter.step('retrying', this.done + assembly.filled, this.chunks.size, why);
            // The line may be down for long: nothing that has arrived may depend on this page staying alive.
            await this.checkpoint();
            await pause(wait, signal);
        }
    }

    private async keep(index: number, bytes: Uint8Array): Promise<void> {
        await this.parts.file.write(this.chunks.offset(index), bytes);
        this.note(index, checksum(bytes), bytes.length);
        this.have[index] = true;
        this.done += bytes.length;
        this.hash.offer(index, bytes);
        const { flushEvery } = this.parts.fs;
        const late = performance.now() - this.lastFlush >= flushEvery.milliseconds;
        if (late || this.pendingBytes >= flushEvery.bytes) await this.checkpoint();
    }

    private note(index: number, sum: string, length: number): void {
        this.pending.push({ index, sum });
        this.pendingBytes += length;
    }

    private async checkpoint(): Promise<void> {
        if (this.pending.length === 0) return;
        await this.parts.file.flush();
        await this.parts.journal.addChunks(this.pending);
        this.pending.length = 0;
        this.pendingBytes = 0;
        this.lastFlush = performance.now();
    }

    private gaveUp(cause: Passing, times: number): LapidaryError {
        const { address } = this.parts.remote;
        const kept = this.resumes
            ? `${this.done} of ${this.chunks.size} bytes are kept, and it goes on from there next time`
            : 'the server does not tell one version of the file from another, so it begins anew next time';
        const sentence = `${address} could not be downloaded: ${cause.message} (tried ${times} times); ${kept}`;
        return new LapidaryError('io', sentence, { cause });
    }
}

/** Puts pieces of any size together to chunks. */
class Assembly {
    filled = 0;
    private readonly buffer: Uint8Array;

    constructor(
        private readonly chunks: Chunks,
        public index: number,
    ) {
        this.buffer = new Uint8Array(Math.min(chunks.chunkBytes, chunks.size));
    }

    get position(): number {
        return this.chunks.offset(this.index) + this.filled;
    }

    /** Each chunk that became complete; good until the next one is asked for. */
    *add(piece: Uint8Array): Generator<Uint8Array> {
        for (let used = 0; used < piece.length; ) {
            const length = this.chunks.length(this.index);
            const count = Math.min(length - this.filled, piece.length - used);
            this.buffer.set(piece.subarray(used, used + count), this.filled);
            this.filled += count;
            used += count;
            if (this.filled < length) continue;
            this.index++;
            this.filled = 0;
            yield this.buffer.subarray(0, length);
        }
    }
}
