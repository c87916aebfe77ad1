// Adapters, data sets and trainings of one engine. An engine may be built anew when its GPU is lost: everything here
// remembers how it was made and is made again, a training from its last checkpoint.
import type { Engine } from '../engine.js';
import { LapidaryError, throwIfCancelled } from '../error.js';
import { exportedFiles } from '../adapter.js';
import type { AdapterDescription, DataReadArgs, DataReadResult, Methods, ShownExample, TrainCreateArgs, TrainPlan } from '../messages.js';
import type { AdapterUse } from '../session.js';
import type {
    AdapterFiles,
    AdapterInfo,
    DataReport,
    ExportedFile,
    PreviewExample,
    TrainingEvent,
    TrainingPlan,
    WorkshopCalls,
    WorkshopContext,
    WorkshopMethod,
} from './calls.js';
import type { TrainSettings } from './settings.js';

/** What the workshop needs of the engine's owner. */
export interface Bench {
    /** Runs `work` alone, and again with a new engine after a loss. */
    inTurn<Result>(signal: AbortSignal | undefined, work: (at: BenchPlace) => Promise<Result>): Promise<Result>;
    /** Calls back as soon as somebody else wants a turn; the result ends that. */
    onWaiting(listener: () => void): () => void;
}

/** One engine with the model in it. Another object after each loss. */
export interface BenchPlace {
    engine: Engine;
    model: number;
    backend: 'cpu' | 'gpu';
}

/** A thing that exists in the engine while that engine exists. */
interface Kept {
    at?: BenchPlace;
    handle: number;
}

interface KeptAdapter extends Kept {
    files: AdapterFiles;
}

interface KeptData extends Kept {
    file: Uint8Array | Blob;
    args: Omit<DataReadArgs, 'model'>;
    /** What was found in it. */
    read?: DataReadResult;
}

interface KeptTraining extends Kept {
    data: string;
    args: EngineSettings;
    checkpoint: Uint8Array | Blob | undefined;
    /** Where the checkpoint is. */
    saved: number;
    /** Where the training is. */
    step: number;
    /** Ends the part of the run that is under way, so that it can be saved. */
    interrupt: (() => void) | undefined;
    running: boolean;
}

// As often as it costs little: a lost GPU or a closed page then costs about a step.
const secondsBetweenCheckpoints = 2;
const shareForCheckpoints = 0.1;

export class Workshop {
    private readonly adapters = new Map<string, KeptAdapter>();
    private readonly data = new Map<string, KeptData>();
    private readonly trainings = new Map<string, KeptTraining>();
    private last = 0;

    constructor(private readonly bench: Bench) {}

    async handle<M extends WorkshopMethod>(
        method: M,
        args: WorkshopCalls[M]['args'],
        context: WorkshopContext<M> = {},
    ): Promise<WorkshopCalls[M]['result']> {
        const { signal } = context;
        const given = args as never;
        const calls: { [K in WorkshopMethod]: () => Promise<WorkshopCalls[K]['result']> } = {
            addAdapter: () => this.addAdapter(given, signal),
            removeAdapter: () => this.remove(this.adapters, given, (engine, adapter) => engine.call('adapter.close', { adapter })),
            exportAdapter: () => this.exportAdapter(given, signal),
            readData: () => this.readData(given, signal),
            previewData: () => this.previewData(given, signal),
            closeData: () => this.remove(this.data, given, (engine, data) => engine.call('data.close', { data })),
            createTraining: () => this.createTraining(given, signal),
            runTraining: () => this.runTraining(given, context as WorkshopContext<'runTraining'>),
            checkpoint: () => this.checkpoint(given, signal),
            trainedAdapter: () => this.trainedAdapter(given, signal),
            closeTraining: () => this.remove(this.trainings, given, (engine, train) => engine.call('train.close', { train })),
        };
        return (await calls[method]()) as WorkshopCalls[M]['result'];
    }

    /** What a request means by its `adapters`, in the engine's numbers. */
    async resolve(
        wanted: readonly AdapterUse[],
        at: BenchPlace,
        signal?: AbortSignal,
    ): Promise<{ adapter: number; scale: number }[]> {
        const out: { adapter: number; scale: number }[] = [];
        for (const { adapter, scale = 1 } of wanted) {
            const kept = found(this.adapters, String(adapter), 'adapter');
            await this.placeAdapter(kept, at, signal);
            out.push({ adapter: kept.handle, scale });
        }
        return out;
    }

