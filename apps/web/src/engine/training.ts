// A training in the tab that has the engine. What it has learnt is stored as it goes: a closed tab, a lost GPU or a full
// disk costs little, and a run that was broken off goes on from where it was stored.
import type { DataReport, LoadedEngine, TrainSettings, TrainingEvent, TrainingPlan, TrainingSession } from 'lapidary';
import { isAbort } from '../chat/backend.js';
import { sentence } from '../chat/answer.js';
import { newId } from '../store/ids.js';
import type { DataWish, RunEvent } from './protocol.js';
import { keepInMemory, openRun, saveAdapter, saveCheckpoint, saveRun, TakenOver, type AdapterBytes, type Run, type StoredAdapter } from '../store/workshop.js';

// Writing to the disk now and then; a closed tab costs as much at most.
const storeEveryMs = 5000;
const showEveryMs = 150;
// More points than pixels show nothing more.
const mostPoints = 2000;
const longestSample = 64;

const running = new Map<string, Promise<unknown>>();
/** Of trainings that were paused while the disk was full. */
const unstored = new Map<string, Uint8Array>();
const shownExamples = 20;

export async function readData(engine: LoadedEngine, { file, options }: DataWish, signal: AbortSignal): Promise<DataReport> {
    const set = await engine.readData(file, { ...options, preview: shownExamples, signal });
    await set.close();
    return set.report;
}

/** What a training would take. */
export async function plan(
    engine: LoadedEngine,
    { file, options, settings }: DataWish & { settings: TrainSettings },
    signal: AbortSignal,
): Promise<TrainingPlan> {
    const training = await engine.train({ ...options, ...settings, data: file, signal });
    await training.close();
    return training.plan;
}

export async function trainRun(
    engine: LoadedEngine,
    id: string,
    term: number,
    emit: (event: RunEvent) => void,
    signal: AbortSignal,
): Promise<Run> {
    // One that was just paused may still be storing what it has.
    await running.get(id)?.catch(() => undefined);
    const opened = await openRun(id);
    if (!opened) throw new Error('this training is not here any more');
    const checkpoint = unstored.get(id);
    const files = checkpoint ? { ...opened.files, checkpoint } : opened.files;
    const work = new Trainer(engine, { ...opened.run, term }, emit).run(files, signal);
    running.set(id, work);
    try {
        return await work;
    } finally {
        if (running.get(id) === work) running.delete(id);
    }
}

class Trainer {
    private shownAt = 0;
    private storedAt = performance.now();
    private storing: Promise<void> | undefined;
    private full = false;
    private takenOver = false;
    private readonly ending = new AbortController();
    private readonly startedAt = performance.now();
    private readonly secondsBefore: number;

    constructor(
        private readonly engine: LoadedEngine,
        private current: Run,
        private readonly emit: (event: RunEvent) => void,
    ) {
        this.secondsBefore = current.seconds;
    }

    async run(files: { data: Blob; checkpoint?: Uint8Array }, signal: AbortSignal): Promise<Run> {
        const { settings, dataOptions } = this.current;
        const { problem: _, ...rest } = this.current;
        this.current = { ...rest, state: 'running' };
        this.show(true);
        let training: TrainingSession | undefined;
        try {
            await this.answerAll('before', signal);
            training = await this.engine.train({
                ...settings,
                ...dataOptions,
                data: files.data,
                ...(files.checkpoint ? { checkpoint: files.checkpoint } : {}),
                onEvent: (event) => this.take(event, training),
            });
            // Steps after the checkpoint were lost with whoever made them.
            const { step } = training;
            this.change({
                step,
                saved: step,
                steps: training.plan.steps || this.current.steps,
                losses: this.current.losses.filter(([at]) => at <= step),
                validations: this.current.validations.filter(([at]) => at <= step),
            });
            const { ending } = this;
            signal.addEventListener('abort', () => ending.abort(), { once: true });
            if (signal.aborted) ending.abort();
            await runUntil(training, ending.signal);
            if (this.takenOver) throw new TakenOver();
            if (training.state === 'finished') await this.finish(training, signal);
            else if (training.state === 'failed') await training.finished();
            else await this.interrupt(training);
        } catch (error) {
            if (isAbort(error)) this.change({ state: 'paused' });
            else this.change({ state: 'failed', problem: sentence(error) });
            if (error instanceof TakenOver) throw error;
            await this.store(async () => await saveRun(this.current));
        } finally {
            await training?.close().catch(() => undefined);
        }
        this.show(true);
        return this.current;
    }

    private take(event: TrainingEvent, training: TrainingSession | undefined): void {
        if (event.type === 'step') {
            const { step, steps, loss, tokensPerSecond } = event;
            const losses = this.current.losses.filter(([at]) => at < step);
            losses.push([step, loss]);
            this.change({ step, steps, losses: thinned(losses), tokensPerSecond });
        } else if (event.type === 'validation') {
            this.change({ validations: [...this.current.validations, [event.step, event.loss]] });
        } else if (event.type === 'notice') {
            this.emit(event);
        } else if (event.type === 'checkpoint' && training && performance.now() - this.storedAt > storeEveryMs) {
            this.storedAt = performance.now();
            this.storing ??= this.storeCheckpoint(training, event.step)
                .catch(() => {
                    this.takenOver = true;
                    this.ending.abort();
                })
                .finally(() => {
                    this.storing = undefined;
                });
        }
    }

