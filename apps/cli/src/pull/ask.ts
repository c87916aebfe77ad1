// A question with the answer yes or no, where somebody is there to answer.
import { createInterface } from 'node:readline/promises';
import { cancelledError } from 'lapidary';

/** Whether there is somebody to ask. */
export function canAsk(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
}

/** Anything but a yes is a no. */
export async function askYesNo(question: string, signal: AbortSignal): Promise<boolean> {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
        return /^\s*y(es)?\s*$/i.test(await lines.question(`${question} [y/N] `, { signal }));
    } catch (error) {
        if (signal.aborted) throw cancelledError();
        throw error;
    } finally {
        lines.close();
    }
}
