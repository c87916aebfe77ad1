// Firefox looks only every 100 ms whether the GPU has finished, and also whenever something is submitted. So while somebody
// waits, empty lists of commands are submitted every few milliseconds.
import type { GpuDevice } from './device.js';

/** The pause before the first of them; later pauses are a part of the time that has been waited already. */
const firstMs = 4;
const part = 1 / 16;
/** Firefox looks this often by itself, so longer pauses would be of no use. */
const lastMs = 100;

/** What has to do with time, so that tests can have their own. */
export interface Alarm {
    set(callback: () => void, ms: number): unknown;
    clear(alarm: unknown): void;
}

const timers: Alarm = {
    set: (callback, ms) => setTimeout(callback, ms),
    clear: (timer) => clearTimeout(timer as ReturnType<typeof setTimeout>),
};

export class Impatience {
    private waiting = 0;
    private waitedMs = 0;
    private alarm: unknown;

    constructor(
        private readonly gpu: Pick<GpuDevice, 'device' | 'gone'>,
        private readonly alarms: Alarm = timers,
    ) {}

    /** The answer to something that was submitted, as soon as it can be had. */
    async until<Result>(answer: Promise<Result>): Promise<Result> {
        this.waiting++;
        // Somebody new waits, perhaps for something short: begin with short pauses again.
        this.waitedMs = 0;
        this.rest();
        this.ask();
        try {
            return await answer;
        } finally {
            this.waiting--;
            this.waitedMs = 0;
            if (this.waiting === 0) this.rest();
        }
    }

    private ask(): void {
        const ms = Math.max(firstMs, this.waitedMs * part);
        if (ms > lastMs) return this.rest();
        this.alarm = this.alarms.set(() => {
            this.waitedMs += ms;
            if (this.waiting === 0 || this.gpu.gone !== undefined) return this.rest();
            try {
                this.gpu.device.queue.submit([]);
            } catch {
                return this.rest(); // whatever is wrong, the answer itself tells
            }
            this.ask();
        }, ms);
    }

    private rest(): void {
        if (this.alarm !== undefined) this.alarms.clear(this.alarm);
        this.alarm = undefined;
    }
}
