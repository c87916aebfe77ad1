// Tabs of one origin share one cache: only one of them downloads a file, and the others can watch.
import { cancelledError, throwIfCancelled } from '../error.js';
import type { CacheProgress } from './progress.js';

export interface LockOptions {
    signal?: AbortSignal | undefined;
    /** Do not wait: undefined when somebody else has it. */
    ifFree?: boolean;
}

export interface Locks {
    /** Runs `work` while nobody else holds the name. */
    hold<T>(name: string, work: () => Promise<T>, options?: LockOptions): Promise<T | undefined>;
}

let localLocks: LocalLocks | undefined;

/** Across tabs where the browser has Web Locks; else in this page, and exclusive file handles keep the others off. */
export function defaultLocks(): Locks {
    const manager = typeof navigator === 'undefined' ? undefined : (navigator as { locks?: LockManager }).locks;
    return manager ? new WebLocks(manager) : (localLocks ??= new LocalLocks());
}

class WebLocks implements Locks {
    constructor(private readonly manager: LockManager) {}

    async hold<T>(name: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T | undefined> {
        const { signal, ifFree } = options;
        throwIfCancelled(signal);
        let began = false;
        const run = async (lock: Lock | null) => {
            if (!lock) return undefined;
            began = true;
            return await work();
        };
        try {
            // Web Locks refuse `ifAvailable` together with a `signal`. The former never waits, so nothing need stop it.
            return await this.manager.request(name, ifFree ? { ifAvailable: true } : signal ? { signal } : {}, run);
        } catch (error) {
            if (!began && signal?.aborted) throw cancelledError();
            throw error;
        }
    }
}

export class LocalLocks implements Locks {
    private readonly queues = new Map<string, Promise<void>>();

    async hold<T>(name: string, work: () => Promise<T>, options: LockOptions = {}): Promise<T | undefined> {
        const before = this.queues.get(name);
        if (before && options.ifFree) return undefined;
        let release = (): void => undefined;
        const mine = new Promise<void>((resolve) => (release = resolve));
        const tail = (before ?? Promise.resolve()).then(() => mine);
        const leave = () => this.queues.get(name) === tail && this.queues.delete(name);
        this.queues.set(name, tail);
        let held = false;
        try {
            if (before) await untilAborted(before, options.signal);
            held = true;
            throwIfCancelled(options.signal);
            return await work();
        } finally {
            release();
            // Who gave up waiting still has others in front of them: the next in line has to wait for those.
            if (held) leave();
            else void tail.then(leave);
        }
    }
}

async function untilAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    if (!signal) return await promise;
    let stop = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => (stop = () => reject(cancelledError())));
    signal.addEventListener('abort', stop);
    try {
        throwIfCancelled(signal);
        await Promise.race([promise, aborted]);
    } finally {
        signal.removeEventListener('abort', stop);
    }
}

/** Progress as other tabs can see it. */
export class ProgressChannel {
    private readonly channel: BroadcastChannel | undefined;

    /** `heard` gets what others say about the same file. */
    constructor(
        private readonly id: string,
        heard: (progress: CacheProgress) => void,
    ) {
        if (typeof BroadcastChannel === 'undefined') return;
        this.channel = new BroadcastChannel('lapidary-cache');
        // In Node an open channel would keep the program from ending.
        (this.channel as { unref?: () => void }).unref?.();
        this.channel.onmessage = ({ data }: MessageEvent<{ id?: string; progress?: CacheProgress }>) => {
            if (data?.id === this.id && data.progress) heard(data.progress);
        };
    }

    tell(progress: CacheProgress): void {
        this.channel?.postMessage({ id: this.id, progress });
    }

    close(): void {
        this.channel?.close();
    }
}
