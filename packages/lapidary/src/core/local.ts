// The engine in this thread: a model, its conversations, the queue before them, and what happens when the GPU is lost.
import { LoadedAdapter } from '../adapter.js';
import { pause } from '../cache/pause.js';
import type { CallResult, Engine } from '../engine.js';
import { LapidaryError, cancelledError, messageOf, throwIfCancelled } from '../error.js';
import { optionalString, type JsonObject } from '../json.js';
import type { MediaInfo, MediaPart } from '../media/parts.js';
import { Model, type TokenizeOptions } from '../model.js';
import type { EngineInfo, LoadOptions, LoadProgress } from '../options.js';
import type { Runtime } from '../runtime.js';
import type { AdapterUse, GenerateEvent, GenerateRequest, GenerateResult, Logprob, Session } from '../session.js';
import { closePrepared, openPrepared, type OpenedSource } from '../sources/open.js';
import type { PreparedSource } from '../sources/prepared.js';
import { readExactly, type ByteSource } from '../sources/source.js';
import type { Log } from '../wasi.js';
import type { AskWorkshop } from '../workshop/calls.js';
import { Workshop, type BenchPlace } from '../workshop/workshop.js';
import { chooseBackend, chooseNewGpu, type Chosen } from './backend.js';
import { Conversations } from './conversations.js';
import type { CallContext, Core, EmbedRequest, Embedded, GenerateContext, RawContext, ScoreRequest } from './core.js';
import { embedTexts } from './embed.js';
import { loadSenses } from './load-senses.js';
import type { Media } from './media.js';
import { fitBudget, fittingContext, fittingConversations, roomyContext } from './memory.js';
import { Turns } from './turns.js';

/** The part of the options that the engine's own side needs; all of it can be posted. */
export type CoreOptions = Pick<
    LoadOptions,
    'accuracy' | 'adapters' | 'backend' | 'contextLength' | 'fetchMedia' | 'kv' | 'maxConversations' | 'memoryBudget' | 'perLayerEmbeddings' | 'rememberGpu' | 'roomy' | 'threads' | 'wasm' | 'workshop'
> & {
    mmproj?: PreparedSource;
    mmprojFound?: boolean;
};

export interface LocalContext {
    runtime: Runtime;
    log: Log;
    onProgress?: ((progress: LoadProgress) => void) | undefined;
    signal?: AbortSignal | undefined;
    /** Waited for before the weights of the first load. */
    onOpened?: LoadOptions['onOpened'];
    /** The engine was built anew and may be something else now. */
    onInfo?: (info: EngineInfo) => void;
    /** Whether this thread is the engine's own. */
    worker?: boolean;
    /** Milliseconds before each attempt to get another GPU after one was lost. */
    pauses?: readonly number[];
}

/** Everything that dies with a GPU. */
interface Opened {
    engine: Engine;
    model: Model;
    conversations: Conversations;
    place: BenchPlace;
    /** Take part in everything. */
    always: AdapterUse[];
    contextLength: number;
    /** If it has a projector. */
    media?: Media | undefined;
    /** The projector's own. */
    projector: readonly ByteSource[];
    /** Made when first needed. */
    reader?: Session;
}

// A GPU that is lost again and again while one answer is written will not be there for the rest of it either.
const mostLosses = 3;
// A driver that restarts is away for a moment.
const usualPauses = [0, 500, 2000];
// A driver also restarts when one piece of work keeps a slow GPU busy for seconds, and the next try would do the same: so
// a prompt whose reading cost the GPU is read in smaller pieces from then on. Where it was lost for another reason that
// costs little.
const smallerBlocks = [128, 16];

export class LocalCore implements Core {
    private readonly turns = new Turns();
    private readonly closing = new AbortController();
    private opened: Opened | undefined;
    private opening: Promise<Opened> | undefined;
    /** Why the GPU that was used is no more. */
    private lost: string | undefined;
    /** A prompt is being read: nothing of its answer has come yet. */
    private reading = false;
    /** How much of a prompt the GPU takes at once; undefined: as much as the engine likes. */
    private block: number | undefined;
    private current: EngineInfo | undefined;
    private hasWorkshop: boolean;
    /** What trains and adapts. */
    private readonly tools = new Workshop({
        inTurn: async (signal, work) => await this.inTurn(signal, async ({ place }) => await work(place)),
        onWaiting: (listener) => this.turns.onWaiting(listener),
    });

