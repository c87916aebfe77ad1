// A server of one file, in memory, that counts what it is asked for and breaks off on request.
import type { RemoteSource } from '../cache/remote.js';
import { Passing } from '../sources/http.js';
import { checkRange } from '../sources/source.js';

export class FakeRemote implements RemoteSource {
    readonly name = 'model.gguf';
    readonly address = 'https://example.org/model.gguf';
    /** Every range that was asked for, as [offset, length]. */
    requests: [number, number][] = [];
    /** Bytes handed out. */
    served = 0;
    /** Each connection breaks off after so many bytes. */
    breakAfter = Infinity;
    /** From now on so many connections fail at once. */
    refuse = 0;
    pieceBytes = 700;
    onPiece: (() => void | Promise<void>) | undefined;

    constructor(
        public bytes: Uint8Array,
        public etag: string | null = '"1"',
        public modified: string | null = null,
    ) {}

    get size(): number {
        return this.bytes.length;
    }

    async read(offset: number, length: number): Promise<Uint8Array> {
        checkRange(this, offset, length);
        this.requests.push([offset, length]);
        this.served += length;
        return this.bytes.slice(offset, offset + length);
    }

    async *stream(offset: number, length: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
        checkRange(this, offset, length);
        this.requests.push([offset, length]);
        if (this.refuse > 0) {
            this.refuse--;
            throw new Passing('refused');
        }
        const end = offset + length;
        for (let at = offset, sent = 0; at < end; ) {
            const count = Math.min(this.pieceBytes, end - at, this.breakAfter - sent);
            if (count <= 0) throw new Passing('broken off');
            await this.onPiece?.();
            signal?.throwIfAborted();
            this.served += count;
            yield this.bytes.slice(at, at + count);
            at += count;
            sent += count;
        }
    }

    async close(): Promise<void> {}
}

/** Bytes that look random and are always the same. */
export function noise(length: number, seed = 1): Uint8Array {
    let state = seed >>> 0 || 1;
    return Uint8Array.from({ length }, () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state >>> 24;
    });
}
