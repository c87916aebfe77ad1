// Everything between "not there" and "complete": room, what is left of earlier attempts, the download, the proof.
import { LapidaryError } from '../error.js';
import type { CacheOpenOptions } from './open-options.js';
import { Download } from './download.js';
import {
    dataFile,
    isComplete,
    journalFile,
    makeKey,
    partFile,
    removeEntry,
    type CachedFile,
    type Entry,
} from './entries.js';
import { BusyError, StorageFullError, type CacheStorageFs, type WritableFile } from './fs.js';
import { canResume, JournalWriter, readJournal, type Header, type JournalState } from './journal.js';
import type { ProgressMeter } from './progress.js';
import { NotEnoughRoomError, requestPersistence } from './quota.js';
import { checkSize } from '../sources/source.js';
import type { RemoteSource, Wanted } from './remote.js';

export interface BringParts {
    fs: CacheStorageFs;
    chunkBytes: number;
    want: Wanted;
    /** What the cache has of this file, in any version and state. */
    entries: readonly Entry[];
    options: CacheOpenOptions;
    meter: ProgressMeter;
    list: () => Promise<CachedFile[]>;
}

/** The caller holds the file's lock. */
export async function bring(parts: BringParts): Promise<void> {
    const { want, options } = parts;
    const { signal, http } = options;
    void requestPersistence(); // not awaited: a browser may ask the person, and a download need not wait for the answer
    const remote = await want.open({ ...http, ...(signal ? { signal } : {}) });
    parts.meter.note = remote.note;
    try {
        checkSize(remote.address, remote.size);
        await new Bringing(parts, remote).run();
    } finally {
        await want.release(remote);
    }
}

/** Everything came anew, and it is not what was promised. Nothing of it was kept. */
export class WrongBytesError extends LapidaryError {}

/** The bytes came, but they are not those that were promised. */
class WrongDigest extends Error {
    constructor(
        readonly actual: string,
        /** Some of them came at another time: perhaps of another version. */
        readonly resumed: boolean,
    ) {
        super('wrong digest');
    }
}

class Bringing {
    constructor(
        private readonly parts: BringParts,
        private readonly remote: RemoteSource,
    ) {}

    async run(): Promise<void> {
        const { fs } = this.parts;
        const header = this.header();
        const key = this.chooseKey(header);
        await this.clearOthers(key, false);
        for (;;) {
            try {
                await this.complete(key, header);
                break;
            } catch (error) {
                if (error instanceof StorageFullError) {
                    // Not even the journal could be written.
                    await this.tellShortage(this.remote.size, 0, key, error);
                } else if (error instanceof WrongDigest) {
                    await removeEntry(fs, key);
                    if (!error.resumed) throw this.wrongBytes(error.actual);
                } else {
                    throw error;
                }
            }
        }
        await this.clearOthers(key, true);
    }

    private header(): Header {
        const { want, chunkBytes } = this.parts;
        const { address, size, etag, modified } = this.remote;
        const { id, name, sha256 = null } = want;
        return { id, name, url: address, size, etag, modified, sha256, chunkBytes, created: Date.now() };
    }

    /** The same bytes may have come under another name before. */
    private chooseKey(header: Header): string {
        const key = makeKey(header);
        const version = key.slice(key.lastIndexOf('.') + 1);
        return this.parts.entries.find((entry) => entry.version === version)?.key ?? key;
    }

    /** Removes other versions: unfinished ones at once, finished ones only when the new one is complete. */
    private async clearOthers(key: string, alsoComplete: boolean): Promise<void> {
        const { fs, entries } = this.parts;
        for (const entry of entries) {
            if (entry.key === key) continue;
            const complete = isComplete(entry, await readJournal(fs, journalFile(entry.key)));
            if (complete && !alsoComplete) continue;
            await removeEntry(fs, entry.key).catch(ignoreBusy);
        }
    }

