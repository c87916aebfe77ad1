// A session is one conversation's memory: the engine keeps what it has read and re-uses the common beginning.
import type { Engine } from './engine.js';
import type * as messages from './messages.js';
import { callOptions, joined, tokensToBytes, type WorkOptions } from './work.js';
import type { ByteSink, ByteSource } from './sources/source.js';

export type { DiffusionSettings, Logprob, Sampling } from './messages.js';
/** Of a conversation: what was said, or the answer to it. */
export type Message = Omit<messages.AssistantMessage, 'role'> & { role: string };

export interface AdapterUse extends Omit<messages.AdapterUse, 'adapter'> {
    /** In a request the adapter's id; for the engine its number. */
    adapter: string | number;
}

export type GenerateRequest = Omit<messages.SessionGenerateArgs, 'session' | 'adapters' | 'max_tokens'> & {
    /** 0: until the model ends or the context is full. */
    max_tokens: number;
    /** Adapters to answer with, and how much of each. */
    adapters?: readonly AdapterUse[] | undefined;
};
export type GenerateEvent = Exclude<messages.Methods['session.generate']['event'], messages.Progress>;
export type GenerateResult = messages.SessionGenerateResult;
export type PerplexityResult = messages.SessionPerplexityResult;

export class Session {
    private closed = false;

    constructor(
        private readonly engine: Engine,
        private readonly handle: number,
        /** Tokens it can hold. */
        readonly context: number,
    ) {}

    async generate(
        request: GenerateRequest,
        options: WorkOptions & { onEvent?: (event: GenerateEvent) => void } = {},
    ): Promise<GenerateResult> {
        const { onEvent } = options;
        const { json } = await this.engine.call(
            'session.generate',
            { session: this.handle, ...request, adapters: engineAdapters(request.adapters) },
            callOptions(options, (event: GenerateEvent) => onEvent?.(event)),
        );
        return json;
    }

    /** Writes the logits of every position, one row of float32 after the other. */
    async logits(
        tokens: ArrayLike<number>,
        sink: ByteSink,
        /** `atOnce`: how many tokens go through the model together; 1 is how answers are made. */
        options: WorkOptions & { atOnce?: number | undefined; adapters?: readonly AdapterUse[]; media?: readonly messages.MediaUse[] } = {},
    ): Promise<messages.SessionLogitsResult> {
        const { atOnce, adapters = [], media } = options;
        const number = this.engine.addSink(sink);
        try {
            const { json } = await this.engine.call(
                'session.logits',
                { session: this.handle, sink: number, adapters: engineAdapters(adapters), at_once: atOnce, media },
                { ...callOptions(options), blob: tokensToBytes(tokens) },
            );
            return json;
        } finally {
            this.engine.removeSink(number);
        }
    }

    /**
     * Of a diffusion model: the logits of canvases behind a prompt, one row of float32 after the other. `tokens` are the
     * prompt's and then those of the canvases, each of which but the first is conditioned on the one before it.
     */
    async canvasLogits(
        tokens: ArrayLike<number>,
        sink: ByteSink,
        options: WorkOptions & { canvases: number; temperatures: readonly number[]; adapters?: readonly AdapterUse[] },
    ): Promise<messages.SessionCanvasLogitsResult> {
        const { canvases, temperatures, adapters = [] } = options;
        const number = this.engine.addSink(sink);
        try {
            const args = { session: this.handle, sink: number, canvases, temperatures, adapters: engineAdapters(adapters) };
            const { json } = await this.engine.call('session.canvas_logits', args, {
                ...callOptions(options),
                blob: tokensToBytes(tokens),
            });
            return json;
        } finally {
            this.engine.removeSink(number);
        }
    }

    /** Of a diffusion model: settles canvases with numbers that are given, and tells every step. Forgets what it held. */
    async diffuse(
        tokens: ArrayLike<number>,
        replay: Omit<messages.SessionDiffuseArgs, 'session' | 'adapters'>,
        options: WorkOptions & { adapters?: readonly AdapterUse[] } = {},
    ): Promise<messages.SessionDiffuseResult> {
        const { adapters = [] } = options;
        const args = { session: this.handle, ...replay, adapters: engineAdapters(adapters) };
        const { json } = await this.engine.call('session.diffuse', args, {
            ...callOptions(options),
            blob: tokensToBytes(tokens),
        });
        return json;
    }

