// A session is one conversation's memory: the engine keeps what it has read and re-uses the common beginning.
import type { Engine } from './engine.js';
import { LapidaryError } from './error.js';
import { isObject, numberField, optionalString, stringField, type JsonObject, type JsonValue } from './json.js';
import { callOptions, tokensToBytes, type WorkOptions } from './model.js';
import type { ByteSink, ByteSource } from './sources/source.js';

/** How the next token is chosen. What is left out, the engine takes from the model's own recommendation. */
export interface Sampling {
    temperature?: number;
    top_k?: number;
    top_p?: number;
    min_p?: number;
    repeat_penalty?: number;
    presence_penalty?: number;
    frequency_penalty?: number;
    seed?: number;
    logit_bias?: Record<string, number>;
}

export interface Message {
    role: string;
    content: string;
    [more: string]: JsonValue;
}

export interface GenerateRequest {
    /** Text to continue … */
    prompt?: string;
    /** … or its tokens, taken as they are … */
    prompt_tokens?: readonly number[];
    /** … or a conversation to answer: `Message`s, whose content may also be a list of parts. */
    messages?: readonly JsonObject[];
    tools?: readonly JsonObject[];
    /** `required`, or {type: 'function', function: {name}}: the answer is a call. The model decides unless told. */
    tool_choice?: JsonValue;
    thinking?: boolean;
    add_bos?: boolean;
    parse_special?: boolean;
    /** 0: until the model ends or the context is full. */
    max_tokens: number;
    sampling?: Sampling;
    stop?: readonly string[];
    /** What the answer must look like, as OpenAI spells it. */
    response_format?: JsonObject;
    /** Tell how likely each token was, and this many others at its place: 0 to 20. */
    logprobs?: number;
    /** What to do when the prompt leaves no room in the context. */
    overflow?: 'error' | 'stop' | 'slide';
    /** Tokens of an answer that was broken off: they are read with the prompt and not told again. */
    continue_tokens?: readonly number[];
    /** Adapters to answer with, and how much of each. */
    adapters?: readonly AdapterUse[];
    /** With messages: also tell the tokens, in events of their own, for `continue_tokens`. */
    report_tokens?: boolean;
}

export interface AdapterUse {
    /** In a request the adapter's id; for the engine its number. */
    adapter: string | number;
    /** 1 unless told. */
    scale?: number;
}

export interface Logprob {
    token: number;
    text: string;
    bytes?: number[];
    logprob: number;
    top: Omit<Logprob, 'top'>[];
}

export type GenerateEvent =
    | { type: 'text'; text: string; tokens: number[]; logprobs?: Logprob[] }
    | { type: 'content'; text: string; logprobs?: Logprob[] }
    | { type: 'reasoning'; text: string }
    | { type: 'tool_call'; call: JsonObject }
    | { type: 'invalid_tool_call'; text: string; error: string }
    | { type: 'tokens'; tokens: number[] };

export interface GenerateResult {
    text: string;
    finish_reason: string;
    prompt_tokens: number;
    completion_tokens: number;
    cached_tokens: number;
    prompt_ms: number;
    completion_ms: number;
    message?: Message;
    /** How many old messages were left out, where `overflow` allowed it. */
    dropped_messages?: number;
}

