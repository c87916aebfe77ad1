// A download as a person sees it: it has a state to show, can be paused and gone on with, and waits by itself for a
// network that is gone or a source that is busy.
import { pause as waitFor } from '../cache/pause.js';
import { LocalLocks } from '../cache/share.js';
import { LapidaryError, cancelledError } from '../error.js';
import { downloadInto, type Downloader } from './downloader.js';
import { downloadInWorker } from './in-worker.js';
import { KeptModels, type KeptModel, type PullProgress } from './kept.js';
import { problemOf, type Problem } from './problem.js';
import type { ResolvedModel } from './resolve.js';

export interface DownloadState {
    /**
     * `queued`: others come first. `paused` without a problem: somebody wanted it; with one, it goes on by itself.
     * `checking`: all is here and is compared with its digest.
     */
    phase: 'queued' | 'downloading' | 'checking' | 'paused' | 'kept' | 'failed';
    /** Bytes of all files together; `total` is 0 while it is not known. */
    done: number;
    total: number;
    /** Bytes a second over the last seconds; 0 when nothing is known. */
    rate: number;
    etaSeconds: number | undefined;
    /** It did not match its checksum and is fetched again. */
    again: boolean;
    problem?: Problem;
    /** With `kept`. */
    model?: KeptModel;
}

export interface DownloadOptions {
    /** In a page a worker downloads, made from `worker.js` beside this module; false downloads in this thread. */
    worker?: boolean | (() => Worker);
    /** Where it is kept; this origin's place unless told. Then this thread downloads. */
    into?: KeptModels;
    /** How to wait, for tests. */
    wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
}

/** One after the other: together they would only all be slow. */
const turns = new LocalLocks();
const offlineSeconds = 30;

/** It begins at once, or when those before it are done. */
export function startDownload(model: ResolvedModel, options: DownloadOptions = {}): Download {
    if (model.source === 'builtin') {
        throw new LapidaryError('invalid_argument', `'${model.name}' comes with Lapidary: there is nothing to download`);
    }
    const { into } = options;
    const find = async () => into ?? (await KeptModels.ofThisOrigin());
    return new Download(model, find, into ? downloadInto(find) : downloaderFor(options, find), options.wait ?? waitFor);
}

function downloaderFor({ worker }: DownloadOptions, find: () => Promise<KeptModels | undefined>): Downloader {
    if (typeof worker === 'function') return downloadInWorker(worker);
    const wanted = worker ?? (typeof document === 'object' && typeof Worker === 'function');
    if (!wanted) return downloadInto(find);
    return downloadInWorker(
        () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'lapidary-download' }),
    );
}

export class Download {
    /** Resolves once it is kept. Rejects only when it was cancelled. */
    readonly kept: Promise<KeptModel>;
    private current: DownloadState;
    private readonly listeners = new Set<(state: DownloadState) => void>();
    private running: Promise<void> | undefined;
    private stop = new AbortController();
    private settle: { resolve(model: KeptModel): void; reject(error: unknown): void } = { resolve: () => undefined, reject: () => undefined };

    /** @internal Use `startDownload`. */
    constructor(
        readonly model: ResolvedModel,
        private readonly find: () => Promise<KeptModels | undefined>,
        private readonly downloader: Downloader,
        private readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>,
    ) {
        this.current = { phase: 'queued', done: 0, total: model.bytes ?? 0, rate: 0, etaSeconds: undefined, again: false };
        this.kept = new Promise((resolve, reject) => (this.settle = { resolve, reject }));
        this.kept.catch(() => undefined); // who does not look at it need not know
        this.resume();
    }

    get state(): DownloadState {
        return this.current;
    }

    /** Told of every change from now on, until what it gives back is called. */
    subscribe(listener: (state: DownloadState) => void): () => void {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
    }

    /** What has arrived stays. */
    pause(): void {
        this.stop.abort();
    }

    /** Also after a failure. */
    resume(): void {
        if (this.current.phase === 'kept') return;
        if (this.running) {
            if (!this.stop.signal.aborted) return;
            void this.running.then(() => this.resume()); // still on its way to a stop
            return;
        }
        this.stop = new AbortController();
        this.running = this.run(this.stop.signal).finally(() => (this.running = undefined));
    }

    /** Stops, and removes what has arrived. */
    async cancel(): Promise<void> {
        this.stop.abort();
        await this.running;
        if (this.current.phase === 'kept') return;
        this.settle.reject(cancelledError());
        const models = await this.find();
        const part = await models?.find(this.model.name);
        if (models && part?.state === 'partial') await models.remove(part);
        this.tell({ phase: 'paused', done: 0, rate: 0, etaSeconds: undefined });
    }

    private async run(signal: AbortSignal): Promise<void> {
        for (;;) {
            this.tell({ phase: 'queued', again: false });
            const onProgress = (progress: PullProgress) => this.progress(progress);
            const outcome = await turns
                .hold('download', async () => await this.downloader(this.model, { signal, onProgress }), { signal })
                .catch((error: unknown) => ({ problem: problemOf(error) }));
            if (!outcome) continue; // never: who waits for a turn gets one
            const still = { rate: 0, etaSeconds: undefined };
            if ('kept' in outcome) {
                const { kept } = outcome;
                this.tell({ ...still, phase: 'kept', done: this.current.total, model: kept });
                return this.settle.resolve(kept);
            }
            const { problem } = outcome;
            if (problem.kind === 'stopped' || signal.aborted) return this.tell({ ...still, phase: 'paused' });
            if (problem.kind !== 'offline' && problem.kind !== 'busy') return this.tell({ ...still, phase: 'failed', problem });
            this.tell({ ...still, phase: 'paused', problem });
            const went = await this.wait((problem.seconds ?? offlineSeconds) * 1000, signal).then(() => true, () => false);
            if (!went) return this.tell({ phase: 'paused' });
        }
    }

    private progress({ state, done, total, rate, etaSeconds, pause }: PullProgress): void {
        const again = this.current.again || state === 'again';
        const phase = state === 'verifying' ? 'checking' : 'downloading';
        const problem = pause ? { problem: waiting(pause.reason) } : {};
        this.tell({ phase, done, total: total || this.current.total, rate, etaSeconds, again, ...problem });
    }

    /** A problem is gone unless the change names one. */
    private tell(change: Partial<DownloadState>): void {
        const { problem: _, ...before } = this.current;
        this.current = { ...before, ...change };
        for (const listener of this.listeners) listener(this.current);
    }
}

function waiting(reason: string): Problem {
    return { kind: 'offline', sentence: 'The connection broke off. It goes on by itself.', detail: reason };
}
