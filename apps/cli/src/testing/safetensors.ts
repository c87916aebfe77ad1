// Reads one tensor of the expected values: an 8-byte length, a JSON header, then the data.
import { promises as fs } from 'node:fs';

interface Entry {
    dtype: string;
    data_offsets: [number, number];
}

export async function readTensor(file: string, name: string): Promise<Float32Array> {
    const bytes = await fs.readFile(file);
    const headerBytes = Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, 8 + headerBytes).toString()) as Record<string, Entry | undefined>;
    const entry = header[name];
    if (!entry) throw new Error(`${file} has no tensor ${name}`);
    const [first, last] = entry.data_offsets;
    const data = bytes.subarray(8 + headerBytes + first, 8 + headerBytes + last);
    return Float32Array.from({ length: data.length / 4 }, (_, i) =>
        entry.dtype === 'I32' ? data.readInt32LE(i * 4) : data.readFloatLE(i * 4),
    );
}
