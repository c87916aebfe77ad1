// A sink that keeps what is written.
import type { ByteSink } from 'lapidary';

export class MemorySink implements ByteSink {
    private readonly pieces: { offset: number; bytes: Uint8Array }[] = [];

    async write(offset: number, bytes: Uint8Array): Promise<void> {
        this.pieces.push({ offset, bytes: bytes.slice() });
    }

    bytes(): Uint8Array<ArrayBuffer> {
        const all = new Uint8Array(Math.max(0, ...this.pieces.map(({ offset, bytes }) => offset + bytes.length)));
        for (const { offset, bytes } of this.pieces) all.set(bytes, offset);
        return all;
    }

    floats(): Float32Array {
        return new Float32Array(this.bytes().buffer);
    }
}
