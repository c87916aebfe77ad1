// Which kernels there are.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { root } from './process.js';

/** Every file with an entry point is one. */
export async function kernelNames(): Promise<string[]> {
    const names: string[] = [];
    for (const folder of ['', 'train'].map((name) => path.join(root, 'engine', 'kernels', name))) {
        const files = (await fs.readdir(folder)).filter((name) => name.endsWith('.wgsl'));
        const texts = await Promise.all(files.map((name) => fs.readFile(path.join(folder, name), 'utf8')));
        names.push(...files.filter((_, i) => texts[i]?.includes('@compute')).map((name) => name.replace('.wgsl', '')));
    }
    return names;
}
