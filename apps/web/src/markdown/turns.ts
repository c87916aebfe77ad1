// How much Markdown may be read before the page gets its turn: together for all texts on it, since a conversation that is
// opened has many.
import type { Budget } from './reader.js';

const charactersAtOnce = 16_000;
const afterMs = 16;

export class Turns implements Budget {
    left = charactersAtOnce;
    private readonly waiting = new Set<() => void>();
    private alarm: unknown;

    constructor(private readonly later: (callback: () => void) => unknown = (callback) => setTimeout(callback, afterMs)) {}

    /** What was read now counts until the page had its turn. */
    spent(): void {
        if (this.left < charactersAtOnce) this.alarm ??= this.later(() => this.next());
    }

    /** Calls back when there is something left again; once. The function that is returned takes it back. */
    wait(callback: () => void): () => void {
        this.waiting.add(callback);
        this.alarm ??= this.later(() => this.next());
        return () => this.waiting.delete(callback);
    }

    private next(): void {
        this.alarm = undefined;
        this.left = charactersAtOnce;
        const waiting = [...this.waiting];
        this.waiting.clear();
        for (const callback of waiting) callback();
    }
}

export const turns = new Turns();
