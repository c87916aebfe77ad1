// Reads a cached file from end to end and compares it with what it was when it was complete.
import { throwIfCancelled } from '../error.js';
import type { WorkOptions } from '../work.js';
import { checksum } from './checksum.js';
import { Chunks } from './chunks.js';
import { bytesFile, isComplete, journalFile, type Entry } from './entries.js';
import type { CacheStorageFs } from './fs.js';
import { JournalWriter, readJournal } from './journal.js';
import { newSha256 } from './hasher.js';
import type { Locks } from './share.js';

export interface Verdict {
    ok: boolean;
    /** Why it is not, for people. */
    problem: string | undefined;
    /** Which bytes are damaged; none when it is known only that something is. */
    damaged: { offset: number; length: number }[];
    /** Of the bytes on disk. */
    sha256: string | undefined;
}

export async function verifyEntry(
    fs: CacheStorageFs,
    locks: Locks,
    lock: string,
    entry: Entry,
    options: WorkOptions,
): Promise<Verdict> {
    const state = await readJournal(fs, journalFile(entry.key));
    const file = isComplete(entry, state) ? await fs.openRead(bytesFile(entry) ?? '') : undefined;
    if (!file || !isComplete(entry, state)) {
        return { ok: false, problem: 'it is not complete', damaged: [], sha256: undefined };
    }
    const chunks = new Chunks(state.header.size, state.header.chunkBytes);
    const hash = newSha256();
    const damaged: Verdict['damaged'] = [];
    try {
        for (let index = 0; index < chunks.count; index++) {
            throwIfCancelled(options.signal);
            const [offset, length] = [chunks.offset(index), chunks.length(index)];
            const bytes = await file.read(offset, length);
            hash.update(bytes);
            if (checksum(bytes) !== state.sums[index]) damaged.push({ offset, length });
            options.onProgress?.({ done: offset + length, total: chunks.size });
        }
    } finally {
        await file.close();
    }
    const sha256 = hash.digest();
    if (sha256 === state.done) return { ok: true, problem: undefined, damaged: [], sha256 };
    // From now on it is not complete, so that the next one who wants it repairs and proves it again.
    const doubt = async () => {
        const journal = await JournalWriter.open(fs, journalFile(entry.key), state);
        await journal.addAgain().finally(() => journal.close());
    };
    await locks.hold(lock, doubt, { ifFree: true });
    return { ok: false, problem: `its SHA-256 is ${sha256} and should be ${state.done}`, damaged, sha256 };
}