    private constructor(
        private readonly source: PreparedSource,
        private readonly options: CoreOptions,
        private readonly context: LocalContext,
    ) {
        // A module of the caller’s own is taken for the one with everything in it.
        this.hasWorkshop = options.workshop ?? options.wasm !== undefined;
    }

    /** From here on the source is the core's to close, also when this fails. */
    static async start(source: PreparedSource, options: CoreOptions, context: LocalContext): Promise<LocalCore> {
        const core = new LocalCore(source, options, context);
        const { signal } = context;
        const stop = () => core.closing.abort();
        signal?.addEventListener('abort', stop);
        try {
            throwIfCancelled(signal);
            await core.ready();
            return core;
        } catch (error) {
            await core.dispose();
            throw signal?.aborted ? cancelledError() : error;
        } finally {
            signal?.removeEventListener('abort', stop);
        }
    }

    get info(): EngineInfo {
        if (!this.current) throw new LapidaryError('internal', 'nothing is known of an engine that is not loaded');
        return this.current;
    }

    async generate(request: GenerateRequest, context: GenerateContext): Promise<GenerateResult> {
        const told = new ToldTokens(request.continue_tokens);
        return await this.inTurn(context.signal, async (opened) => {
            const { conversations, place, always } = opened;
            let asked = request.messages ? { ...request, report_tokens: true } : request;
            // Parts of another kind than text: what they are, those who can take them know.
            if (request.messages?.some(({ content }) => Array.isArray(content) && content.some((part) => (part as JsonObject)['type'] !== 'text'))) {
                const { mediaParts } = await loadSenses();
                const files = mediaParts(request.messages);
                if (files.length > 0) asked = { ...asked, messages: await (await this.media(opened, files)).place(request.messages, context.signal) };
            }
            const wanted = request.adapters ?? [];
            const asWell = wanted.length > 0 ? await this.tools.resolve(wanted, place, context.signal) : [];
            const adapters = [...always, ...asWell];
            // After a loss: the answer goes on behind what its reader has seen.
            const known = told.take();
            const resumed = known.length > 0 ? { ...asked, continue_tokens: known } : asked;
            const report = (tokens: number[]) => {
                if (request.report_tokens && tokens.length > 0) context.onEvent?.({ type: 'tokens', tokens });
            };
            this.reading = true;
            const result = await conversations.generate(adapters.length > 0 ? { ...resumed, adapters } : resumed, {
                ...context,
                onEvent: (event) => {
                    this.reading = false;
                    report(told.note(event));
                    if (event.type !== 'tokens') context.onEvent?.(event);
                },
            });
            report(told.settle());
            return result;
        });
    }

    async measure(part: MediaPart, { signal }: CallContext): Promise<MediaInfo> {
        return await this.inTurn(signal, async (opened) => await (await this.media(opened, [part])).measure(part, signal));
    }

    /** What takes pictures and sounds; a model without says so. */
    private async media({ media }: Opened, parts: readonly MediaPart[]): Promise<Media> {
        if (media) return media;
        throw (await loadSenses()).blind(parts);
    }

    readonly workshop: AskWorkshop = async (method, args, context) => {
        await this.openWorkshop(context?.signal);
        return await this.tools.handle(method, args, context);
    };

