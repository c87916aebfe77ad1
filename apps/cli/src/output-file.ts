// OUT on the command line: a file that is not overwritten by accident.
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
