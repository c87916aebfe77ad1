// OUT on the command line: a file that is not overwritten by accident.
import { promises as fs } from 'node:fs';
import { LapidaryError } from 'lapidary';
import { FileSink } from 'lapidary/node';

export async function createOutput(file: string, force: boolean): Promise<FileSink> {
    try {
        return await FileSink.create(file, { overwrite: force });
    } catch (error) {
        if (error instanceof LapidaryError && error.message.endsWith('exists already')) {
            throw new LapidaryError(error.code, `${error.message}; --force overwrites it`);
        }
        throw error;
    }
}

export async function isSameFile(a: string, b: string): Promise<boolean> {
    try {
        const [first, second] = await Promise.all([fs.stat(a), fs.stat(b)]);
        return first.dev === second.dev && first.ino === second.ino;
    } catch {
        return false; // one of them does not exist
    }
}
