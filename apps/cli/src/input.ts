// Text and token ids that come from files or from standard input.
import { promises as fs } from 'node:fs';
import { LapidaryError, throwIfCancelled } from 'lapidary';
import { fileError } from 'lapidary/node';

// More text than any context holds, and far less than what would fill the memory.
const largestText = 256 * 1024 * 1024;

export async function readTextFile(file: string): Promise<string> {
    return decodeText(await readBinaryFile(file), `'${file}'`);
}

export async function readBinaryFile(file: string): Promise<Buffer> {
    try {
        const status = await fs.stat(file);
        if (status.size > largestText) throw tooLarge(`'${file}'`);
        return await fs.readFile(file);
    } catch (error) {
        throw fileError(error, file, 'read');
    }
}

/** A list of token ids as little-endian int32. */
export async function readTokens(file: string): Promise<number[]> {
    const bytes = await readBinaryFile(file);
    if (bytes.length % 4 !== 0) {
        throw new LapidaryError('bad_file', `'${file}' is not a list of 4-byte token ids: it has ${bytes.length} bytes`);
    }
    return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(i * 4));
}

export async function readStandardInput(signal: AbortSignal): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    // Somebody who is asked for text and presses Ctrl-C instead should not have to press it twice.
    const stop = () => process.stdin.destroy();
    signal.addEventListener('abort', stop);
    try {
        for await (const chunk of process.stdin) {
            const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
            size += bytes.length;
            if (size > largestText) throw tooLarge('the standard input');
            chunks.push(bytes);
        }
    } catch (error) {
        throwIfCancelled(signal);
        throw fileError(error, 'the standard input', 'read');
    } finally {
        signal.removeEventListener('abort', stop);
    }
    throwIfCancelled(signal);
    return decodeText(Buffer.concat(chunks), 'the standard input');
}

/** Silently replaced characters would be other tokens than the person thinks. */
function decodeText(bytes: Uint8Array, what: string): string {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
        throw new LapidaryError('bad_file', `${what} is not UTF-8 text`, { cause });
    }
}

function tooLarge(what: string): LapidaryError {
    return new LapidaryError('limit', `${what} is larger than ${largestText / 2 ** 20} MiB`);
}