export interface PerplexityResult {
    perplexity: number;
    nll: number;
    tokens: number;
}

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
            { session: this.handle, sampling: {}, ...request },
            callOptions(options, (event) => {
                const known = generateEvent(event);
                if (known) onEvent?.(known);
            }),
        );
        return generateResult(json);
    }

    /** Writes the logits of every position, one row of float32 after the other. */
    async logits(
        tokens: ArrayLike<number>,
        sink: ByteSink,
        /** `atOnce`: how many tokens go through the model together; 1 is how answers are made. */
        options: WorkOptions & { atOnce?: number | undefined; adapters?: readonly AdapterUse[] } = {},
    ): Promise<{ tokens: number; vocabulary: number }> {
        const { atOnce, adapters = [] } = options;
        const number = this.engine.addSink(sink);
        try {
            const { json } = await this.engine.call(
                'session.logits',
                { session: this.handle, sink: number, adapters, ...(atOnce === undefined ? {} : { at_once: atOnce }) },
                { ...callOptions(options), blob: tokensToBytes(tokens) },
            );
            const what = 'the answer to logits';
            return { tokens: numberField(json, 'tokens', what), vocabulary: numberField(json, 'vocabulary', what) };
        } finally {
            this.engine.removeSink(number);
        }
    }

    /** By which the engine knows it. */
    get number(): number {
        return this.handle;
    }

    /** Speed: prompt tokens read and tokens written a second, and what a written one costs. */
    async bench(
        request: { prompt?: number; decode?: number; depth?: number; runs?: number },
        options: WorkOptions = {},
    ): Promise<JsonObject> {
        const args = { session: this.handle, ...request };
        return (await this.engine.call('session.bench', args, callOptions(options))).json;
    }

    /** The mean of the last hidden states of the tokens. Forgets what the session held. */
    async embed(
        tokens: ArrayLike<number>,
        signal?: AbortSignal,
        adapters: readonly AdapterUse[] = [],
    ): Promise<Float32Array> {
        const { blob } = await this.engine.call(
            'session.embed',
            { session: this.handle, adapters },
            { ...(signal ? { signal } : {}), blob: tokensToBytes(tokens) },
        );
        const view = new DataView(blob.buffer, blob.byteOffset, blob.length);
        return Float32Array.from({ length: blob.length / 4 }, (_, i) => view.getFloat32(i * 4, true));
    }

    /** How likely each token but the first was after those before it. Forgets what the session held. */
    async score(
        tokens: ArrayLike<number>,
        options: WorkOptions & { top?: number; adapters?: readonly AdapterUse[] } = {},
    ): Promise<Logprob[]> {
        const { top = 0, adapters = [] } = options;
        const { json } = await this.engine.call(
            'session.score',
            { session: this.handle, adapters, top },
            { ...callOptions(options), blob: tokensToBytes(tokens) },
        );
        const { scores } = json;
        if (!Array.isArray(scores)) throw new LapidaryError('internal', 'the answer to score has no list');
        return scores.map(logprob);
    }

    async perplexity(
        tokens: ArrayLike<number>,
        options: WorkOptions & { window?: number; adapters?: readonly AdapterUse[] } = {},
    ): Promise<PerplexityResult> {
        const { window, adapters = [] } = options;
        const { json } = await this.engine.call(
            'session.perplexity',
            { session: this.handle, adapters, ...(window === undefined ? {} : { window }) },
            { ...callOptions(options), blob: tokensToBytes(tokens) },
        );
        const what = 'the answer to perplexity';
        return {
            perplexity: numberField(json, 'perplexity', what),
            nll: numberField(json, 'nll', what),
            tokens: numberField(json, 'tokens', what),
        };
    }

    /** Writes what the session remembers, for `restore`; it goes on as before. */
    async save(sink: ByteSink, options: WorkOptions = {}): Promise<{ tokens: number; bytes: number }> {
        const number = this.engine.addSink(sink);
        try {
            const args = { session: this.handle, sink: number };
            const { json } = await this.engine.call('session.save', args, callOptions(options));
            const what = 'the answer to save';
            return { tokens: numberField(json, 'tokens', what), bytes: numberField(json, 'bytes', what) };
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
    ): Promise<{ tokens: number }> {
        const id = this.engine.addSource(source);
        try {
            const { adapters = [] } = options;
            const args = { session: this.handle, source: { id, size: source.size }, adapters };
            const { json } = await this.engine.call('session.restore', args, callOptions(options));
            return { tokens: numberField(json, 'tokens', 'the answer to restore') };
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

function generateEvent(event: JsonObject): GenerateEvent | undefined {
    const { type, text } = event;
    const tokens = Array.isArray(event['tokens']) ? event['tokens'].map(Number) : [];
    if (type === 'tool_call') return { type, call: event };
    if (type === 'tokens') return { type, tokens };
    if (typeof text !== 'string') return undefined;
    const logprobs = Array.isArray(event['logprobs']) ? { logprobs: event['logprobs'].map(logprob) } : {};
    if (type === 'text') return { type, text, tokens, ...logprobs };
    if (type === 'content') return { type, text, ...logprobs };
    if (type === 'reasoning') return { type, text };
    if (type === 'invalid_tool_call') return { type, text, error: optionalString(event, 'error') ?? '' };
    return undefined; // a newer engine may know more kinds
}

function logprob(value: JsonValue): Logprob {
    const what = 'a logprob of the engine';
    if (!isObject(value)) throw new LapidaryError('internal', `${what} is not an object`);
    const { bytes, top } = value;
    return {
        token: numberField(value, 'token', what),
        text: stringField(value, 'text', what),
        logprob: numberField(value, 'logprob', what),
        ...(Array.isArray(bytes) ? { bytes: bytes.map(Number) } : {}),
        top: Array.isArray(top) ? top.map(logprob) : [],
    };
}

function generateResult(json: JsonObject): GenerateResult {
    const what = 'the answer to generate';
    const result: GenerateResult = {
        text: stringField(json, 'text', what),
        finish_reason: stringField(json, 'finish_reason', what),
        prompt_tokens: numberField(json, 'prompt_tokens', what),
        completion_tokens: numberField(json, 'completion_tokens', what),
        cached_tokens: numberField(json, 'cached_tokens', what),
        prompt_ms: numberField(json, 'prompt_ms', what),
        completion_ms: numberField(json, 'completion_ms', what),
    };
    const { message, dropped_messages } = json;
    if (typeof dropped_messages === 'number') result.dropped_messages = dropped_messages;
    if (message === undefined) return result;
    if (!isObject(message)) throw new LapidaryError('internal', `${what} has a broken message`);
    // An answer made of tool calls alone has no content.
    const content = typeof message['content'] === 'string' ? message['content'] : '';
    return { ...result, message: { ...message, role: stringField(message, 'role', what), content } };
}