    private async addAdapter(files: AdapterFiles, signal?: AbortSignal): Promise<AdapterInfo> {
        const kept: KeptAdapter = { files, handle: 0 };
        const id = this.name('adapter');
        return await this.bench.inTurn(signal, async (at) => {
            const description = await this.placeAdapter(kept, at, signal);
            this.adapters.set(id, kept);
            return adapterInfo(id, files.name, description);
        });
    }

    private async placeAdapter(
        kept: KeptAdapter,
        at: BenchPlace,
        signal?: AbortSignal,
    ): Promise<AdapterDescription | undefined> {
        if (kept.at === at) return undefined;
        const { weights, config, name } = kept.files;
        const args = { model: at.model, name, config };
        const blob = await bytesOf(weights);
        const { json } = await at.engine.call('adapter.load', args, { blob, ...(signal ? { signal } : {}) });
        kept.handle = json.adapter;
        kept.at = at;
        return json.description;
    }

    private async exportAdapter(
        { id, format, type }: WorkshopCalls['exportAdapter']['args'],
        signal?: AbortSignal,
    ): Promise<ExportedFile[]> {
        const kept = found(this.adapters, id, 'adapter');
        return await this.bench.inTurn(signal, async (at) => {
            await this.placeAdapter(kept, at, signal);
            return await exportedFiles(at.engine, kept.handle, format, { type, signal });
        });
    }

    private async readData(
        { file, options, preview }: WorkshopCalls['readData']['args'],
        signal?: AbortSignal,
    ): Promise<DataReport> {
        const { seq, ...rest } = options;
        const kept: KeptData = { file, args: { ...rest, longest: seq, preview }, handle: 0 };
        const id = this.name('data');
        return await this.bench.inTurn(signal, async (at) => {
            const read = await this.placeData(kept, at, signal);
            this.data.set(id, kept);
            return dataReport(id, read);
        });
    }

    private async placeData(kept: KeptData, at: BenchPlace, signal?: AbortSignal): Promise<DataReadResult> {
        if (kept.at === at && kept.read) return kept.read;
        const blob = await bytesOf(kept.file);
        const args = { model: at.model, ...kept.args };
        const { json } = await at.engine.call('data.read', args, { blob, ...(signal ? { signal } : {}) });
        kept.handle = json.data;
        kept.at = at;
        kept.read = json;
        return json;
    }

    private async previewData(
        { id, first, count }: WorkshopCalls['previewData']['args'],
        signal?: AbortSignal,
    ): Promise<PreviewExample[]> {
        const kept = found(this.data, id, 'data set');
        return await this.bench.inTurn(signal, async (at) => {
            await this.placeData(kept, at, signal);
            const { json } = await at.engine.call('data.preview', { data: kept.handle, first, count });
            return previewOf(json.preview);
        });
    }

    private async createTraining(
        { data, settings, checkpoint }: WorkshopCalls['createTraining']['args'],
        signal?: AbortSignal,
    ): Promise<WorkshopCalls['createTraining']['result']> {
        found(this.data, data, 'data set');
        const kept: KeptTraining = {
            data,
            args: engineSettings(settings),
            checkpoint,
            saved: 0,
            step: 0,
            interrupt: undefined,
            running: false,
            handle: 0,
        };
        const id = this.name('training');
        return await this.bench.inTurn(signal, async (at) => {
            const plan = await this.placeTraining(kept, at, signal);
            this.trainings.set(id, kept);
            return { id, step: kept.step, plan: trainingPlan(plan) };
        });
    }

    private async placeTraining(kept: KeptTraining, at: BenchPlace, signal?: AbortSignal): Promise<TrainPlan | undefined> {
        if (kept.at === at) return undefined;
        const data = found(this.data, kept.data, 'data set');
        await this.placeData(data, at, signal);
        const stop = signal ? { signal } : {};
        const args = { model: at.model, backend: at.backend, data: data.handle, ...kept.args };
        const { json } = await at.engine.call('train.create', args, stop);
        kept.handle = json.train;
        kept.step = 0;
        if (kept.checkpoint !== undefined) {
            const blob = await bytesOf(kept.checkpoint);
            const restored = await at.engine.call('train.restore', { train: kept.handle }, { blob, ...stop });
            kept.step = restored.json.step;
            kept.saved = kept.step;
        }
        kept.at = at;
        return json.plan;
    }

