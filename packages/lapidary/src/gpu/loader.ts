// Weights from a source to the GPU, in pieces: never more than a few MiB of them are in memory, however large a model
// is, and the next pieces are read while the ones before are on their way.
import { throwIfCancelled } from '../error.js';
import { readExactly, type ByteSource } from '../sources/source.js';
import { checkBufferRange } from './buffers.js';
import type { GpuDevice } from './device.js';
import type { Impatience } from './impatience.js';
import type { BufferEntry } from './resources.js';

const mebibyte = 1024 * 1024;
/** All loads together. */
const mostInFlight = 16 * mebibyte;
/** Four at a time: enough to hide the waiting for a disk or a server, and few requests for a large model. */
const largestPiece = 4 * mebibyte;

export class Loader {
    private readonly room = new Room(mostInFlight);

    constructor(
        private readonly gpu: GpuDevice,
        private readonly impatience: Impatience,
    ) {}

    /** Done when the queue has taken all bytes: whatever is submitted afterwards sees them. */
    async load(
        source: ByteSource,
        sourceOffset: number,
        bytes: number,
        target: BufferEntry,
        offset: number,
        signal: AbortSignal,
    ): Promise<void> {
        checkBufferRange(target, offset, bytes);
        // One piece that fails stops the others of this load.
        const stop = new AbortController();
        const stopAll = () => stop.abort();
        signal.addEventListener('abort', stopAll);
        if (signal.aborted) stopAll();
        let failure: { error: unknown } | undefined;
        const fail = (error: unknown) => {
            failure ??= { error };
            stop.abort();
        };
        const pieces: Promise<void>[] = [];
        for (let done = 0; done < bytes && !failure; ) {
            const length = Math.min(largestPiece, bytes - done);
            await this.room.take(length);
            pieces.push(this.move(source, sourceOffset + done, length, target, offset + done, stop.signal).catch(fail));
            done += length;
        }
        await Promise.all(pieces);
        signal.removeEventListener('abort', stopAll);
        if (failure) throw failure.error;
    }

    /** Gives its room back once the GPU has the bytes, which may be after it returned. */
    private async move(
        source: ByteSource,
        sourceOffset: number,
        length: number,
        target: BufferEntry,
        offset: number,
        signal: AbortSignal,
    ): Promise<void> {
        const { gpu, impatience, room } = this;
        const giveBack = () => room.giveBack(length);
        try {
            throwIfCancelled(signal);
            const bytes = await readExactly(source, sourceOffset, length, signal);
            throwIfCancelled(signal); // a source may have missed it, and the buffer may be gone
            gpu.throwIfGone();
            gpu.device.queue.writeBuffer(target.buffer, offset, bytes);
        } catch (error) {
            giveBack();
            throw error;
        }
        impatience.until(gpu.device.queue.onSubmittedWorkDone()).then(giveBack, giveBack);
    }
}

/** A number of bytes that may be in use at a time; who asks for more waits for its turn. */
class Room {
    private readonly waiting: { bytes: number; enter: () => void }[] = [];

    constructor(private left: number) {}

    async take(bytes: number): Promise<void> {
        if (this.waiting.length === 0 && bytes <= this.left) {
            this.left -= bytes;
            return;
        }
        await new Promise<void>((enter) => this.waiting.push({ bytes, enter }));
    }

    giveBack(bytes: number): void {
        this.left += bytes;
        for (let next = this.waiting[0]; next && next.bytes <= this.left; next = this.waiting[0]) {
            this.waiting.shift();
            this.left -= next.bytes;
            next.enter();
        }
    }
}
