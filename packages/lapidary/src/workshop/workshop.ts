// Adapters, data sets and trainings of one engine. An engine may be built anew when its GPU is lost: everything here
// remembers how it was made and is made again, a training from its last checkpoint.
import type { Engine } from '../engine.js';
import { LapidaryError, throwIfCancelled } from '../error.js';
import { isObject, numberField, type JsonObject, type JsonValue } from '../json.js';
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
    args: JsonObject;
}

interface KeptTraining extends Kept {
    data: string;
    args: JsonObject;
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
            removeAdapter: () => this.remove(this.adapters, 'adapter', given),
            exportAdapter: () => this.exportAdapter(given, signal),
            readData: () => this.readData(given, signal),
            previewData: () => this.previewData(given, signal),
            closeData: () => this.remove(this.data, 'data', given),
            createTraining: () => this.createTraining(given, signal),
            runTraining: () => this.runTraining(given, context as WorkshopContext<'runTraining'>),
            checkpoint: () => this.checkpoint(given, signal),
            trainedAdapter: () => this.trainedAdapter(given, signal),
            closeTraining: () => this.remove(this.trainings, 'train', given),
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

    private async placeAdapter(kept: KeptAdapter, at: BenchPlace, signal?: AbortSignal): Promise<JsonObject> {
        if (kept.at === at) return {};
        const { weights, config, name } = kept.files;
        const args = { model: at.model, ...(name === undefined ? {} : { name }), ...(config === undefined ? {} : { config }) };
        const blob = await bytesOf(weights);
        const { json } = await at.engine.call('adapter.load', args, { blob, ...(signal ? { signal } : {}) });
        kept.handle = numberField(json, 'adapter', 'the loaded adapter');
        kept.at = at;
        return isObject(json['description']) ? json['description'] : {};
    }

    private async exportAdapter(
        { id, format, type }: WorkshopCalls['exportAdapter']['args'],
        signal?: AbortSignal,
    ): Promise<ExportedFile[]> {
        const kept = found(this.adapters, id, 'adapter');
        return await this.bench.inTurn(signal, async (at) => {
            await this.placeAdapter(kept, at, signal);
            return await exported(at, kept.handle, format, type, signal);
        });
    }

    private async readData(
        { file, options, preview }: WorkshopCalls['readData']['args'],
        signal?: AbortSignal,
    ): Promise<DataReport> {
        const { seq, ...rest } = options;
        const kept: KeptData = { file, args: { ...rest, ...(seq === undefined ? {} : { longest: seq }), preview }, handle: 0 };
        const id = this.name('data');
        return await this.bench.inTurn(signal, async (at) => {
            const json = await this.placeData(kept, at, signal);
            this.data.set(id, kept);
            return dataReport(id, json);
        });
    }

