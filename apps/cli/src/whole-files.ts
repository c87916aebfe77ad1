// Files that are there whole or not at all.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { fileError } from 'lapidary/node';

/** All of them or none: what was there before stays until the new ones are on the disk, beside it. */
export async function writeWhole(folder: string, files: readonly { name: string; bytes: Uint8Array }[]): Promise<void> {
    const places = files.map(({ name, bytes }) => ({ file: path.join(folder, name), bytes }));
    const beside = (file: string) => `${file}.new`;
    let current = folder;
    try {
        for (const { file, bytes } of places) {
            current = file;
            await writeThrough(beside(file), bytes);
        }
        for (const { file } of places) {
            current = file;
            await fs.rename(beside(file), file);
        }
    } catch (error) {
        await Promise.allSettled(places.map(({ file }) => fs.rm(beside(file), { force: true })));
        throw fileError(error, current, 'written');
    }
}

/** Some disks take every byte and report only when the data is flushed that they were full. */
async function writeThrough(file: string, bytes: Uint8Array): Promise<void> {
    const handle = await fs.open(file, 'w');
    try {
        await handle.writeFile(bytes);
        await handle.datasync();
    } finally {
        await handle.close();
    }
}
