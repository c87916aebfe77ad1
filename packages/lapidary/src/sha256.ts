// SHA-256 of something larger than memory.
import { createSHA256 } from 'hash-wasm';
import { throwIfCancelled } from './error.js';
import type { WorkOptions } from './model.js';
import type { ByteSource } from './sources/source.js';

const pieceBytes = 4 * 1024 * 1024;

/** The digest in lowercase hexadecimal. */
export async function sha256(source: ByteSource, options: WorkOptions = {}): Promise<string> {
    const { onProgress, signal } = options;
    const hash = await createSHA256();
    for (let offset = 0; offset < source.size; offset += pieceBytes) {
        throwIfCancelled(signal);
        hash.update(await source.read(offset, Math.min(pieceBytes, source.size - offset), signal));
        onProgress?.({ done: Math.min(offset + pieceBytes, source.size), total: source.size });
    }
    return hash.digest('hex');
}
