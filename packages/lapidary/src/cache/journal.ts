// What is known about one cached file, in a text file beside it that only ever grows: a header, a line for every chunk
// that is safely on disk, and `done` once the whole was verified. Every line carries its own checksum, so a torn or
// damaged line, and what comes after it, counts as never written.
import { LapidaryError } from '../error.js';
import { isObject } from '../json.js';
import { mostFileBytes } from '../sources/source.js';
import { lineChecksum } from './checksum.js';
import { Chunks, defaultChunkBytes } from './chunks.js';
import type { CacheStorageFs, WritableFile } from './fs.js';

export interface Header {
    /** What the bytes are known by: their digest or their URL. */
    id: string;
    /** For people. */
    name: string;
    /** Where they came from, for people: without the query. */
    url: string;
    size: number;
    etag: string | null;
    modified: string | null;
    /** What the bytes must hash to, when somebody said so beforehand. */
    sha256: string | null;
    chunkBytes: number;
    /** Milliseconds since 1970. */
    created: number;
}

export interface JournalState {
    header: Header;
    /** The checksum of each chunk that is on disk. */
    sums: (string | undefined)[];
    /** The SHA-256 of a file that is complete and verified. */
    done: string | undefined;
    /** Up to here the journal makes sense. */
    validBytes: number;
}

// A journal is written by us, but who knows what happened to it since.
const largestJournal = 256 * 1024 * 1024;
const mostChunks = mostFileBytes / defaultChunkBytes;
const largestChunk = 64 * 1024 * 1024;
const formatVersion = 1;

export async function readJournal(fs: CacheStorageFs, file: string): Promise<JournalState | undefined> {
    try {
        const bytes = await fs.readWhole(file, largestJournal);
        return bytes && parseJournal(bytes);
    } catch (error) {
        if (error instanceof LapidaryError && error.code === 'limit') return undefined;
        throw error;
    }
}

/** Undefined when not even the header can be believed. */
export function parseJournal(bytes: Uint8Array): JournalState | undefined {
    let state: JournalState | undefined;
    const decoder = new TextDecoder();
    for (let start = 0; start < bytes.length; ) {
        const end = bytes.indexOf(10, start);
        if (end < 0) break; // the last line was torn off
        const body = checkedLine(decoder.decode(bytes.subarray(start, end)));
        if (body === undefined) break;
        if (!state) {
            const header = parseHeader(body);
            if (!header) return undefined;
            const count = new Chunks(header.size, header.chunkBytes).count;
            state = { header, sums: new Array<undefined>(count).fill(undefined), done: undefined, validBytes: 0 };
        } else if (!applyLine(state, body)) {
            break;
        }
        start = end + 1;
        state.validBytes = start;
    }
    return state;
}

function applyLine(state: JournalState, body: string): boolean {
    const [word, first = '', second = ''] = body.split(' ');
    switch (word) {
        case 'chunk': {
            const index = Number(first);
            if (!Number.isSafeInteger(index) || index < 0 || index >= state.sums.length) return false;
            if (!/^[0-9a-f]{16}$/.test(second)) return false;
            state.sums[index] = second;
            return true;
        }
        case 'done':
            if (!/^[0-9a-f]{64}$/.test(first)) return false;
            state.done = first;
            return true;
        case 'again': // it was found damaged after all
            state.done = undefined;
            return true;
        default:
            return false;
    }
}

function parseHeader(body: string): Header | undefined {
    let json: unknown;
    try {
        json = JSON.parse(body);
    } catch {
        return undefined;
    }
    if (!isObject(json) || json['lapidary'] !== formatVersion) return undefined;
    const { id, name, url, size, etag, modified, sha256, chunkBytes, created } = json;
    if (typeof id !== 'string' || typeof name !== 'string' || typeof url !== 'string') return undefined;
    if (typeof size !== 'number' || typeof chunkBytes !== 'number' || !fits(size, chunkBytes)) return undefined;
    return {
        id,
        name,
        url,
        size,
        etag: typeof etag === 'string' ? etag : null,
        modified: typeof modified === 'string' ? modified : null,
        sha256: typeof sha256 === 'string' ? sha256 : null,
        chunkBytes,
        created: typeof created === 'number' ? created : 0,
    };
}

/** Whether bytes that come later can be told to belong to those that are there: by the server, or by the digest. */
export function canResume({ etag, modified, sha256 }: Header): boolean {
    return etag !== null || modified !== null || sha256 !== null;
}

/** Whether a journal can describe a file of this size. Checked before anything is allocated by these numbers. */
export function fits(size: number, chunkBytes: number): boolean {
    if (!Number.isSafeInteger(size) || size < 0 || Object.is(size, -0) || size > mostFileBytes) return false;
    if (!Number.isSafeInteger(chunkBytes) || chunkBytes <= 0 || chunkBytes > largestChunk) return false;
    return size / chunkBytes <= mostChunks;
}

function checkedLine(line: string): string | undefined {
    const body = line.slice(9);
    return line[8] === ' ' && line.slice(0, 8) === lineChecksum(body) ? body : undefined;
}

function writeLine(body: string): string {
    return `${lineChecksum(body)} ${body}\n`;
}

/** Adds to a journal. Nothing counts as written before `flush` came back. */
export class JournalWriter {
    private constructor(
        private readonly file: WritableFile,
        readonly state: JournalState,
    ) {}

    /** Goes on with `state`, as it was read from this file, or begins anew. */
    static async open(fs: CacheStorageFs, name: string, begin: JournalState | Header): Promise<JournalWriter> {
        if ('size' in begin && !fits(begin.size, begin.chunkBytes)) {
            throw new LapidaryError('limit', `'${begin.name}' with its ${begin.size} bytes is too large for the cache`);
        }
        const file = await fs.openWrite(name);
        try {
            if ('header' in begin) {
                // What follows a damaged line would never be read.
                if ((await file.size()) > begin.validBytes) await file.truncate(begin.validBytes);
                return new JournalWriter(file, begin);
            }
            await file.truncate(0);
            const { count } = new Chunks(begin.size, begin.chunkBytes);
            const sums = new Array<undefined>(count).fill(undefined);
            const writer = new JournalWriter(file, { header: begin, sums, done: undefined, validBytes: 0 });
            await writer.append([JSON.stringify({ lapidary: formatVersion, ...begin })]);
            return writer;
        } catch (error) {
            await file.close().catch(() => undefined);
            throw error;
        }
    }

    async addChunks(chunks: readonly { index: number; sum: string }[]): Promise<void> {
        await this.append(chunks.map(({ index, sum }) => `chunk ${index} ${sum}`));
        for (const { index, sum } of chunks) this.state.sums[index] = sum;
    }

    async addDone(sha256: string): Promise<void> {
        await this.append([`done ${sha256}`]);
        this.state.done = sha256;
    }

    async addAgain(): Promise<void> {
        await this.append(['again']);
        this.state.done = undefined;
    }

    async close(): Promise<void> {
        await this.file.close();
    }

    private async append(bodies: readonly string[]): Promise<void> {
        const bytes = new TextEncoder().encode(bodies.map(writeLine).join(''));
        await this.file.write(this.state.validBytes, bytes);
        await this.file.flush();
        this.state.validBytes += bytes.length;
    }
}
