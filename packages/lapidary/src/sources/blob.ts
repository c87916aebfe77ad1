// A File the person picked, or any Blob: the browser reads slices of it from disk on demand.
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import { checkRange, type ByteSource } from './source.js';

export class BlobSource implements ByteSource {
    readonly name: string;

    constructor(
        private readonly blob: Blob,
        name?: string,
    ) {
        // Only a File has a name.
        const ownName = 'name' in blob && typeof blob.name === 'string' ? blob.name : undefined;
        this.name = name ?? ownName ?? 'blob';
    }

    get size(): number {
        return this.blob.size;
    }

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        checkRange(this, offset, length);
        throwIfCancelled(signal);
        let bytes: Uint8Array;
        try {
            bytes = new Uint8Array(await this.blob.slice(offset, offset + length).arrayBuffer());
        } catch (cause) {
            // Browsers refuse a File that was changed or deleted after it was picked.
            throw new LapidaryError('io', `'${this.name}' could not be read: ${messageOf(cause)}`, { cause });
        }
        if (bytes.length !== length) {
            throw new LapidaryError('truncated', `'${this.name}' became shorter while it was read`);
        }
        return bytes;
    }

    async close(): Promise<void> {}
}
