// The cache itself: finds a file that is there, brings one that is not, and keeps the folder in order.
import { LapidaryError } from '../error.js';
import type { WorkOptions } from '../work.js';
import type { HttpOptions } from '../sources/http.js';
import type { ByteSource } from '../sources/source.js';
import { bring } from './bring.js';
import { CachedSource } from './cached-source.js';
import { shortName } from './checksum.js';
import { defaultChunkBytes } from './chunks.js';
import {
    bytesFile,
    bytesOnDisk,
    dataFile,
    describeEntry,
    isComplete,
    journalFile,
    knownByDigest,
    makeKey,
    partFile,
    removeEntry,
    scan,
    type CachedFile,
    type Entry,
} from './entries.js';
import { BusyError, type CacheStorageFs } from './fs.js';
import { readJournal, type JournalState } from './journal.js';
import type { CacheOpenOptions } from './open-options.js';
import { OpfsFs } from './opfs.js';
import { pause } from './pause.js';
import { ProgressMeter } from './progress.js';
import { wanted, type RemoteSource, type Wanted } from './remote.js';
import { defaultLocks, ProgressChannel, type Locks } from './share.js';
import { verifyEntry, type Verdict } from './verify.js';

export type { CacheOpenOptions };

export interface CacheUsage {
    /** Files in the cache, and their bytes on disk. */
    files: number;
    bytes: number;
    /** Of the whole origin, as far as the browser tells. */
    originUsage: number | undefined;
    quota: number | undefined;
    available: number | undefined;
    /** Whether the browser has promised not to clear it when disk space becomes scarce. */
    persisted: boolean | undefined;
}

export interface CacheParts {
    fs: CacheStorageFs;
    locks?: Locks;
    chunkBytes?: number;
}

// The server is asked only whether there is something newer: not worth a long wait.
const updateCheck: HttpOptions = { timeoutMs: 5000, retries: 0 };
const busyPauseMs = 500;
const busyPatienceMs = 30_000;

export class ModelCache {
    private readonly fs: CacheStorageFs;
    private readonly locks: Locks;
    private readonly chunkBytes: number;
    private tidied: Promise<void> | undefined;

    constructor(parts: CacheParts) {
        this.fs = parts.fs;
        this.locks = parts.locks ?? defaultLocks();
        this.chunkBytes = parts.chunkBytes ?? defaultChunkBytes;
    }

    /** The cache of this origin; undefined where the browser has no place for one. */
    static async ofThisOrigin(): Promise<ModelCache | undefined> {
        const fs = await OpfsFs.open();
        return fs ? new ModelCache({ fs }) : undefined;
    }

    /** The file, downloaded first where necessary. The source reads from disk, and from the network to repair. */
    async open(source: string | URL | RemoteSource, options: CacheOpenOptions = {}): Promise<ByteSource> {
        const { signal, onProgress } = options;
        const want = wanted(source, options.sha256);
        let mine = false;
        let lastSign = Date.now();
        const channel = new ProgressChannel(want.id, (progress) => {
            lastSign = Date.now();
            if (!mine) onProgress?.({ ...progress, state: 'waiting' });
        });
        const meter = new ProgressMeter(want.name, (progress) => {
            if (mine) channel.tell(progress);
            onProgress?.(progress);
        });
        try {
            await this.tidy();
            for (;;) {
                try {
                    const opened = await this.openOrBring(want, options, meter, (is) => (mine = is));
                    if (options.check === 'at-open') await opened.checkAll(meter, signal);
                    meter.step('ready', opened.size, opened.size);
                    return opened;
                } catch (error) {
                    // Somebody writes to the file without holding the lock: a browser without Web Locks, or a tab that
                    // just died and whose files the browser has not closed yet.
                    if (!(error instanceof BusyError) || Date.now() - lastSign > busyPatienceMs) throw error;
                    await pause(busyPauseMs, signal);
                }
            }
        } finally {
            channel.close();
        }
    }

    /** Everything in the cache, oldest first, also what is only partly there. */
    async list(): Promise<CachedFile[]> {
        const files: CachedFile[] = [];
        for (const entry of await scan(this.fs)) files.push(await describeEntry(this.fs, entry));
        return files.sort((a, b) => (a.created?.getTime() ?? 0) - (b.created?.getTime() ?? 0));
    }

    /** By key or name, with everything of that name. False when there is nothing. */
    async remove(name: string): Promise<boolean> {
        const found = await this.find(name);
        for (const { entry } of found) {
            const removed = await this.locks.hold(
                lockName(entry.idHash),
                async () => {
                    await removeEntry(this.fs, entry.key);
                    return true;
                },
                { ifFree: true },
            );
            if (!removed) throw new BusyError(`'${name}' is being downloaded and`);
        }
        return found.length > 0;
    }

    async usage(): Promise<CacheUsage> {
        const entries = await scan(this.fs);
        const room = await this.fs.room();
        return {
            files: entries.length,
            bytes: entries.reduce((sum, entry) => sum + bytesOnDisk(entry) + (entry.journal ?? 0), 0),
            originUsage: room?.usage,
            quota: room?.quota,
            available: room && Math.max(0, room.quota - room.usage),
            persisted: room?.persisted,
        };
    }

