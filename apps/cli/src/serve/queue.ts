// Who may use the engine next. There is one engine and it does one thing at a time; the rest wait in a line that is
// fair (clients take turns, however many requests each has sent) and short (beyond a limit it is kinder to say no).
import { cancelledError } from 'lapidary';
import { HttpError } from './errors.js';

export interface QueueLimits {
    /** Requests that may wait. */
    waiting: number;
    /** Requests of one client that may wait: others should always find some room. */
    perClient: number;
}

interface Waiter {
    admit(): void;
    refuse(error: unknown): void;
}

/** Gives the turn back. Calling it again does nothing. */
export type Release = () => void;

export class FairQueue {
    /** In the order in which clients have their turn. No list is empty. */
    private readonly lines = new Map<string, Waiter[]>();
    private waitingCount = 0;
    private busy = false;
    private closedBy: HttpError | undefined;
    private idleListeners: (() => void)[] = [];

    constructor(private readonly limits: QueueLimits) {}

    get waiting(): number {
        return this.waitingCount;
    }

    get running(): boolean {
        return this.busy;
    }

    /** Resolves when it is this request's turn, which lasts until the release. */
    async enter(client: string, signal: AbortSignal): Promise<Release> {
        if (signal.aborted) throw cancelledError();
        if (this.closedBy) throw this.closedBy;
        if (!this.busy) return this.take();
        if (this.waitingCount >= this.limits.waiting) throw this.full(503, 'the server is busy');
        if ((this.lines.get(client)?.length ?? 0) >= this.limits.perClient) {
            throw this.full(429, 'too many of your requests wait already');
        }
        return await this.wait(client, signal);
    }

    /** From now on nobody is let in, and those who wait are told why. */
    close(reason: HttpError): void {
        this.closedBy = reason;
        const waiters = [...this.lines.values()].flat();
        for (const waiter of waiters) waiter.refuse(reason);
    }

    /** Resolves when nothing runs. */
    async idle(): Promise<void> {
        if (this.busy) await new Promise<void>((resolve) => this.idleListeners.push(resolve));
    }

    private full(status: number, sentence: string): HttpError {
        // A guess, but one that grows with the line.
        const retryAfter = Math.min(60, 1 + Math.ceil(this.waitingCount / 8));
        return new HttpError(status, `${sentence}; try again in ${retryAfter} s`, { code: 'busy', retryAfter });
    }

    private wait(client: string, signal: AbortSignal): Promise<Release> {
        return new Promise((resolve, reject) => {
            const leave = () => waiter.refuse(cancelledError());
            const waiter: Waiter = {
                admit: () => {
                    signal.removeEventListener('abort', leave);
                    resolve(this.take());
                },
                refuse: (error) => {
                    signal.removeEventListener('abort', leave);
                    this.remove(client, waiter);
                    reject(error);
                },
            };
            signal.addEventListener('abort', leave);
            const line = this.lines.get(client);
            if (line) line.push(waiter);
            else this.lines.set(client, [waiter]);
            this.waitingCount++;
        });
    }

    private remove(client: string, waiter: Waiter): void {
        const line = this.lines.get(client) ?? [];
        const place = line.indexOf(waiter);
        if (place < 0) return;
        line.splice(place, 1);
        if (line.length === 0) this.lines.delete(client);
        this.waitingCount--;
    }

    private take(): Release {
        this.busy = true;
        let released = false;
        return () => {
            if (released) return;
            released = true;
            this.next();
        };
    }

    private next(): void {
        this.busy = false;
        const [turn] = this.lines;
        if (!turn) {
            for (const listener of this.idleListeners.splice(0)) listener();
            return;
        }
        const [client, line] = turn;
        const waiter = line.shift();
        this.waitingCount--;
        // Behind everybody else: the next turn is another client's.
        this.lines.delete(client);
        if (line.length > 0) this.lines.set(client, line);
        waiter?.admit();
    }
}
