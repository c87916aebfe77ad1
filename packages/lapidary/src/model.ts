// A model as the host sees it: bytes that the engine opened, and the things one can ask about them.
import type { CallOptions, CallResult, Engine } from './engine.js';
import type { CpuInfo } from './cpu/kernels.js';
import { keep, recall, type TuningCache } from './gpu/tuning-cache.js';
import type * as messages from './messages.js';
import type { KvFormat } from './kv-format.js';
import { Session, engineAdapters, type AdapterUse } from './session.js';
import type { ByteSink, ByteSource } from './sources/source.js';
import { callOptions, joined, tokensFromBytes, tokensToBytes, type Progress, type WorkOptions } from './work.js';

export { callOptions, joined, tokensFromBytes, tokensToBytes, type Progress, type WorkOptions };

export type Backend = NonNullable<messages.ModelLoadArgs['backend']>;

export interface TokenizeOptions {
    /** Put the model's own beginning-of-text token first. */
    addBos?: boolean;
    /** Recognise the names of special tokens in the text. */
    parseSpecial?: boolean;
    /** Also tell the text of each token. */
    pieces?: boolean;
}

export interface SessionOptions {
    /** Tokens it can hold. */
    context?: number;
    /** One the model was loaded for; the GPU if it was. */
    backend?: Backend;
    /** How the GPU keeps keys and values: i16 unless told. */
    kv?: KvFormat;
    /** Tokens of a prompt that the GPU takes at once: 512 unless told, which is also the most. */
    block?: number;
    /** How the tokens of an image see one another: as the model was trained unless told. */
    image_attention?: 'reference' | 'llama.cpp';
    signal?: AbortSignal;
}

/** Of the table of per-layer embeddings: `auto` is the GPU if it has room. */
export type TablePlace = NonNullable<messages.ModelLoadArgs['per_layer_embeddings']>;

/**
 * `exact` is as close as sums of floats are, `fast` as close as most engines are, with activations of 8 bits. `reference` is slow
 * and obvious: what all else is compared with.
 */
export type CpuAccuracy = NonNullable<messages.ModelLoadArgs['accuracy']>;

export interface WeightOptions extends WorkOptions {
    /** False: the GPU gets the kernels it says it can run, without being tried first. */
    selfTest?: boolean;
    /** How many workgroups the GPU computes side by side, where that shall not be measured. */
    processors?: number;
    /** What is known about this computer's GPUs: one that was tried before need not be tried again. */
    memory?: TuningCache | undefined;
    /** Where the table of per-layer embeddings goes; `auto` unless told. Only the first load for the GPU decides. */
    perLayerEmbeddings?: TablePlace;
    /** How the CPU computes: `exact` unless told. Only the first load for it decides. */
    accuracy?: CpuAccuracy | undefined;
    /** That the CPU computes with: unless told as many as it has processors but one, 8 at most. */
    threads?: number | undefined;
    /** Features to do without, such as "subgroups". Only the first use of the GPU decides about them. */
    without?: readonly string[];
}

export interface LoadedWeights {
    bytes: number;
    /** The GPU in words. */
    adapter?: string;
    /** Where the table of per-layer embeddings is, when the model has one and is on the GPU. */
    perLayerEmbeddings?: NonNullable<messages.ModelLoadResult['per_layer_embeddings']>;
    /** Which kernels it got, and what the self-test found: for people who want to know why it is slow. */
    gpu?: messages.GpuKernels;
    /** How the CPU computes. */
    cpu?: CpuWeights;
}

export type CpuWeights = messages.CpuKernels & Partial<CpuInfo>;

export class Model {
    private closed = false;

    private constructor(
        readonly engine: Engine,
        private readonly handle: number,
        private readonly sourceNumbers: readonly number[],
        private readonly sources: readonly ByteSource[],
    ) {}

    /** Reads the header. From here on the model owns the sources and closes them, also when opening fails. */
    static async open(engine: Engine, sources: readonly ByteSource[], signal?: AbortSignal): Promise<Model> {
        const numbers = sources.map((source) => engine.addSource(source));
        try {
            const { json } = await engine.call(
                'model.open',
                { sources: sources.map(({ size }, i) => ({ id: numbers[i] ?? 0, size })) },
                signal ? { signal } : {},
            );
            return new Model(engine, json.model, numbers, sources);
        } catch (error) {
            await release(engine, numbers, sources);
            throw error;
        }
    }

    /** By which the engine knows it. */
    get number(): number {
        return this.handle;
    }

    /** What the file says about itself, with the memory for keys and values kept as `kv`. Needs no loaded weights. */
    async describe(signal?: AbortSignal, kv?: KvFormat): Promise<messages.ModelDescription> {
        return (await this.engine.call('model.describe', { model: this.handle, kv }, signal ? { signal } : {})).json;
    }

