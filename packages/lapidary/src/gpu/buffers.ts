// Memory on the GPU: making it, and the checks before something is moved in or out of it.
import { LapidaryError } from '../error.js';
import { bufferUsage } from './constants.js';
import type { GpuDevice } from './device.js';
import type { BufferEntry } from './resources.js';

/** What the engine can ask for: memory that kernels read and write. */
const storageUsage = 1;

export function createBuffer(gpu: GpuDevice, bytes: number, usage: number, label: string): BufferEntry {
    const limit = gpu.device.limits.maxBufferSize;
    const size = Math.ceil(bytes / 4) * 4; // copies move whole words
    if (!(bytes > 0) || !Number.isSafeInteger(size)) throw refused(`'${label}' cannot have ${bytes} bytes`);
    if (size > limit) throw refused(`'${label}' needs ${size} bytes, but a buffer of this GPU has at most ${limit}`);
    if (usage !== storageUsage) throw refused(`'${label}' has the unknown usage ${usage}`);
    // Memory that cannot be had is told later; the scope lets us say for what it was.
    gpu.device.pushErrorScope('out-of-memory');
    const flags = bufferUsage.storage | bufferUsage.copySource | bufferUsage.copyTarget;
    const buffer = gpu.device.createBuffer({ size, usage: flags, label });
    void gpu.device.popErrorScope().then(
        (error) => error && gpu.report(`the GPU has no ${size} bytes left for '${label}'`),
        () => undefined, // the device was lost, which says itself
    );
    return { kind: 'buffer', label, buffer, bytes: size };
}

/** The engine counts in words: WebGPU copies nothing smaller. */
export function checkBufferRange(entry: BufferEntry, offset: number, bytes: number): void {
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes) && offset >= 0 && bytes >= 0;
    if (!whole || offset % 4 !== 0 || bytes % 4 !== 0) {
        throw refused(`bytes ${offset} to ${offset + bytes} of '${entry.label}' are not whole words`);
    }
    if (offset + bytes > entry.bytes) {
        throw refused(`'${entry.label}' has ${entry.bytes} bytes, but bytes up to ${offset + bytes} were wanted`);
    }
}

function refused(sentence: string): LapidaryError {
    return new LapidaryError('invalid_argument', sentence);
}
