// Waits until so many bytes of a download are on the disk. Progress is told now and then; what is written can be counted.
import type { MemoryFs } from './memory-fs.js';

export async function arrived(fs: MemoryFs, bytes: number): Promise<void> {
    const have = async () => (await fs.list()).filter(({ name }) => name.endsWith('.part')).some(({ size }) => size >= bytes);
    while (!(await have())) await new Promise((resolve) => setImmediate(resolve));
}
