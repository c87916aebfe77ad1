// Bytes from the GPU: copied to a buffer that the CPU may look at, and from there to whoever asked.
import { bufferUsage, mapModeRead } from './constants.js';
import type { GpuDevice } from './device.js';
import type { Impatience } from './impatience.js';

const smallest = 256;
/** A pool is for the small reads of every token; what is larger is rare and is not kept. */
const largestKept = 4 * 1024 * 1024;
const mostKept = 8;

export class Readback {
    private free: GPUBuffer[] = [];

    constructor(
        private readonly gpu: GpuDevice,
        private readonly impatience: Impatience,
    ) {}

    /**
     * `encode` puts commands that fill the buffer it is given. They are submitted before this returns, so that what is
     * read is what was there at this moment, whatever is submitted next. `use` gets the bytes; they are gone afterwards.
     */
    async read(
        bytes: number,
        encode: (encoder: GPUCommandEncoder, target: GPUBuffer) => void,
        use: (bytes: ArrayBuffer) => void,
    ): Promise<void> {
        const { gpu } = this;
        gpu.throwIfGone();
        const staging = this.take(bytes);
        try {
            const encoder = gpu.device.createCommandEncoder();
            encode(encoder, staging);
            gpu.device.queue.submit([encoder.finish()]);
            await this.impatience.until(staging.mapAsync(mapModeRead, 0, bytes));
        } catch (error) {
            staging.destroy();
            throw await gpu.explain(error, 'reading from the GPU');
        }
        try {
            use(staging.getMappedRange(0, bytes));
        } finally {
            staging.unmap();
            this.giveBack(staging);
        }
    }

    /** Sizes are powers of two, so that reads of slightly different lengths can share a buffer. */
    private take(bytes: number): GPUBuffer {
        let size = smallest;
        while (size < bytes) size *= 2;
        if (size > largestKept) size = bytes;
        const index = this.free.findIndex((buffer) => buffer.size === size);
        const found = this.free[index];
        if (found) {
            this.free.splice(index, 1);
            return found;
        }
        const usage = bufferUsage.mapRead | bufferUsage.copyTarget;
        return this.gpu.device.createBuffer({ size, usage, label: 'readback' });
    }

    private giveBack(buffer: GPUBuffer): void {
        if (buffer.size > largestKept || this.gpu.gone !== undefined) return buffer.destroy();
        this.free.push(buffer);
        if (this.free.length > mostKept) this.free.shift()?.destroy();
    }
}
