// TrainingSession: an adapter in the making. Runs while it is iterated, can be paused, stopped and taken up again, and
// gives the adapter at any time.
import type { Adapters } from './adapters.js';
import type { Core } from './core/core.js';
import { LapidaryError, cancelledError } from './error.js';
import type {
    AdapterInfo,
    DataOptions,
    DataReport,
    PreviewExample,
    TrainingEvent,
    TrainingPlan,
    TrainingStep,
} from './workshop/calls.js';
import { checkSettings, type TrainSettings } from './workshop/settings.js';

/** A file, its text, or the rows themselves: objects such as `{ prompt, completion }` or `{ messages }`. */
export type DataSource = Blob | Uint8Array | string | readonly object[];

export interface DataReadOptions extends DataOptions {
    /** How many examples to show as the model will see them: 0 unless told. */
    preview?: number;
    signal?: AbortSignal;
}

export interface TrainOptions extends TrainSettings, Pick<DataOptions, 'format' | 'split'> {
    /** What to learn from: a source, or a data set that was read already. */
    data: DataSource | DataSet;
    /** From `checkpoint()` of a training with the same data and settings: goes on there. */
    checkpoint?: Uint8Array | Blob;
    /** Everything that happens, in order; the iterator gives the steps only. */
    onEvent?: (event: TrainingEvent) => void;
    /** Stops the training for good, as `cancel` does. */
    signal?: AbortSignal;
}

/** A data set in the engine. */
export class DataSet {
    /** @internal */
    constructor(
        private readonly core: Core,
        readonly report: DataReport,
    ) {}

    /** Examples as the model will see them. */
    async preview(first: number, count: number): Promise<PreviewExample[]> {
        return await this.core.workshop('previewData', { id: this.report.id, first, count });
    }

    async close(): Promise<void> {
        await this.core.workshop('closeData', this.report.id);
    }
}

export async function readData(core: Core, source: DataSource, options: DataReadOptions = {}): Promise<DataSet> {
    const { preview = 0, signal, ...rest } = options;
    const args = { file: fileOf(source), options: rest, preview };
    return new DataSet(core, await core.workshop('readData', args, { signal }));
}

function fileOf(source: DataSource): Blob | Uint8Array {
    if (source instanceof Uint8Array || source instanceof Blob) return source;
    const text = typeof source === 'string' ? source : source.map((row) => JSON.stringify(row)).join('\n');
    return new TextEncoder().encode(text);
}

export async function startTraining(core: Core, adapters: Adapters, options: TrainOptions): Promise<TrainingSession> {
    const { data, checkpoint, onEvent, signal, format, split, ...rest } = options;
    const settings = checkSettings(rest);
    const own = !(data instanceof DataSet);
    const set = own
        ? await readData(core, data, {
              ...(format === undefined ? {} : { format }),
              ...(split === undefined ? {} : { split }),
              ...(settings.seq === undefined ? {} : { seq: settings.seq }),
              ...(signal ? { signal } : {}),
          })
        : data;
    try {
        if (set.report.examples === 0) throw nothingToLearn(set.report);
        const args = { data: set.report.id, settings, ...(checkpoint === undefined ? {} : { checkpoint }) };
        const made = await core.workshop('createTraining', args, { signal });
        return new TrainingSession(core, adapters, set, own, made, onEvent, signal);
    } catch (error) {
        if (own) await set.close();
        throw error;
    }
}

function nothingToLearn({ errors }: DataReport): LapidaryError {
    const [first] = errors;
    const why = first ? `line ${first.line}: ${first.message}` : 'it has no examples';
    return new LapidaryError('invalid_argument', `there is nothing to learn in the data: ${why}`);
}

type State = 'ready' | 'running' | 'paused' | 'finished' | 'cancelled' | 'failed';

export class TrainingSession implements AsyncIterable<TrainingStep> {
    /** What it takes and how long it is. */
    readonly plan: TrainingPlan;
    readonly data: DataReport;
    /** All of them so far. */
    readonly steps: TrainingStep[] = [];
    readonly validations: { step: number; loss: number }[] = [];
    private readonly id: string;
    private current: State = 'ready';
    private at: number;
    private piece: AbortController | undefined;
    private running: Promise<void> | undefined;
    private problem: unknown;
    private readonly waiting = new Set<() => void>();
    private readonly stop = () => void this.cancel();

