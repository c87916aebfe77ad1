// The library's front: load a model, then talk to it in the shapes of OpenAI's API. What is here checks requests and
// words answers; the engine itself is behind a Core, in this thread or in a worker.
import { Adapters } from './adapters.js';
import type { CacheUsage } from './cache/cache.js';
import type { CachedFile } from './cache/entries.js';
import { ChatCompletions, Completions, Embeddings, checkTexts, type RequestOptions } from './endpoints.js';
import type { Core } from './core/core.js';
import { startCore } from './core/start.js';
import type { EngineInfo, LoadOptions, ModelSource } from './options.js';
import type { CompletionParams } from './openai.js';
import { probe, type Probe, type ProbeOptions } from './probe/probe.js';
import type { TokenizeOptions } from './model.js';
import type { DataReadOptions, DataSet, DataSource, TrainOptions, TrainingSession } from './training.js';

/** A loaded model. Calls may be made at any time: they wait for each other and are answered in order. */
export class LoadedEngine {
    readonly chat: { readonly completions: ChatCompletions };
    readonly completions: Completions;
    readonly embeddings: Embeddings;
    readonly adapters: Adapters;

    /** @internal Use `Lapidary.load`. */
    constructor(private readonly core: Core) {
        this.chat = { completions: new ChatCompletions(core) };
        this.completions = new Completions(core);
        this.embeddings = new Embeddings(core);
        this.adapters = new Adapters(core);
    }

    /** What was loaded and where it runs. After the GPU was lost it may tell something new. */
    get info(): EngineInfo {
        return this.core.info;
    }

    /** Continues a text, and gives the continuation alone. */
    async complete(
        prompt: string,
        params: Omit<CompletionParams, 'prompt' | 'stream' | 'stream_options'> = {},
        options: RequestOptions = {},
    ): Promise<string> {
        const { choices } = await this.completions.create({ ...params, prompt, stream: false }, options);
        return choices[0]?.text ?? '';
    }

    async tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'> = {}): Promise<Int32Array> {
        return await this.core.tokenize(text, options);
    }

    async detokenize(tokens: ArrayLike<number>, options: { special?: boolean } = {}): Promise<string> {
        return await this.core.detokenize(tokens, options);
    }

    /** For each text the mean of the model's last hidden states, of length 1: near texts have a large dot product. */
    async embed(texts: readonly string[], options: RequestOptions = {}): Promise<Float32Array[]> {
        return (await this.core.embed(checkTexts(texts, 'texts'), options)).vectors;
    }

    /** Reads examples to learn from, and tells which lines are wrong. */
    async readData(source: DataSource, options: DataReadOptions = {}): Promise<DataSet> {
        return await (await import('./training.js')).readData(this.core, source, options);
    }

    /** Makes an adapter of the loaded model learn from examples. Begins when it is iterated. */
    async train(options: TrainOptions): Promise<TrainingSession> {
        return await (await import('./training.js')).startTraining(this.core, this.adapters, options);
    }

    /** Gives everything back. Calls under way and later ones fail with the code `cancelled`. May be called twice. */
    async dispose(): Promise<void> {
        await this.core.dispose();
    }
}

export const Lapidary = {
    /** Loads a model and everything that runs it. */
    async load(source: ModelSource, options: LoadOptions = {}): Promise<LoadedEngine> {
        return new LoadedEngine(await startCore(source, options));
    },

    /** What this device can do, which models fit and about how fast they would be, before anything is downloaded. */
    async probe(options: ProbeOptions = {}): Promise<Probe> {
        return await probe(options);
    },

    /** What is kept of models in this browser. Elsewhere, and where the browser keeps nothing, it is empty. */
    cache: {
        async list(): Promise<CachedFile[]> {
            return await (await originCache()).list();
        },
        /** By key or name; false when there is no such thing. */
        async remove(name: string): Promise<boolean> {
            return await (await originCache()).remove(name);
        },
        /** Undefined where nothing can be kept. */
        async usage(): Promise<CacheUsage | undefined> {
            return await (await originCache()).usage();
        },
    },
};

/** Loaded late: few pages ask for it, and the engine's worker has its own. */
async function originCache() {
    return (await import('./cache/open-cached.js')).originCache;
}