    private async storeCheckpoint(training: TrainingSession, step: number): Promise<void> {
        await this.store(async () => await this.keep(await training.checkpoint({ last: true }), step));
    }

    private async keep(checkpoint: Uint8Array, step: number): Promise<void> {
        await saveCheckpoint({ ...this.current, saved: step }, checkpoint);
        this.change({ saved: step });
        unstored.delete(this.current.id);
    }

    /** Paused: everything up to this step is kept. */
    private async interrupt(training: TrainingSession): Promise<void> {
        await this.storing;
        this.change({ state: 'paused' });
        const checkpoint = await training.checkpoint();
        unstored.set(this.current.id, checkpoint); // until it is on the disk
        await this.store(async () => await this.keep(checkpoint, training.step));
    }

    private async finish(training: TrainingSession, signal: AbortSignal): Promise<void> {
        await this.storing;
        const { name, model, step } = this.current;
        const adapter = await training.adapter({ name });
        try {
            await this.answerAll('after', signal, adapter.id);
            const [file] = await this.engine.adapters.export(adapter, 'gguf', { type: 'f32' });
            if (!file) throw new Error('the adapter could not be exported');
            const id = newId();
            await this.store(async () => await saveRun(this.current)); // only where it is still this tab's
            const stored = {
                id,
                name,
                model,
                createdAt: Date.now(),
                bytes: file.bytes.length,
                parameters: adapter.parameters,
                origin: `${step} steps`,
            };
            await this.storeAdapter(stored, { id, weights: file.bytes });
            this.change({ state: 'finished', adapter: id });
            await this.store(async () => await saveRun(this.current));
            unstored.delete(this.current.id);
        } finally {
            await this.engine.adapters.remove(adapter).catch(() => undefined);
        }
    }

    private async storeAdapter(adapter: StoredAdapter, files: AdapterBytes): Promise<void> {
        try {
            await saveAdapter(adapter, files);
        } catch (error) {
            this.full = true; // said here, and not once more
            await keepInMemory(adapter, files);
            const text = `The adapter could not be stored (${whyNot(error)}). It is here until this tab is closed: download it.`;
            this.emit({ type: 'notice', text });
        }
    }

    /** What the model says to the sample questions, as it would most likely say it. */
    private async answerAll(when: 'before' | 'after', signal: AbortSignal, adapter?: string): Promise<void> {
        for (const [i, sample] of this.current.samples.entries()) {
            if (when === 'before' && sample.before !== undefined) continue;
            const { choices } = await this.engine.chat.completions.create(
                {
                    messages: [{ role: 'user', content: sample.question }],
                    temperature: 0,
                    max_tokens: longestSample,
                    stream: false,
                    ...(adapter === undefined ? {} : { adapters: [{ adapter }] }),
                },
                { signal },
            );
            const samples = [...this.current.samples];
            samples[i] = { ...sample, [when]: choices[0].message.content ?? '' };
            this.change({ samples });
            this.show(true);
        }
    }

    private change(change: Partial<Run>): void {
        const seconds = this.secondsBefore + (performance.now() - this.startedAt) / 1000;
        this.current = { ...this.current, ...change, seconds };
        this.show();
    }

    private show(now = false): void {
        if (!now && performance.now() - this.shownAt < showEveryMs) return;
        this.shownAt = performance.now();
        this.emit({ type: 'run', run: this.current });
    }

    /** A disk that is full must not end a training. */
    private async store(work: () => Promise<void>): Promise<void> {
        try {
            await work();
            this.full = false;
        } catch (error) {
            if (error instanceof TakenOver) throw error;
            if (this.full) return;
            this.full = true;
            const text = `What was learnt could not be stored (${whyNot(error)}). The training goes on from what is in memory.`;
            this.emit({ type: 'notice', text });
        }
    }
}

function whyNot(error: unknown): string {
    const name = typeof error === 'object' && error !== null ? (error as { name?: unknown }).name : undefined;
    return name === 'QuotaExceededError' ? 'the disk is full, or the browser allows no more' : sentence(error);
}

/** To its end, or to the step at which it was stopped. */
async function runUntil(training: TrainingSession, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let stop = () => undefined as void;
    try {
        await new Promise<void>((resolve) => {
            stop = () => void training.pause().then(resolve);
            signal.addEventListener('abort', stop);
            training.resume();
            void training.finished().then(resolve, () => resolve());
        });
    } finally {
        signal.removeEventListener('abort', stop);
    }
}

function thinned(points: [number, number][]): [number, number][] {
    return points.length <= mostPoints ? points : points.filter((_, i) => i % 2 === points.length % 2);
}