    async tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'>): Promise<Int32Array> {
        const { model } = await this.ready();
        return (await model.tokenize(text, options)).tokens;
    }

    async detokenize(tokens: ArrayLike<number>, options: { special?: boolean }): Promise<string> {
        const { model } = await this.ready();
        return await model.detokenize(Int32Array.from(tokens), options);
    }

    async embed(request: EmbedRequest, { signal, onProgress }: CallContext): Promise<Embedded> {
        return await this.inTurn(signal, async (opened) => {
            const reader = await this.reader(opened, signal);
            this.reading = true;
            return await embedTexts(opened.model, reader, request, opened.always, { signal, onProgress });
        });
    }

    async score({ tokens, top }: ScoreRequest, { signal, onProgress }: CallContext): Promise<Logprob[]> {
        return await this.inTurn(signal, async (opened) => {
            const reader = await this.reader(opened, signal);
            this.reading = true;
            return await reader.score(tokens, {
                top,
                adapters: opened.always,
                ...(signal ? { signal } : {}),
                ...(onProgress ? { onProgress } : {}),
            });
        });
    }

    /** For what is only read, so that no conversation is forgotten for it. */
    private async reader(opened: Opened, signal: AbortSignal | undefined): Promise<Session> {
        return (opened.reader ??= await this.createSession(opened.model, opened.contextLength, signal));
    }

    async call(method: string, args: object, { blob, onEvent, signal }: RawContext): Promise<CallResult> {
        return await this.turns.take(signal, async () => {
            try {
                const { model } = await this.ready();
                return await model.call(method, args, {
                    ...(blob ? { blob } : {}),
                    ...(onEvent ? { onEvent } : {}),
                    ...(signal ? { signal } : {}),
                });
            } catch (error) {
                // What it had made is gone, so it cannot be taken up again; the next call finds a new device.
                if (isLoss(error)) await this.lose(error);
                throw error;
            }
        });
    }

    async dispose(): Promise<void> {
        this.turns.close(disposedError());
        this.closing.abort();
        await this.opening?.catch(() => undefined);
        const { opened } = this;
        this.opened = undefined;
        if (opened) await close(opened);
        await closePrepared(this.source);
    }

    /**
     * The one place that knows about lost GPUs. A device is lost when a laptop sleeps or a driver restarts; then
     * everything on it is made anew and the work is taken up again.
     */
    private async inTurn<Result>(
        signal: AbortSignal | undefined,
        work: (opened: Opened) => Promise<Result>,
    ): Promise<Result> {
        return await this.turns.take(signal, async () => {
            for (let losses = 1; ; losses++) {
                this.reading = false;
                try {
                    return await work(await this.ready());
                } catch (error) {
                    if (this.closing.signal.aborted) throw disposedError();
                    throwIfCancelled(signal);
                    if (await this.enlarge(error)) continue;
                    if (!isLoss(error) || losses === mostLosses) throw error;
                    await this.lose(error);
                }
            }
        });
    }

    private async lose(error: LapidaryError): Promise<void> {
        this.context.log('warning', `${error.message}; everything on it is made anew`);
        if (this.reading) this.readInSmallerBlocks();
        if (this.current?.backend === 'gpu') this.lost = error.message;
        await this.giveUp();
    }

    private readInSmallerBlocks(): void {
        const block = smallerBlocks.find((smaller) => smaller < (this.block ?? Infinity));
        if (block === undefined) return;
        this.block = block;
        this.context.log('warning', `it was lost while it read a prompt, so prompts are read ${block} tokens at a time from now on`);
    }

    /** From the engine for conversations to the one with everything, with the same model. */
    private async openWorkshop(signal: AbortSignal | undefined): Promise<void> {
        if (this.hasWorkshop) return;
        await this.turns.take(signal, async () => {
            if (this.hasWorkshop) return;
            this.hasWorkshop = true;
            await this.giveUp();
        });
    }

    /** The engine of conversations met what only the one with everything can do: whether the other takes its place. */
    private async enlarge(error: unknown): Promise<boolean> {
        const needed = error instanceof LapidaryError && error.code === 'needs_everything';
        if (!needed || this.hasWorkshop) return false;
        this.context.log('info', `${error.message}: the larger engine is loaded`);
        this.hasWorkshop = true;
        await this.giveUp();
        return true;
    }

    private async giveUp(): Promise<void> {
        const { opened } = this;
        this.opened = undefined;
        if (opened) await close(opened);
    }

    /** The model, ready for use; built when it was not yet, or is no more. */
    private async ready(): Promise<Opened> {
        if (this.closing.signal.aborted) throw disposedError();
        if (this.opened && !this.opened.engine.usable) await this.giveUp(); // it trapped: its memory is of no use
        if (this.opened) return this.opened;
        this.opening ??= this.open(this.closing.signal).finally(() => {
            this.opening = undefined;
        });
        this.opened = await this.opening;
        return this.opened;
    }

    /** On the backend that was asked for; after a loss on another GPU, and on the CPU only when there is none. */
    private async open(signal: AbortSignal): Promise<Opened> {
        const { backend: wanted = 'auto' } = this.options;
        const { lost } = this;
        this.lost = undefined;
        if (lost === undefined) return await this.build(signal, (gpu) => chooseBackend(wanted, gpu, this.context.runtime.whyNoGpu));
        let problem = '';
        for (const milliseconds of this.context.pauses ?? usualPauses) {
            await pause(milliseconds, signal);
            try {
                return await this.build(signal, (gpu) => chooseNewGpu(wanted, gpu, lost, this.context.runtime.whyNoGpu));
            } catch (error) {
                throwIfCancelled(signal);
                problem = messageOf(error);
                this.context.log('warning', `no other GPU yet: ${problem}`);
            }
        }
        const why = `${lost}, and no other could be had (${problem}), so the CPU computes`;
        return await this.build(signal, async () => ({ backend: 'cpu', why }));
    }

    private async build(
        signal: AbortSignal,
        choose: (gpu: () => Promise<GPU | undefined>) => Promise<Chosen>,
    ): Promise<Opened> {
        const { runtime, log, onProgress } = this.context;
        const { memoryBudget } = this.options;
        onProgress?.({ stage: 'open', done: 0, total: 0 });
        const bytes = await openPrepared(this.source, runtime.openLocal, signal, (progress) => {
            const { done, total, note } = progress;
            onProgress?.({ stage: 'download', done, total, note });
        });
        const gpu = once(() => runtime.findGpu(log));
        const fallbackName = bytes.name ?? bytes.sources[0]?.name.replace(/\.gguf$/i, '') ?? 'model';
        let engine: Engine | undefined;
        let own: AlwaysAdapter[] = [];
        let projector: ByteSource[] = [];
        const closeSources = async () => {
            await Promise.allSettled([...bytes.sources, ...projector].map((source) => source.close()));
        };
        try {
            own = await readAdapters((await bytes.openAdapters?.()) ?? [], signal);
            projector = await this.openProjector(bytes.openProjector, signal);
            if (own.length > 0 || this.options.adapters?.length || projector.length > 0) this.hasWorkshop = true;
            engine = await runtime.makeEngine({ log, gpu, workshop: this.hasWorkshop });
            throwIfCancelled(signal);
        } catch (error) {
            engine?.close();
            await closeSources();
            throw error;
        }
        try {
            const model = await Model.open(engine, bytes.sources, signal);
            const description = await model.describe(signal, this.options.kv);
            if (description['supported'] === false) {
                throw new LapidaryError('unsupported', optionalString(description, 'reason') ?? 'this model cannot be run');
            }
            const { capabilities } = description;
            const sees = projector.length > 0 || capabilities?.includes('vision') || capabilities?.includes('audio');
            if (sees && !this.hasWorkshop) throw new LapidaryError('needs_everything', 'a model that sees and hears');
            const { backend, why } = await choose(gpu);
            if (!this.current) await this.context.onOpened?.(description, backend);
            throwIfCancelled(signal);
            const { perLayerEmbeddings: wanted, accuracy, threads } = this.options;
            const [towers] = projector;
            const sized = towers ? { ...description, towers: { bytes: towers.size } } : description;
            const roomy = this.options.roomy === true && this.options.contextLength === undefined;
            const context = roomy
                ? roomyContext(sized, memoryBudget)
                : fittingContext(description, this.options.contextLength);
            if (context < (this.options.contextLength ?? 0)) {
                const wished = `a context of ${this.options.contextLength} tokens was asked for`;
                log('warning', `${wished}, but the model holds ${context}: it has ${context}`);
            }
            const maxConversations =
                this.options.maxConversations ??
                (description['embedding_size'] === undefined ? fittingConversations(sized, context, memoryBudget, roomy) : 1);
            const perLayerEmbeddings = fitBudget(sized, context, maxConversations, memoryBudget, wanted);
            const loaded = await model.load(backend, {
                signal,
                memory: runtime.tuningCache,
                perLayerEmbeddings,
                accuracy,
                threads,
                onProgress: ({ done, total }) => onProgress?.({ stage: 'weights', done, total }),
            });
            const media = sees ? await this.openMedia(engine, model, projector, signal) : undefined;
            const conversations = new Conversations((stop) => this.createSession(model, context, stop), maxConversations);
            const first = await conversations.prepare(signal);
            this.tell({
                model: bytes.name ?? optionalString(description, 'name') ?? fallbackName,
                backend,
                why,
                ...(loaded.adapter === undefined ? {} : { adapter: loaded.adapter }),
                worker: this.context.worker ?? false,
                contextLength: first.context,
                maxConversations,
                weightBytes: loaded.bytes,
                ...(loaded.cpu === undefined ? {} : { cpu: loaded.cpu }),
                ...(loaded.perLayerEmbeddings === undefined ? {} : { perLayerEmbeddings: loaded.perLayerEmbeddings }),
                ...media?.senses,
                description,
            });
            // No conversation is held with a model of embeddings: what was prepared reads its texts.
            const reader = description['embedding_size'] === undefined ? {} : { reader: first };
            const always: AdapterUse[] = [];
            for (const { scale, ...files } of [...own, ...(this.options.adapters ?? [])]) {
                always.push((await LoadedAdapter.load(engine, model, files, signal)).use(scale));
            }
            const place = { engine, model: model.number, backend };
            return { engine, model, conversations, place, always, contextLength: first.context, media, projector, ...reader };
        } catch (error) {
            engine.close();
            await closeSources();
            if (await this.enlarge(error)) return await this.build(signal, choose);
            throw error;
        }
    }

    /** The one that was asked for, or that which belongs to the model. */
    private async openProjector(own: OpenedSource['openProjector'], signal: AbortSignal): Promise<ByteSource[]> {
        const { mmproj } = this.options;
        if (mmproj) return (await openPrepared(mmproj, this.context.runtime.openLocal, signal)).sources;
        return (await own?.()) ?? [];
    }

    /** A projector that was merely found may be of another model: then this one cannot see, and answers all the same. */
    private async openMedia(engine: Engine, model: Model, projector: readonly ByteSource[], signal: AbortSignal): Promise<Media | undefined> {
        try {
            return await (await loadSenses()).Media.open(engine, model.number, projector, this.options.fetchMedia ?? false, signal);
        } catch (error) {
            throwIfCancelled(signal);
            if (this.options.mmproj && !this.options.mmprojFound) throw error;
            this.context.log('warning', `it neither sees nor hears: ${messageOf(error)}`);
            return undefined;
        }
    }

    private async createSession(model: Model, context: number, signal: AbortSignal | undefined): Promise<Session> {
        const { kv } = this.options;
        return await model.createSession({
            context,
            ...(kv === undefined ? {} : { kv }),
            ...(this.block === undefined ? {} : { block: this.block }),
            ...(signal ? { signal } : {}),
        });
    }

    private tell(info: EngineInfo): void {
        const again = this.current !== undefined;
        this.current = info;
        this.context.log('info', `${info.model} computes on the ${info.backend.toUpperCase()}: ${info.why}`);
        if (again) this.context.onInfo?.(info);
    }
}

