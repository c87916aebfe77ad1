// The library's front: load a model, then talk to it in the shapes of OpenAI's API. What is here checks requests and
// words answers; the engine itself is behind a Core, in this thread or in a worker.
import { Adapters } from './adapters.js';
import { answer, totalsOf, type AnswerOptions, type AnswerTotals } from './answer/answer.js';
import type { Ended } from './answer/events.js';
import type { CacheUsage } from './cache/cache.js';
import type { CachedFile } from './cache/entries.js';
import { ChatCompletions, Completions, Embeddings, type RequestOptions } from './endpoints.js';
import type { Core } from './core/core.js';
import { startCheck, type CheckOptions } from './core/check.js';
import { startCore } from './core/start.js';
import type { CallOptions, CallResult } from './engine.js';
import type { CheckReport, CheckRequest } from './gpu/check.js';
import { numberField, type JsonObject } from './json.js';
import type { KvFormat } from './kv-format.js';
import type { MediaInfo, MediaPart } from './media/parts.js';
import type { EngineInfo, LoadOptions, ModelSource } from './options.js';
import type { CompletionParams } from './openai.js';
import type { GenerateRequest } from './session.js';
import type { Probe, ProbeOptions } from './probe/probe.js';
import { callOptions, type TokenizeOptions, type WorkOptions } from './model.js';
import type { DataReadOptions, DataSet, DataSource, TrainOptions, TrainingSession } from './training.js';

export interface BenchRequest {
    /** Tokens to read; 512 unless told. */
    prompt?: number;
    /** Tokens to write; 128 unless told. */
    decode?: number;
    /** Tokens already in the context. */
    depth?: number;
    /** Measurements, of which the median counts. */
    runs?: number;
    kv?: KvFormat;
}

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

    /** What its answers took together. */
    get totals(): Readonly<AnswerTotals> {
        return totalsOf(this.core);
    }

    /** The engine's own request and its own events: what the other interfaces are worded from. */
    async generate(request: GenerateRequest, options: AnswerOptions = {}): Promise<Ended> {
        return await answer(this.core, request, options);
    }

    /**
     * What a picture, a sound or a film would cost, in tokens. It is decoded for that, and the next request with the same file
     * has it already.
     */
    async measure(part: MediaPart, options: { signal?: AbortSignal } = {}): Promise<MediaInfo> {
        return await this.core.measure(part, options);
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

    /** How many tokens a conversation would be as a prompt. Nothing is read. */
    async countTokens({ messages, tools, tool_choice, thinking }: GenerateRequest, options: RequestOptions = {}): Promise<number> {
        // In a session with next to no room nothing is written, and what there was no room for is told.
        const { json } = await this.call('session.create', { context: 1 });
        const session = numberField(json, 'session', 'the created session');
        try {
            const wanted = { session, messages, tools, tool_choice, thinking, overflow: 'stop', max_tokens: 1 };
            const told = await this.call('session.generate', wanted, callOptions(options));
            return numberField(told.json, 'prompt_tokens', 'the answer');
        } finally {
            await this.call('session.close', { session }).catch(() => undefined); // gone with its GPU, or with everything
        }
    }

    async tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'> = {}): Promise<Int32Array> {
        return await this.core.tokenize(text, options);
    }

    async detokenize(tokens: ArrayLike<number>, options: { special?: boolean } = {}): Promise<string> {
        return await this.core.detokenize(tokens, options);
    }

    /** For each text the mean of the model's last hidden states, of length 1: near texts have a large dot product. */
    async embed(texts: readonly string[], options: RequestOptions = {}): Promise<Float32Array[]> {
        const { checkTexts } = await import('./dialects/openai-embeddings-request.js');
        const request = { input: checkTexts(texts, 'texts'), truncate: true };
        return (await this.core.embed(request, options)).vectors;
    }

    /** Reads examples to learn from, and tells which lines are wrong. */
    async readData(source: DataSource, options: DataReadOptions = {}): Promise<DataSet> {
        return await (await import('./training.js')).readData(this.core, source, options);
    }

    /** Makes an adapter of the loaded model learn from examples. Begins when it is iterated. */
    async train(options: TrainOptions): Promise<TrainingSession> {
        return await (await import('./training.js')).startTraining(this.core, this.adapters, options);
    }

    /** How fast the model reads and writes here, as `lapidary bench` tells it. Conversations keep their memory. */
    async bench(request: BenchRequest = {}, options: WorkOptions = {}): Promise<JsonObject> {
        const { prompt = 512, decode = 128, depth = 0, kv } = request;
        const context = depth + Math.max(prompt, 2 * decode) + 1;
        const { json } = await this.call('session.create', { context, ...(kv === undefined ? {} : { kv }) });
        const session = numberField(json, 'session', 'the created session');
        try {
            const wanted = { ...request, session, prompt, decode, depth };
            return (await this.call('session.bench', wanted, callOptions(options))).json;
        } finally {
            await this.call('session.close', { session }).catch(() => undefined); // gone with its GPU, or with everything
        }
    }

    /**
     * A method of the engine itself, for what has no door of its own; docs/messages.md lists them. It is about the
     * loaded model unless `args` name another, and waits for its turn like every call. Those of the workshop are there
     * when the model was loaded with `workshop: true`.
     */
    async call(method: string, args: object, options: CallOptions = {}): Promise<CallResult> {
        return await this.core.call(method, args, options);
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

    /**
     * Whether this GPU computes what it should: every kernel against a slow and obvious version of itself. Fetches the
     * workshop, a larger engine, and needs no model.
     */
    async check(request: CheckRequest = {}, options: CheckOptions = {}): Promise<CheckReport> {
        return await startCheck(request, options);
    },

    /** What this device can do, which models fit and about how fast they would be, before anything is downloaded. */
    async probe(options: ProbeOptions = {}): Promise<Probe> {
        return await (await import('./probe/probe.js')).probe(options); // with the whole catalogue
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
