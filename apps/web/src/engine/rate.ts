// How fast something comes and when it will be there, from what was seen in the last seconds.
import type { TransferProgress } from './protocol.js';

const windowMs = 4000;
// The first moments say nothing: a connection is still warming up.
const leastMs = 600;

export class RateMeter {
    private samples: { at: number; done: number }[] = [];

    measure(done: number, total: number, now = performance.now()): TransferProgress {
        // Something else began, such as the next file.
        if (done < (this.samples.at(-1)?.done ?? 0)) this.samples = [];
        const last = this.samples.at(-1);
        if (!last || now - last.at > 100 || done >= total) this.samples.push({ at: now, done });
        while (this.samples.length > 2 && now - (this.samples[0]?.at ?? now) > windowMs) this.samples.shift();
        const first = this.samples[0];
        if (!first || now - first.at < leastMs || done <= first.done) return { done, total };
        const rate = ((done - first.done) / (now - first.at)) * 1000;
        return total > 0 ? { done, total, rate, secondsLeft: Math.max(0, total - done) / rate } : { done, total, rate };
    }
}
