// Ctrl-C and friends. The first one asks the work to stop, so that it can clean up; the second one does not ask.
import type { FileSink } from 'lapidary/node';
import { exitStatus } from './errors.js';

const unfinished = new Set<FileSink>();

// Also reached by a second Ctrl-C and by errors nobody caught: half a file is worse than none.
process.on('exit', () => {
    for (const sink of unfinished) sink.discardSync();
});

/** Runs `work` with a file that is kept only if `work` succeeds, whatever else happens. */
export async function withSink<Result>(sink: FileSink, work: () => Promise<Result>): Promise<Result> {
    unfinished.add(sink);
    try {
        const result = await work();
        await sink.commit();
        return result;
    } catch (error) {
        await sink.discard();
        throw error;
    } finally {
        unfinished.delete(sink);
    }
}

export class Interrupts {
    private controller = new AbortController();
    private status: number = exitStatus.interrupted;
    private readonly listeners: [NodeJS.Signals, () => void][];

    constructor() {
        const listen = (signal: NodeJS.Signals, status: number): [NodeJS.Signals, () => void] => {
            const listener = () => this.interrupt(status);
            process.on(signal, listener);
            return [signal, listener];
        };
        this.listeners = [
            listen('SIGINT', exitStatus.interrupted),
            listen('SIGTERM', exitStatus.terminated),
            listen('SIGHUP', exitStatus.terminated),
        ];
    }

    get signal(): AbortSignal {
        return this.controller.signal;
    }

    /** With which status to end after the signal was followed. */
    get exitStatus(): number {
        return this.status;
    }

    interrupt(status: number = exitStatus.interrupted): void {
        if (this.controller.signal.aborted) process.exit(status);
        this.status = status;
        this.controller.abort();
    }

    /** A program that goes on after an interruption (a chat) gets a new signal for its next piece of work. */
    renew(): void {
        if (this.controller.signal.aborted) this.controller = new AbortController();
    }

    stopListening(): void {
        for (const [signal, listener] of this.listeners) process.off(signal, listener);
    }
}
