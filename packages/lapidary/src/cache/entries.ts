// What lies in the cache's folder. One cached file is up to three files of one key:
//   <key>.part     bytes on their way in
//   <key>.data     the same file, once it is complete and verified
//   <key>.journal  what is known about either
// A key is `<name>.<id>.<version>`; the version of bytes known by their digest is the word sha256.
import { shortName } from './checksum.js';
import type { CacheStorageFs } from './fs.js';
import { readJournal, type Header, type JournalState } from './journal.js';

export interface CachedFile {
    /** Unique, for `remove` and `verify`. */
    key: string;
    /** For people. */
    name: string;
    url: string;
    /** On disk now. */
    bytes: number;
    /** When it is complete. */
    size: number;
    /** `damaged`: nothing is known about it any more. */
    state: 'complete' | 'partial' | 'damaged';
    /** Known once complete, or from the beginning when it was given. */
    sha256: string | undefined;
    created: Date | undefined;
}

export interface Entry {
    key: string;
    idHash: string;
    version: string;
    part: number | undefined;
    data: number | undefined;
    journal: number | undefined;
}

const keyPattern = /^(.+\.([0-9a-f]{16})\.([0-9a-f]{16}|sha256))\.(part|data|journal)$/;
export const knownByDigest = 'sha256';

export async function scan(fs: CacheStorageFs): Promise<Entry[]> {
    const entries = new Map<string, Entry>();
    for (const { name, size } of await fs.list()) {
        const [, key, idHash, version, kind] = keyPattern.exec(name) ?? [];
        if (key === undefined || idHash === undefined || version === undefined) continue;
        const none = { part: undefined, data: undefined, journal: undefined };
        const entry = entries.get(key) ?? { key, idHash, version, ...none };
        entry[kind as 'part' | 'data' | 'journal'] = size;
        entries.set(key, entry);
    }
    return [...entries.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
}

type Named = Pick<Header, 'id' | 'name' | 'size' | 'etag' | 'modified' | 'sha256'>;

export function makeKey(header: Named): string {
    const readable = header.name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 60) || 'model';
    const version =
        header.sha256 !== null ? knownByDigest : shortName(`${header.size} ${header.etag ?? header.modified ?? ''}`);
    return `${readable}.${shortName(header.id)}.${version}`;
}

export function journalFile(key: string): string {
    return `${key}.journal`;
}

export function partFile(key: string): string {
    return `${key}.part`;
}

export function dataFile(key: string): string {
    return `${key}.data`;
}

/** Where the bytes are. Without `move` a complete file keeps its first name. */
export function bytesFile(entry: Entry): string | undefined {
    if (entry.data !== undefined) return dataFile(entry.key);
    return entry.part !== undefined ? partFile(entry.key) : undefined;
}

export function bytesOnDisk(entry: Entry): number {
    return (entry.data ?? 0) + (entry.part ?? 0);
}

/** Complete by its journal, and of the right size. */
export function isComplete(entry: Entry, state: JournalState | undefined): state is JournalState & { done: string } {
    return state?.done !== undefined && (entry.data ?? entry.part) === state.header.size;
}

export async function describeEntry(fs: CacheStorageFs, entry: Entry): Promise<CachedFile> {
    const state = await readJournal(fs, journalFile(entry.key));
    return {
        key: entry.key,
        name: state?.header.name ?? entry.key,
        url: state?.header.url ?? '',
        bytes: bytesOnDisk(entry) + (entry.journal ?? 0),
        size: state?.header.size ?? bytesOnDisk(entry),
        state: isComplete(entry, state) ? 'complete' : state ? 'partial' : 'damaged',
        sha256: state?.done ?? state?.header.sha256 ?? undefined,
        created: state ? new Date(state.header.created) : undefined,
    };
}

/** The bytes first: a journal without bytes claims nothing that could be believed. */
export async function removeEntry(fs: CacheStorageFs, key: string): Promise<void> {
    await fs.remove(dataFile(key));
    await fs.remove(partFile(key));
    await fs.remove(journalFile(key));
}
