// How far a download is, how fast it goes and how long it will take.
import type { Progress } from '../work.js';

export type CacheStateName =
    /** Another tab downloads the same file; its progress is shown. */
    | 'waiting'
    /** What is on disk already is looked at. */
    | 'checking'
    | 'downloading'
    /** The connection broke off; it goes on after a pause. */
    | 'retrying'
    | 'verifying'
    | 'ready';

export interface CacheProgress extends Progress {
    state: CacheStateName;
    /** For people. */
    name: string;
    /** Bytes a second, over the last seconds; 0 when nothing is known. */
    rate: number;
    /** Undefined when nothing is known. */
    etaSeconds: number | undefined;
    /** With `retrying`: why, and for how long. */
    pause?: { reason: string; seconds: number };
}

const pauseMs = 100;
const windowMs = 5000;

/** Turns every step into a report now and then, and always at a change of state. */
export class ProgressMeter {
    /** Goes into every report. */
    note: string | undefined;
    private state: CacheStateName | undefined;
    private lastReport = -Infinity;
    private samples: { time: number; done: number }[] = [];

    constructor(
        private readonly name: string,
        private readonly report: (progress: CacheProgress) => void,
        private readonly now: () => number = () => performance.now(),
    ) {}

    step(state: CacheStateName, done: number, total: number, pause?: { reason: string; seconds: number }): void {
        const time = this.now();
        if (state !== this.state) {
            this.state = state;
            this.samples = [];
            this.lastReport = -Infinity;
        }
        if (time - this.lastReport < pauseMs && done < total) return;
        this.lastReport = time;
        this.samples.push({ time, done });
        while (this.samples.length > 2 && time - (this.samples[0]?.time ?? time) > windowMs) this.samples.shift();
        const rate = this.rate();
        const etaSeconds = rate > 0 ? (total - done) / rate : undefined;
        const why = pause ? { pause } : {};
        this.report({ state, name: this.name, done, total, rate, etaSeconds, note: this.note, ...why });
    }

    private rate(): number {
        const first = this.samples[0];
        const last = this.samples.at(-1);
        if (!first || !last || last.time === first.time) return 0;
        return ((last.done - first.done) / (last.time - first.time)) * 1000;
    }
}