/** The tokens whose text its reader has, for an answer that has to go on. */
class ToldTokens {
    private readonly told: number[];
    /** Their text, if they have any by themselves, comes with the next event. */
    private announced: number[] = [];

    constructor(before: readonly number[] = []) {
        this.told = [...before];
    }

    /** Gives those that are told as soon as the event is. */
    note(event: GenerateEvent): number[] {
        const settled = this.settle();
        if (event.type === 'tokens') this.announced = event.tokens;
        if (event.type === 'text') this.told.push(...event.tokens);
        return settled;
    }

    settle(): number[] {
        const settled = this.announced;
        this.told.push(...settled);
        this.announced = [];
        return settled;
    }

    take(): number[] {
        this.announced = [];
        return [...this.told];
    }
}

type AlwaysAdapter = NonNullable<CoreOptions['adapters']>[number];

/** What belongs to the model, read as a whole: adapters are small. */
async function readAdapters(sources: readonly ByteSource[], signal: AbortSignal): Promise<AlwaysAdapter[]> {
    try {
        const read = sources.map(async (source) => ({ weights: await readExactly(source, 0, source.size, signal) }));
        return await Promise.all(read);
    } finally {
        await Promise.allSettled(sources.map((source) => source.close()));
    }
}

async function close({ engine, model, projector }: Opened): Promise<void> {
    engine.close(); // first: whoever waits is told, and the GPU is free at once
    await model.close().catch(() => undefined); // the sources
    await Promise.allSettled(projector.map((source) => source.close()));
}

function isLoss(error: unknown): error is LapidaryError {
    return error instanceof LapidaryError && error.code === 'device_lost';
}

function disposedError(): LapidaryError {
    return new LapidaryError('cancelled', 'the engine was disposed of');
}

function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
    let result: Promise<Result> | undefined;
    return () => (result ??= work());
}
