// Files in one file: a zip whose members are stored as they are. Weights do not get smaller by packing.
import type { ExportedFile } from './calls.js';

const table = Uint32Array.from({ length: 256 }, (_, n) => {
    let value = n;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
});

export function crc32(bytes: Uint8Array): number {
    let crc = 0xffffffff;
    for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 255] ?? 0);
    return ~crc >>> 0;
}

/** Numbers in little-endian order, each with how many bytes it takes. */
function packed(...numbers: readonly [value: number, bytes: 2 | 4][]): Uint8Array {
    const out: number[] = [];
    for (const [value, bytes] of numbers) {
        for (let i = 0; i < bytes; i++) out.push(Math.floor(value / 2 ** (8 * i)) & 255);
    }
    return Uint8Array.from(out);
}

/** Names are UTF-8; a zip without 64-bit sizes, so below 4 GiB. */
export function zip(files: readonly ExportedFile[]): Uint8Array<ArrayBuffer> {
    const encoder = new TextEncoder();
    const parts: Uint8Array[] = [];
    const directory: Uint8Array[] = [];
    const sizeOf = (list: readonly Uint8Array[]) => list.reduce((sum, { length }) => sum + length, 0);
    for (const { name, bytes } of files) {
        const label = encoder.encode(name);
        const offset = sizeOf(parts);
        // Version 2.0, names in UTF-8, stored, the first day there is (1980-01-01), checksum, sizes, no extra field.
        const common: [number, 2 | 4][] = [
            [20, 2],
            [0x0800, 2],
            [0, 2],
            [0, 2],
            [0x21, 2],
            [crc32(bytes), 4],
            [bytes.length, 4],
            [bytes.length, 4],
            [label.length, 2],
            [0, 2],
        ];
        parts.push(packed([0x04034b50, 4], ...common), label, bytes);
        directory.push(
            packed([0x02014b50, 4], [20, 2], ...common, [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4]),
            label,
        );
    }
    const [start, length, count] = [sizeOf(parts), sizeOf(directory), files.length];
    parts.push(
        ...directory,
        packed([0x06054b50, 4], [0, 2], [0, 2], [count, 2], [count, 2], [length, 4], [start, 4], [0, 2]),
    );
    const out = new Uint8Array(sizeOf(parts));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}