    /** By which the engine knows it. */
    get number(): number {
        return this.handle;
    }

    /** Speed: prompt tokens read and tokens written a second, and what a written one costs. */
    async bench(
        request: Omit<messages.SessionBenchArgs, 'session'>,
        options: WorkOptions = {},
    ): Promise<messages.SessionBenchResult> {
        const args = { session: this.handle, ...request };
        return (await this.engine.call('session.bench', args, callOptions(options))).json;
    }

    /**
     * The vectors of texts given as tokens, not yet of length 1: what a model of embeddings makes of them, or the mean of
     * the last hidden states. Forgets what the session held.
     */
    async embedAll(
        texts: readonly ArrayLike<number>[],
        options: WorkOptions & { adapters?: readonly AdapterUse[] } = {},
    ): Promise<Float32Array[]> {
        const lengths = texts.map(({ length }) => length);
        const { blob } = await this.engine.call(
            'session.embed',
            { session: this.handle, lengths, adapters: engineAdapters(options.adapters ?? []) },
            { ...callOptions(options), blob: joined(texts.map((tokens) => tokensToBytes(tokens))) },
        );
        const view = new DataView(blob.buffer, blob.byteOffset, blob.length);
        const width = blob.length / 4 / texts.length;
        const number = (i: number) => view.getFloat32(i * 4, true);
        return texts.map((_, text) => Float32Array.from({ length: width }, (_, i) => number(text * width + i)));
    }

    /** The same of one text. */
    async embed(
        tokens: ArrayLike<number>,
        signal?: AbortSignal,
        adapters: readonly AdapterUse[] = [],
    ): Promise<Float32Array> {
        const [vector] = await this.embedAll([tokens], { adapters, ...(signal ? { signal } : {}) });
        return vector ?? new Float32Array();
    }

    /** How likely each token but the first was after those before it. Forgets what the session held. */
    async score(
        tokens: ArrayLike<number>,
        options: WorkOptions & { top?: number; adapters?: readonly AdapterUse[] } = {},
    ): Promise<messages.Logprob[]> {
        const { top = 0, adapters = [] } = options;
        const { json } = await this.engine.call(
            'session.score',
            { session: this.handle, adapters: engineAdapters(adapters), top },
            { ...callOptions(options), blob: tokensToBytes(tokens) },
        );
        return json.scores;
    }

    async perplexity(
        tokens: ArrayLike<number>,
        options: WorkOptions & { window?: number; adapters?: readonly AdapterUse[] } = {},
    ): Promise<PerplexityResult> {
        const { window, adapters = [] } = options;
        const { json } = await this.engine.call(
            'session.perplexity',
            { session: this.handle, adapters: engineAdapters(adapters), window },
            { ...callOptions(options), blob: tokensToBytes(tokens) },
        );
        return json;
    }

    /** Writes what the session remembers, for `restore`; it goes on as before. */
    async save(sink: ByteSink, options: WorkOptions = {}): Promise<messages.SessionSaveResult> {
        const number = this.engine.addSink(sink);
        try {
            const args = { session: this.handle, sink: number };
            const { json } = await this.engine.call('session.save', args, callOptions(options));
            return json;
        } finally {
            this.engine.removeSink(number);
        }
    }

    /**
     * Remembers what another session of the same model and `kv` has saved, instead of what it did. An error leaves it
     * usable: as it was, or empty where the bytes turned out to be damaged on the way. The source stays open.
     */
    async restore(
        source: ByteSource,
        /** `adapters`: those it was saved with. */
        options: WorkOptions & { adapters?: readonly AdapterUse[] } = {},
    ): Promise<messages.SessionRestoreResult> {
        const id = this.engine.addSource(source);
        try {
            const { adapters = [] } = options;
            const args = { session: this.handle, source: { id, size: source.size }, adapters: engineAdapters(adapters) };
            const { json } = await this.engine.call('session.restore', args, callOptions(options));
            return json;
        } finally {
            this.engine.removeSource(id);
        }
    }

    async close(): Promise<void> {
        if (this.closed) return;
        this.closed = true;
        if (this.engine.usable) await this.engine.call('session.close', { session: this.handle });
    }
}

/** As the engine takes them. */
export function engineAdapters(uses: readonly AdapterUse[] = []): messages.AdapterUse[] {
    return uses.map(({ adapter, scale }) => ({ adapter: Number(adapter), scale }));
}