    private async placeData(kept: KeptData, at: BenchPlace, signal?: AbortSignal): Promise<JsonObject> {
        if (kept.at === at) return {};
        const blob = await bytesOf(kept.file);
        const args = { model: at.model, ...kept.args };
        const { json } = await at.engine.call('data.read', args, { blob, ...(signal ? { signal } : {}) });
        kept.handle = numberField(json, 'data', 'the data set');
        kept.at = at;
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
            return previewOf(json['preview']);
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
            const json = await this.placeTraining(kept, at, signal);
            this.trainings.set(id, kept);
            return { id, step: kept.step, plan: trainingPlan(json) };
        });
    }

    private async placeTraining(kept: KeptTraining, at: BenchPlace, signal?: AbortSignal): Promise<JsonObject> {
        if (kept.at === at) return {};
        const data = found(this.data, kept.data, 'data set');
        await this.placeData(data, at, signal);
        const stop = signal ? { signal } : {};
        const args = { model: at.model, backend: at.backend, data: data.handle, ...kept.args };
        const { json } = await at.engine.call('train.create', args, stop);
        kept.handle = numberField(json, 'train', 'the created training');
        kept.step = 0;
        if (kept.checkpoint !== undefined) {
            const blob = await bytesOf(kept.checkpoint);
            const restored = await at.engine.call('train.restore', { train: kept.handle }, { blob, ...stop });
            kept.step = Number(restored.json['step'] ?? 0);
            kept.saved = kept.step;
        }
        kept.at = at;
        return json;
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
                onEvent: (json) => {
                    const event = trainingEvent(json);
                    if (event?.type === 'step') kept.step = event.step;
                    if (event) tell(event);
                },
            });
            return json['finished'] === true;
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
            const args = { train: kept.handle, ...(name === undefined ? {} : { name }) };
            const { json } = await at.engine.call('train.adapter', args, signal ? { signal } : {});
            const handle = numberField(json, 'adapter', 'the trained adapter');
            // Its bytes too: should the engine be built anew, it is loaded from them.
            const [file] = await exported(at, handle, 'gguf', 'f32', signal);
            if (!file) throw new LapidaryError('internal', 'the engine exported no file');
            const described = await at.engine.call('adapter.describe', { adapter: handle });
            const own = this.name('adapter');
            const files = { weights: file.bytes, ...(name === undefined ? {} : { name }) };
            this.adapters.set(own, { files, at, handle });
            return adapterInfo(own, name, described.json);
        });
    }

    /** Removing what is already gone does nothing. */
    private async remove(from: Map<string, Kept>, what: 'adapter' | 'data' | 'train', id: string): Promise<void> {
        const kept = from.get(id);
        from.delete(id);
        if (!kept?.at?.engine.usable) return;
        await kept.at.engine.call(`${what}.close`, { [what]: kept.handle }).catch(() => undefined);
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

async function exported(
    { engine }: BenchPlace,
    adapter: number,
    format: string,
    type: string | undefined,
    signal: AbortSignal | undefined,
): Promise<ExportedFile[]> {
    const args = { adapter, format, ...(type === undefined ? {} : { type }) };
    const { json, blob } = await engine.call('adapter.export', args, signal ? { signal } : {});
    const files = Array.isArray(json['files']) ? json['files'].filter(isObject) : [];
    return files.map((file) => {
        const what = 'an exported file';
        const offset = numberField(file, 'offset', what);
        return { name: String(file['name']), bytes: blob.slice(offset, offset + numberField(file, 'size', what)) };
    });
}

function adapterInfo(id: string, name: string | undefined, description: JsonObject): AdapterInfo {
    const own = typeof description['name'] === 'string' && description['name'] !== '' ? description['name'] : id;
    return { id, name: name ?? own, parameters: Number(description['parameters'] ?? 0), description };
}

function previewOf(value: JsonValue | undefined): PreviewExample[] {
    return (Array.isArray(value) ? value.filter(isObject) : []).map((example) => {
        const weights = Array.isArray(example['weights']) ? example['weights'].map(Number) : [];
        const texts = Array.isArray(example['shown']) ? example['shown'].map(String) : [];
        return {
            line: Number(example['line']),
            tokens: Number(example['tokens']),
            shown: texts.map((text, i) => ({ text, weight: weights[i] ?? 0 })),
        };
    });
}

function dataReport(id: string, json: JsonObject): DataReport {
    const what = 'the data set';
    const errors = Array.isArray(json['errors']) ? json['errors'].filter(isObject) : [];
    return {
        id,
        format: String(json['format']),
        examples: numberField(json, 'examples', what),
        tokens: numberField(json, 'tokens', what),
        learntTokens: numberField(json, 'learnt_tokens', what),
        longest: numberField(json, 'longest', what),
        questions: Array.isArray(json['questions']) ? json['questions'].map(String) : [],
        errors: errors.map(({ line, message }) => ({ line: Number(line), message: String(message) })),
        errorCount: numberField(json, 'error_count', what),
        preview: previewOf(json['preview']),
    };
}

/** In the engine's words. */
function engineSettings(settings: TrainSettings): JsonObject {
    const { weightDecay, clipNorm, targets, samples, ...same } = settings;
    return {
        ...same,
        ...(weightDecay === undefined ? {} : { weight_decay: weightDecay }),
        ...(clipNorm === undefined ? {} : { clip_norm: clipNorm }),
        ...(targets === undefined ? {} : { targets: [...targets] }),
        ...(samples === undefined ? {} : { samples: [...samples] }),
    };
}

function trainingPlan(json: JsonObject): TrainingPlan {
    const plan = isObject(json['plan']) ? json['plan'] : json;
    return {
        steps: Number(plan['steps'] ?? 0),
        parameters: Number(plan['parameters'] ?? 0),
        memory: Number(plan['memory'] ?? 0),
        description: plan,
    };
}

function trainingEvent(json: JsonObject): TrainingEvent | undefined {
    const number = (name: string) => Number(json[name] ?? 0);
    const { type } = json;
    if (type === 'step') {
        return {
            type,
            step: number('step'),
            steps: number('steps'),
            epoch: number('epoch'),
            loss: number('loss'),
            lr: number('lr'),
            tokensPerSecond: number('tokens_per_second'),
            gradNorm: number('grad_norm'),
        };
    }
    if (type === 'validation') return { type, step: number('step'), loss: number('loss') };
    if (type === 'sample') return { type, step: number('step'), prompt: String(json['prompt']), text: String(json['text']) };
    return undefined; // a newer engine may know more kinds
}