    async load(backend: Backend, options: WeightOptions = {}): Promise<LoadedWeights> {
        const { selfTest, processors, without, memory, perLayerEmbeddings, accuracy, threads, ...work } = options;
        const remembers = backend === 'gpu' && selfTest !== false ? memory : undefined;
        const known = remembers ? await recall(remembers) : [];
        const cpuInfo = backend === 'cpu' && accuracy !== 'reference' ? await this.engine.openCpu({ threads }) : undefined;
        const args = {
            model: this.handle,
            backend,
            accuracy,
            selftest: selfTest,
            processors,
            without_features: without,
            per_layer_embeddings: perLayerEmbeddings,
            gpu_choice: known.length > 0 ? known.join('\n') : undefined,
        };
        const { json } = await this.engine.call('model.load', args, callOptions(work));
        const { bytes, adapter, gpu, cpu, per_layer_embeddings: place, gpu_choice: found } = json;
        if (remembers && found) await keep(remembers, known, found);
        return {
            bytes,
            ...(place ? { perLayerEmbeddings: place } : {}),
            ...(adapter ? { adapter } : {}),
            ...(gpu ? { gpu } : {}),
            ...(cpu ? { cpu: { ...(cpu.accuracy === 'reference' ? {} : cpuInfo), ...cpu } } : {}),
        };
    }

    async tokenize(text: string, options: TokenizeOptions = {}): Promise<{ tokens: Int32Array; pieces: string[] }> {
        const { addBos = true, parseSpecial = true, pieces = false } = options;
        const { json, blob } = await this.engine.call(
            'model.tokenize',
            { model: this.handle, add_bos: addBos, parse_special: parseSpecial, pieces },
            { blob: new TextEncoder().encode(text) },
        );
        return { tokens: tokensFromBytes(blob), pieces: json.pieces };
    }

    /** Texts as `Session.embedAll` wants them, at most so many tokens of each, and how many each has. */
    async embeddingInput(
        texts: readonly string[],
        { task, title, most }: { task?: string | undefined; title?: string | undefined; most?: number },
    ): Promise<{ tokens: Int32Array; whole: number }[]> {
        const encoded = texts.map((text) => new TextEncoder().encode(text));
        const { json, blob } = await this.engine.call(
            'model.embedding_input',
            {
                model: this.handle,
                lengths: encoded.map(({ length }) => length),
                ...(task === undefined ? {} : { task }),
                ...(title === undefined ? {} : { title }),
                ...(most === undefined || most === Infinity ? {} : { most }),
            },
            { blob: joined(encoded) },
        );
        const tokens = tokensFromBytes(blob);
        let at = 0;
        return json.lengths.map((length, i) => ({ tokens: tokens.subarray(at, (at += length)), whole: json.whole[i] ?? length }));
    }

    async detokenize(tokens: Int32Array, options: { special?: boolean } = {}): Promise<string> {
        const { json } = await this.engine.call(
            'model.detokenize',
            { model: this.handle, special: options.special ?? true },
            { blob: tokensToBytes(tokens) },
        );
        return json.text;
    }

    /** The weights must be loaded. */
    async createSession(options: SessionOptions = {}): Promise<Session> {
        const { signal, ...wanted } = options;
        const { json } = await this.engine.call(
            'session.create',
            { model: this.handle, ...wanted },
            signal ? { signal } : {},
        );
        return new Session(this.engine, json.session, json.context);
    }

    /** Writes the model with its weights in another type; nothing needs to be loaded for it. */
    async quantize(type: string, sink: ByteSink, options: WorkOptions = {}): Promise<messages.WrittenModel> {
        const number = this.engine.addSink(sink);
        try {
            const args = { model: this.handle, type, sink: number };
            return (await this.engine.call('model.quantize', args, callOptions(options))).json;
        } finally {
            this.engine.removeSink(number);
        }
    }

    /** Any method of the engine that takes a model. */
    async call(method: string, args: object, options: CallOptions = {}): Promise<CallResult> {
        return await this.engine.call(method, { model: this.handle, ...args }, options);
    }

    /** Writes the model with adapters worked into its weights, in a type of `quantize` or, with `same`, in its own. */
    async merge(
        adapters: readonly AdapterUse[],
        type: string,
        sink: ByteSink,
        options: WorkOptions = {},
    ): Promise<messages.WrittenModel> {
        const number = this.engine.addSink(sink);
        try {
            const args = { model: this.handle, adapters: engineAdapters(adapters), type, sink: number };
            return (await this.engine.call('model.merge', args, callOptions(options))).json;
        } finally {
            this.engine.removeSink(number);
        }
    }

    async close(): Promise<void> {
        if (this.closed) return;
        this.closed = true;
        try {
            if (this.engine.usable) await this.engine.call('model.close', { model: this.handle });
        } finally {
            await release(this.engine, this.sourceNumbers, this.sources);
        }
    }
}

async function release(engine: Engine, numbers: readonly number[], sources: readonly ByteSource[]): Promise<void> {
    for (const number of numbers) engine.removeSource(number);
    await Promise.allSettled(sources.map((source) => source.close()));
}