    /**
     * In pieces of whole steps: between two the state is saved if it is time, and whoever wants to ask something gets a
     * turn.
     */
    private async runTraining(id: string, { signal, onEvent }: WorkshopContext<'runTraining'>): Promise<boolean> {
        const kept = found(this.trainings, id, 'training');
        if (kept.running) throw new LapidaryError('invalid_argument', 'the training is running already');
        kept.running = true;
        const tell = (event: TrainingEvent) => onEvent?.(event);
        const pace = new Pace();
        try {
            for (;;) {
                throwIfCancelled(signal);
                const ended = await this.bench.inTurn(signal, async (at) => {
                    if (kept.at !== undefined && kept.at !== at) {
                        tell({ type: 'notice', text: `The GPU was lost. The training goes on from step ${kept.saved}.` });
                    }
                    await this.placeTraining(kept, at, signal);
                    const before = kept.step;
                    const finished = await pace.measure(
                        async () => await this.runPiece(kept, at, signal, pace.steps(), tell),
                        () => kept.step - before,
                    );
                    if (finished || signal?.aborted || kept.interrupt === interrupted || pace.isDue()) {
                        await pace.saving(async () => await this.save(kept, at));
                        tell({ type: 'checkpoint', step: kept.saved });
                    }
                    return finished;
                });
                if (ended) return true;
                if (signal?.aborted) return false;
            }
        } finally {
            kept.running = false;
            kept.interrupt = undefined;
        }
    }

    /** Whether it came to the end. */
    private async runPiece(
        kept: KeptTraining,
        { engine }: BenchPlace,
        signal: AbortSignal | undefined,
        steps: number,
        tell: (event: TrainingEvent) => void,
    ): Promise<boolean> {
        const piece = new AbortController();
        const stop = () => piece.abort();
        const unsubscribe = this.bench.onWaiting(stop);
        signal?.addEventListener('abort', stop);
        kept.interrupt = () => {
            kept.interrupt = interrupted;
            stop();
        };
        try {
            const data = found(this.data, kept.data, 'data set');
            const { json } = await engine.call('train.run', { train: kept.handle, data: data.handle, at_most: steps }, {
                signal: piece.signal,
                onEvent: (told) => {
                    const event = trainingEvent(told);
                    if (event.type === 'step') kept.step = event.step;
                    tell(event);
                },
            });
            return json.finished;
        } catch (error) {
            const stopped = piece.signal.aborted && error instanceof LapidaryError && error.code === 'cancelled';
            if (!stopped || !engine.usable) throw error;
            return false;
        } finally {
            unsubscribe();
            signal?.removeEventListener('abort', stop);
        }
    }

    private async save(kept: KeptTraining, { engine }: BenchPlace): Promise<void> {
        const { blob } = await engine.call('train.save', { train: kept.handle });
        kept.checkpoint = blob;
        kept.saved = kept.step;
    }

    /** Of a training that runs: after the step it is at. */
    private async checkpoint(
        { id, last = false }: WorkshopCalls['checkpoint']['args'],
        signal?: AbortSignal,
    ): Promise<Uint8Array> {
        const kept = found(this.trainings, id, 'training');
        if (kept.checkpoint === undefined || (kept.saved !== kept.step && !last)) {
            kept.interrupt?.();
            await this.bench.inTurn(signal, async (at) => {
                await this.placeTraining(kept, at, signal);
                if (kept.checkpoint === undefined || kept.saved !== kept.step) await this.save(kept, at);
            });
        }
        return await bytesOf(kept.checkpoint ?? new Uint8Array());
    }

    private async trainedAdapter(
        { id, name }: WorkshopCalls['trainedAdapter']['args'],
        signal?: AbortSignal,
    ): Promise<AdapterInfo> {
        const kept = found(this.trainings, id, 'training');
        kept.interrupt?.();
        return await this.bench.inTurn(signal, async (at) => {
            await this.placeTraining(kept, at, signal);
            const { json } = await at.engine.call('train.adapter', { train: kept.handle, name }, signal ? { signal } : {});
            const handle = json.adapter;
            // Its bytes too: should the engine be built anew, it is loaded from them.
            const [file] = await exportedFiles(at.engine, handle, 'gguf', { type: 'f32', signal });
            if (!file) throw new LapidaryError('internal', 'the engine exported no file');
            const described = await at.engine.call('adapter.describe', { adapter: handle });
            const own = this.name('adapter');
            const files = { weights: file.bytes, ...(name === undefined ? {} : { name }) };
            this.adapters.set(own, { files, at, handle });
            return adapterInfo(own, name, described.json);
        });
    }