    private async complete(key: string, header: Header): Promise<void> {
        const { fs, meter, options, want } = this.parts;
        const { state, adopt } = await this.prepare(key, header);
        const journal = await JournalWriter.open(fs, journalFile(key), state ?? header);
        try {
            if (journal.state.done !== undefined) await journal.addAgain();
            // A finished file that needs work is not called finished meanwhile.
            await backToPart(fs, key);
            const file = await fs.openWrite(partFile(key));
            try {
                const download = new Download({
                    fs,
                    remote: this.remote,
                    journal,
                    file,
                    meter,
                    signal: options.signal,
                    retry: { retries: options.retries ?? 8, retryDelayMs: options.retryDelayMs ?? 500 },
                });
                const adopted = adopt ? await download.adopt(want.sha256 ?? '') : undefined;
                await journal.addDone(adopted ?? (await this.fetch(download, file, key)));
            } finally {
                await file.close();
            }
        } finally {
            await journal.close();
        }
        await fs.move(partFile(key), dataFile(key));
    }

    /** The digest of the complete file, which is the right one if one was given. */
    private async fetch(download: Download, file: WritableFile, key: string): Promise<string> {
        const { sha256 } = this.parts.want;
        const kept = await download.checkKept();
        for (let refused: StorageFullError | undefined; download.missingBytes > 0; ) {
            await this.makeRoom(download.missingBytes, file, key, refused);
            try {
                await download.fetchMissing();
            } catch (error) {
                if (!(error instanceof StorageFullError)) throw error;
                refused = error;
            }
        }
        const actual = await download.digest();
        if (sha256 !== undefined && actual !== sha256) throw new WrongDigest(actual, kept > 0);
        return actual;
    }

    /** What an earlier attempt left that this one can use. Anything else is removed before something new is written. */
    private async prepare(key: string, header: Header): Promise<{ state: JournalState | undefined; adopt: boolean }> {
        const { fs } = this.parts;
        const state = await readJournal(fs, journalFile(key));
        const files = await fs.list();
        const bytes = files.find(({ name }) => name === dataFile(key) || name === partFile(key));
        const known = state?.header;
        const same = known?.id === header.id && known.size === header.size && known.sha256 === header.sha256;
        // Without a digest or a version we cannot know that the bytes on disk belong to this file: then it begins anew.
        const sameVersion = same && (header.sha256 !== null || (canResume(header) && isVersion(known, header)));
        // Once complete, or of unknown history: the digest can vouch for bytes when the journal does not.
        const orphan = !state || (same && state.done === undefined && bytes?.name === dataFile(key));
        const adopt = header.sha256 !== null && bytes?.size === header.size && orphan;
        if (sameVersion || adopt) return { state, adopt };
        await removeEntry(fs, key);
        return { state: undefined, adopt: false };
    }

    /** Resolves when there is room, or when somebody made some after the storage had `refused` to take more. */
    private async makeRoom(
        needed: number,
        file: WritableFile,
        key: string,
        refused: StorageFullError | undefined,
    ): Promise<void> {
        for (let cause = refused; ; cause = undefined) {
            const available = await this.available(needed, file);
            if (!cause && needed <= available) return;
            // The storage has just refused to take more, so the room that it still promises does not exist.
            await this.tellShortage(needed, needed <= available ? 0 : available, key, cause);
        }
    }

    /** Resolves when somebody says that it is worth another attempt. */
    private async tellShortage(needed: number, available: number, key: string, cause: unknown): Promise<void> {
        const { options, want, list } = this.parts;
        const evictable = (await list()).filter((other) => other.key !== key);
        const shortage = { name: want.name, needed, available, evictable };
        const answer = (await options.onShortage?.(shortage)) ?? 'stop';
        if (answer !== 'retry') throw new NotEnoughRoomError(shortage, { cause });
    }

    private async available(needed: number, file: WritableFile): Promise<number> {
        const { size } = this.remote;
        const room = await this.parts.fs.room();
        const told = room ? room.quota - room.usage : Infinity;
        const granted = (await file.grantable(size)) - (size - needed);
        return Math.max(0, Math.min(told, granted));
    }

    private wrongBytes(actual: string): WrongBytesError {
        const { want } = this.parts;
        return new WrongBytesError(
            'bad_file',
            `${this.remote.address} has the SHA-256 ${actual}, but ${want.sha256} was expected; nothing of it was kept`,
        );
    }
}

async function backToPart(fs: CacheStorageFs, key: string): Promise<void> {
    const files = await fs.list();
    if (files.some(({ name }) => name === dataFile(key))) await fs.move(dataFile(key), partFile(key));
}

function isVersion(known: Header, now: Header): boolean {
    return known.etag === now.etag && (now.etag !== null || known.modified === now.modified);
}

function ignoreBusy(error: unknown): void {
    if (!(error instanceof BusyError)) throw error;
}
