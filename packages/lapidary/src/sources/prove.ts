// Bytes that must have a certain SHA-256, from a place where they cannot be kept: everything is read once and compared,
// and what is read later is compared with what was read then, so that nobody can show one file and give another.
import { Chunks } from '../cache/chunks.js';
import { newSha256 } from '../cache/hasher.js';
import { LapidaryError, throwIfCancelled } from '../error.js';
import type { WorkOptions } from '../work.js';
import { parseDigest } from './digest.js';
import { checkRange, checkSize, readExactly, type ByteSource } from './source.js';

// What is read later in small parts is read in these. A multiple of them is read at a time when everything is.
const chunkBytes = 1024 * 1024;
const pieceBytes = 16 * chunkBytes;

/** The source, once its bytes are known to have this digest. Closing it closes the one that was given. */
export async function prove(source: ByteSource, digest: string, options: WorkOptions = {}): Promise<ByteSource> {
    const { signal, onProgress } = options;
    const wanted = parseDigest(digest);
    checkSize(`'${source.name}'`, source.size);
    const whole = newSha256();
    const sums: string[] = [];
    for (let at = 0; at < source.size; at += pieceBytes) {
        throwIfCancelled(signal);
        const piece = await readExactly(source, at, Math.min(pieceBytes, source.size - at), signal);
        whole.update(piece);
        for (let start = 0; start < piece.length; start += chunkBytes) {
            sums.push(await sha256(piece.subarray(start, start + chunkBytes)));
        }
        onProgress?.({ done: at + piece.length, total: source.size });
    }
    const actual = whole.digest();
    if (actual === wanted) return new ProvenSource(source, sums);
    throw new LapidaryError(
        'bad_file',
        `'${source.name}' has the SHA-256 ${actual}, but ${wanted} was expected; nothing of it is used`,
    );
}

class ProvenSource implements ByteSource {
    readonly name: string;
    readonly size: number;
    private readonly chunks: Chunks;

    constructor(
        private readonly source: ByteSource,
        private readonly sums: readonly string[],
    ) {
        this.name = source.name;
        this.size = source.size;
        this.chunks = new Chunks(source.size, chunkBytes);
    }

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        const { first, end } = this.chunks.touched(offset, length);
        const start = this.chunks.offset(first);
        const bytes = await readExactly(this.source, start, this.chunks.offset(end) - start, signal);
        for (let index = first; index < end; index++) {
            const at = this.chunks.offset(index) - start;
            if ((await sha256(bytes.subarray(at, at + this.chunks.length(index)))) === this.sums[index]) continue;
            throw new LapidaryError('io', `'${this.name}' changed after its SHA-256 was compared; open it again`);
        }
        return bytes.slice(offset - start, offset - start + length);
    }

    async close(): Promise<void> {
        await this.source.close();
    }
}

/** By the platform where it offers that, which pages without https: do not have, nor has Node 18. */
async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
    const subtle = (globalThis.crypto as { subtle?: SubtleCrypto } | undefined)?.subtle;
    if (!subtle) {
        const hash = newSha256();
        hash.update(bytes);
        return hash.digest();
    }
    const digest = new Uint8Array(await subtle.digest('SHA-256', bytes));
    return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
