// Checksums against accidents, not against people: whoever can write the file can also write its checksums. What
// comes from the network is proven by SHA-256.
import { createXXHash64, xxhash64 } from 'hash-wasm';

/** One checksum after the other, with one hasher. 16 hexadecimal digits. */
export type Checksum = (bytes: Uint8Array) => string;

/** XXH64: several GB/s in WebAssembly, so that checking costs less than reading. */
export async function makeChecksum(): Promise<Checksum> {
    const hasher = await createXXHash64();
    return (bytes) => hasher.init().update(bytes).digest('hex');
}

/** Names a text of any length in 16 hexadecimal digits. */
export async function shortName(text: string): Promise<string> {
    return await xxhash64(text);
}

/** FNV-1a over UTF-16 units, for single lines of text; 8 hexadecimal digits. */
export function lineChecksum(line: string): string {
    let hash = 0x811c9dc5;
    for (let i = 0; i < line.length; i++) {
        hash = Math.imul(hash ^ line.charCodeAt(i), 0x01000193);
    }
    return (hash >>> 0).toString(16).padStart(8, '0');
}