    /** Removing what is already gone does nothing. */
    private async remove(
        from: Map<string, Kept>,
        id: string,
        close: (engine: Engine, handle: number) => Promise<unknown>,
    ): Promise<void> {
        const kept = from.get(id);
        from.delete(id);
        if (!kept?.at?.engine.usable) return;
        await close(kept.at.engine, kept.handle).catch(() => undefined);
    }

    private name(kind: string): string {
        return `${kind}-${++this.last}`;
    }
}

/** How many steps to make before looking up, and when to save. */
class Pace {
    private msPerStep: number | undefined;
    private savedAt = performance.now();
    private waitMs = secondsBetweenCheckpoints * 1000;

    /** One at first: nobody knows yet how long it takes. */
    steps(): number {
        if (this.msPerStep === undefined) return 1;
        const left = this.savedAt + this.waitMs - performance.now();
        return Math.max(1, Math.floor(left / Math.max(0.1, this.msPerStep)));
    }

    isDue(): boolean {
        return performance.now() >= this.savedAt + this.waitMs - (this.msPerStep ?? 0) / 2;
    }

    async measure<Result>(work: () => Promise<Result>, stepsMade: () => number): Promise<Result> {
        const start = performance.now();
        const result = await work();
        const made = stepsMade();
        if (made > 0) this.msPerStep = (performance.now() - start) / made;
        return result;
    }

    async saving(work: () => Promise<void>): Promise<void> {
        const start = performance.now();
        await work();
        this.savedAt = performance.now();
        this.waitMs = Math.max(secondsBetweenCheckpoints * 1000, (this.savedAt - start) / shareForCheckpoints);
    }
}

/** Stands in `interrupt` once it was called, so that a second call does nothing. */
const interrupted = () => undefined;

function found<Thing>(from: Map<string, Thing>, id: string, what: string): Thing {
    const thing = from.get(id);
    if (!thing) throw new LapidaryError('not_found', `there is no ${what} '${id}': it was removed or never made`);
    return thing;
}

async function bytesOf(file: Uint8Array | Blob): Promise<Uint8Array> {
    return file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
}

function adapterInfo(id: string, name: string | undefined, description: AdapterDescription | undefined): AdapterInfo {
    const { name: own, parameters = 0 } = description ?? {};
    return { id, name: name ?? (own || id), parameters, description: { ...description } };
}

function previewOf(examples: readonly ShownExample[]): PreviewExample[] {
    return examples.map(({ line, tokens, shown, weights }) => ({
        line,
        tokens,
        shown: shown.map((text, i) => ({ text, weight: weights[i] ?? 0 })),
    }));
}

function dataReport(id: string, read: DataReadResult): DataReport {
    const { format, examples, tokens, learnt_tokens, longest, questions, errors, error_count, preview } = read;
    return {
        id,
        format,
        examples,
        tokens,
        learntTokens: learnt_tokens,
        longest,
        questions,
        errors,
        errorCount: error_count,
        preview: previewOf(preview),
    };
}

type EngineSettings = Omit<TrainCreateArgs, 'model' | 'data' | 'backend'>;

/** In the engine's words. */
function engineSettings({ weightDecay, clipNorm, ...same }: TrainSettings): EngineSettings {
    return { ...same, weight_decay: weightDecay, clip_norm: clipNorm };
}

function trainingPlan(plan: TrainPlan | undefined): TrainingPlan {
    const { steps = 0, parameters = 0, memory = 0 } = plan ?? {};
    return { steps, parameters, memory, description: { ...plan } };
}

function trainingEvent(event: Methods['train.run']['event']): TrainingEvent {
    if (event.type === 'validation') return { ...event, loss: event.loss ?? NaN };
    if (event.type !== 'step') return event;
    const { type, step, steps, epoch, loss, lr, tokens_per_second, grad_norm } = event;
    return { type, step, steps, epoch, loss: loss ?? NaN, lr, tokensPerSecond: tokens_per_second, gradNorm: grad_norm ?? NaN };
}
