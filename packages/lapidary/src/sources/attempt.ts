// One connection and the pause before the next.
import { cancelledError } from '../error.js';

/** A failure that may pass: worth another attempt, unlike a 404 or a file that changed. */
export class Passing extends Error {
    constructor(
        message: string,
        options?: { cause?: unknown },
        /** What the server asked for: it is not tried again before. */
        readonly waitSeconds?: number,
    ) {
        super(message, options);
    }
}

/** One connection: ends when the caller stops, the source closes, or nothing was heard for too long. */
export class Attempt {
    timedOut = false;
    private readonly controller = new AbortController();
    private readonly stop = () => this.controller.abort();
    private timer: ReturnType<typeof setTimeout>;

    constructor(
        private readonly timeoutMs: number,
        private readonly stops: readonly AbortSignal[],
    ) {
        for (const signal of stops) signal.addEventListener('abort', this.stop);
        this.timer = this.startTimer();
    }

    get signal(): AbortSignal {
        return this.controller.signal;
    }

    heard(): void {
        clearTimeout(this.timer);
        this.timer = this.startTimer();
    }

    end(): void {
        clearTimeout(this.timer);
        for (const signal of this.stops) signal.removeEventListener('abort', this.stop);
    }

    private startTimer(): ReturnType<typeof setTimeout> {
        return setTimeout(() => {
            this.timedOut = true;
            this.controller.abort();
        }, this.timeoutMs);
    }
}

export async function pause(milliseconds: number, stops: readonly AbortSignal[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
        const finish = (settle: () => void) => {
            clearTimeout(timer);
            for (const signal of stops) signal.removeEventListener('abort', stop);
            settle();
        };
        const stop = () => finish(() => reject(cancelledError()));
        const timer = setTimeout(() => finish(resolve), milliseconds);
        for (const signal of stops) signal.addEventListener('abort', stop);
    });
}