    /** Reads every byte. What is found damaged is repaired when the file is opened the next time. */
    async verify(name: string, options: WorkOptions = {}): Promise<Verdict> {
        const [found] = await this.find(name);
        if (!found) throw new LapidaryError('not_found', `there is no '${name}' in the cache`);
        return await verifyEntry(this.fs, this.locks, lockName(found.entry.idHash), found.entry, options);
    }

    /** Clears away what interrupted work left behind. Happens by itself before the first `open`. */
    async tidy(): Promise<void> {
        this.tidied ??= this.tidyNow().catch(() => undefined);
        await this.tidied;
    }

    private async openOrBring(
        want: Wanted,
        options: CacheOpenOptions,
        meter: ProgressMeter,
        own: (is: boolean) => void,
    ): Promise<CachedSource> {
        const idHash = shortName(want.id);
        const ready = await this.openReady(want, idHash, options);
        if (ready) return ready;
        const opened = await this.locks.hold(
            lockName(idHash),
            async () => {
                own(true);
                try {
                    // While we waited, another tab may have brought it.
                    const there = await this.openReady(want, idHash, options);
                    if (there) return there;
                    const { fs, chunkBytes } = this;
                    const entries = (await scan(fs)).filter((entry) => entry.idHash === idHash);
                    const list = () => this.list();
                    await bring({ fs, chunkBytes, want, entries, options, meter, list });
                    return await this.openReady(want, idHash, { ...options, update: 'keep' });
                } finally {
                    own(false);
                }
            },
            { signal: options.signal },
        );
        if (!opened) throw new LapidaryError('io', `'${want.name}' was removed from the cache while it was opened`);
        return opened;
    }

    private async openReady(
        want: Wanted,
        idHash: string,
        options: CacheOpenOptions,
    ): Promise<CachedSource | undefined> {
        const complete: { entry: Entry; state: JournalState }[] = [];
        for (const entry of await scan(this.fs)) {
            if (entry.idHash !== idHash) continue;
            const state = await readJournal(this.fs, journalFile(entry.key));
            if (isComplete(entry, state) && state.header.id === want.id) complete.push({ entry, state });
        }
        complete.sort((a, b) => b.state.header.created - a.state.header.created);
        let chosen = complete[0];
        if (chosen && (options.update ?? (want.sha256 ? 'keep' : 'check')) === 'check') {
            const current = await this.currentVersion(want, options);
            if (current !== undefined) chosen = complete.find(({ entry }) => entry.version === current);
        }
        if (!chosen) return undefined;
        const fileName = bytesFile(chosen.entry) ?? '';
        const file = await this.fs.openRead(fileName);
        if (!file) return undefined;
        const { fs } = this;
        return new CachedSource({ fs, fileName, file, state: chosen.state, want, http: options.http ?? {} });
    }

    /** Undefined when the server cannot tell: offline is no reason not to use what is there. */
    private async currentVersion(want: Wanted, options: CacheOpenOptions): Promise<string | undefined> {
        const { signal, http } = options;
        try {
            const remote = await want.open({ ...http, ...updateCheck, ...(signal ? { signal } : {}) });
            const { size, etag, modified } = remote;
            await want.release(remote);
            return versionOf(makeKey({ ...want, size, etag, modified, sha256: want.sha256 ?? null }));
        } catch (error) {
            if (signal?.aborted) throw error;
            return undefined;
        }
    }

    private async find(name: string): Promise<{ entry: Entry; file: CachedFile }[]> {
        const found: { entry: Entry; file: CachedFile }[] = [];
        for (const entry of await scan(this.fs)) {
            const file = await describeEntry(this.fs, entry);
            if (file.key === name || file.name === name) found.push({ entry, file });
        }
        return found;
    }

    private async tidyNow(): Promise<void> {
        for (const { key, idHash } of await scan(this.fs)) {
            const work = async () => {
                const entry = (await scan(this.fs)).find((other) => other.key === key);
                if (entry) await this.tidyEntry(entry);
            };
            // Whoever holds the lock is at work on it, and will leave it tidy.
            await this.locks.hold(lockName(idHash), work, { ifFree: true }).catch(() => undefined);
        }
    }

    private async tidyEntry(entry: Entry): Promise<void> {
        const { key } = entry;
        const state = await readJournal(this.fs, journalFile(key));
        const nothing = bytesFile(entry) === undefined;
        // Bytes without a journal can still be proven by their digest, if somebody asks for that.
        if (nothing || (!state && entry.version !== knownByDigest)) await removeEntry(this.fs, key);
        else if (entry.data === undefined && isComplete(entry, state)) await this.fs.move(partFile(key), dataFile(key));
        else if (entry.data !== undefined && entry.part !== undefined) await this.fs.remove(partFile(key));
    }
}

function lockName(idHash: string): string {
    return `lapidary-cache:${idHash}`;
}

function versionOf(key: string): string {
    return key.slice(key.lastIndexOf('.') + 1);
}