    /** @internal Use `engine.train`. */
    constructor(
        private readonly core: Core,
        private readonly adapters: Adapters,
        private readonly set: DataSet,
        private readonly ownSet: boolean,
        made: { id: string; step: number; plan: TrainingPlan },
        private readonly onEvent: ((event: TrainingEvent) => void) | undefined,
        private readonly signal: AbortSignal | undefined,
    ) {
        this.id = made.id;
        this.at = made.step;
        this.plan = made.plan;
        this.data = set.report;
        signal?.addEventListener('abort', this.stop);
        if (signal?.aborted) this.stop();
    }

    get state(): State {
        return this.current;
    }

    /** The last step that was made; one that goes on from a checkpoint begins with the checkpoint's. */
    get step(): number {
        return this.at;
    }

    /** Begins or goes on; does nothing while it runs. Iterating does it too. */
    resume(): void {
        if (this.current !== 'ready' && this.current !== 'paused') return;
        this.change('running');
        this.running = this.run();
    }

    /** After the step that is under way. */
    async pause(): Promise<void> {
        if (this.current !== 'running') return;
        this.piece?.abort();
        await this.running;
    }

    /** For good; the adapter so far can still be had until `close`. */
    async cancel(): Promise<void> {
        if (this.current === 'finished' || this.current === 'failed') return;
        const { running } = this;
        this.change('cancelled');
        this.piece?.abort();
        await running;
    }

    /**
     * Everything it takes to go on later, with the same data and settings, as if nothing had been. `last` is the one the
     * event `checkpoint` told of, and costs nothing; otherwise one is made after the step that is under way.
     */
    async checkpoint(options: { last?: boolean } = {}): Promise<Uint8Array> {
        return await this.core.workshop('checkpoint', { id: this.id, ...options });
    }

    /** As it is now. It is one of `engine.adapters` from then on, whatever becomes of the training. */
    async adapter(options: { name?: string } = {}): Promise<AdapterInfo> {
        const info = await this.core.workshop('trainedAdapter', { id: this.id, ...options });
        this.adapters.add(info);
        return info;
    }

    /** Resolves at the end, and rejects with what made it fail or with the code `cancelled`. */
    async finished(): Promise<void> {
        await this.until(() => this.current === 'finished' || this.current === 'failed' || this.current === 'cancelled');
        if (this.current === 'failed') throw this.problem;
        if (this.current === 'cancelled') throw cancelledError();
    }

    /** Gives its memory back. */
    async close(): Promise<void> {
        await this.cancel();
        this.signal?.removeEventListener('abort', this.stop);
        await this.core.workshop('closeTraining', this.id);
        if (this.ownSet) await this.set.close();
    }

    /** From the first step that nobody has seen on. Leaving the loop pauses the training. */
    async *[Symbol.asyncIterator](): AsyncGenerator<TrainingStep, void, undefined> {
        let next = this.steps.length;
        this.resume();
        try {
            for (;;) {
                await this.until(() => next < this.steps.length || this.isOver());
                const step = this.steps[next];
                if (step) {
                    next++;
                    yield step;
                } else if (this.current === 'failed') {
                    throw this.problem;
                } else {
                    return;
                }
            }
        } finally {
            await this.pause();
        }
    }

    private isOver(): boolean {
        return this.current === 'finished' || this.current === 'cancelled' || this.current === 'failed';
    }

    private async run(): Promise<void> {
        const piece = new AbortController();
        this.piece = piece;
        try {
            const ended = await this.core.workshop('runTraining', this.id, {
                signal: piece.signal,
                onEvent: (event) => this.take(event),
            });
            if (this.current === 'running') this.change(ended ? 'finished' : 'paused');
        } catch (error) {
            if (this.current === 'cancelled') return;
            if (piece.signal.aborted && error instanceof LapidaryError && error.code === 'cancelled') {
                this.change('paused');
                return;
            }
            this.problem = error;
            this.change('failed');
        }
    }

    private take(event: TrainingEvent): void {
        if (event.type === 'step') {
            const { type: _, ...step } = event;
            // After a lost GPU some steps are made again.
            while ((this.steps.at(-1)?.step ?? 0) >= step.step) this.steps.pop();
            this.steps.push(step);
            this.at = step.step;
        } else if (event.type === 'validation') {
            this.validations.push({ step: event.step, loss: event.loss });
        }
        this.onEvent?.(event);
        this.wake();
    }

    private change(state: State): void {
        this.current = state;
        this.wake();
    }

    private wake(): void {
        for (const waiting of [...this.waiting]) waiting();
    }

    private async until(true_: () => boolean): Promise<void> {
        while (!true_()) {
            await new Promise<void>((resolve) => {
                const woken = () => {
                    this.waiting.delete(woken);
                    resolve();
                };
                this.waiting.add(woken);
            });
        }
    }
}
