// One thing at a time, in the order of asking: the engine has one device, and two answers at once would only make both
// slower.
import { LapidaryError, cancelledError } from '../error.js';

interface Waiting {
    enter(): void;
    leave(error: LapidaryError): void;
}

export class Turns {
    private readonly waiting: Waiting[] = [];
    private readonly watching = new Set<() => void>();
    private busy = false;
    private closed: LapidaryError | undefined;

    /** Runs `work` when its turn has come; whoever loses patience before leaves the queue. */
    async take<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
        await this.enter(signal);
        try {
            return await work();
        } finally {
            const next = this.waiting.shift();
            if (next) next.enter();
            else this.busy = false;
        }
    }

    /** Calls back whenever somebody begins to wait, for work that can be interrupted; the result ends that. */
    onWaiting(listener: () => void): () => void {
        this.watching.add(listener);
        return () => void this.watching.delete(listener);
    }

    /** Everybody who waits is sent away, and nobody enters any more. */
    close(error: LapidaryError): void {
        this.closed = error;
        for (const waiting of this.waiting.splice(0)) waiting.leave(error);
    }

    private async enter(signal: AbortSignal | undefined): Promise<void> {
        if (this.closed) throw this.closed;
        if (signal?.aborted) throw cancelledError();
        if (!this.busy) {
            this.busy = true;
            return;
        }
        await new Promise<void>((resolve, reject) => {
            const giveUp = () => entry.leave(cancelledError());
            const entry: Waiting = {
                enter: () => {
                    signal?.removeEventListener('abort', giveUp);
                    resolve();
                },
                leave: (error) => {
                    signal?.removeEventListener('abort', giveUp);
                    const place = this.waiting.indexOf(entry);
                    if (place >= 0) this.waiting.splice(place, 1);
                    reject(error);
                },
            };
            this.waiting.push(entry);
            for (const watching of [...this.watching]) watching();
            signal?.addEventListener('abort', giveUp);
        });
    }
}
