// SHA-256 of something larger than memory.
import { throwIfCancelled } from '../error.js';
import type { ByteSource } from '../sources/source.js';
import type { WorkOptions } from '../work.js';
import { newSha256 } from './hasher.js';

const pieceBytes = 4 * 1024 * 1024;

/** The digest in lowercase hexadecimal. */
export async function sha256(source: ByteSource, options: WorkOptions = {}): Promise<string> {
    const { onProgress, signal } = options;
    const hash = newSha256();
    for (let offset = 0; offset < source.size; offset += pieceBytes) {
        throwIfCancelled(signal);
        hash.update(await source.read(offset, Math.min(pieceBytes, source.size - offset), signal));
        onProgress?.({ done: Math.min(offset + pieceBytes, source.size), total: source.size });
    }
    return hash.digest();
}
