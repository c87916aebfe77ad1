// `lapidary/prompt-api`: the shape of Chrome's built-in `LanguageModel`, with a model of one's own behind it.
import type { AnswerEvent } from './answer/events.js';
import { streamOf, type Stream } from './answer/stream.js';
import { Turns } from './core/turns.js';
import { messagesOf, requestOf, type PromptInput, type PromptMessage } from './dialects/prompt-api.js';
import { LapidaryError } from './error.js';
import type { JsonObject } from './json.js';
import { Lapidary, LoadedEngine } from './lapidary.js';
import type { LoadOptions, ModelSource } from './options.js';
import type { ChatMessage } from './openai.js';

export type { PromptInput, PromptMessage, PromptPart } from './dialects/prompt-api.js';

export type Availability = 'unavailable' | 'downloadable' | 'downloading' | 'available';

/** Fires `downloadprogress` with `loaded` from 0 to 1. */
export type CreateMonitor = EventTarget;

export interface CreateOptions {
    initialPrompts?: readonly PromptMessage[];
    /** Both or neither. */
    temperature?: number;
    topK?: number;
    signal?: AbortSignal;
    monitor?: (monitor: CreateMonitor) => void;
}

export interface PromptOptions {
    signal?: AbortSignal;
    /** A JSON schema that the answer keeps to. */
    responseConstraint?: JsonObject;
}

export class DownloadProgressEvent extends Event {
    readonly total = 1;

    constructor(readonly loaded: number) {
        super('downloadprogress');
    }
}

/** What `globalThis.LanguageModel` is in Chrome. */
export class LanguageModelFactory {
    private engine: Promise<LoadedEngine> | undefined;
    private loaded = false;
    private readonly monitors = new Set<EventTarget>();

    constructor(
        private readonly source: ModelSource | LoadedEngine,
        private readonly options: LoadOptions,
    ) {
        if (source instanceof LoadedEngine) {
            this.engine = Promise.resolve(source);
            this.loaded = true;
        }
    }

    async availability(): Promise<Availability> {
        if (this.loaded) return 'available';
        return this.engine ? 'downloading' : 'downloadable';
    }

    async params(): Promise<{ defaultTopK: number; maxTopK: number; defaultTemperature: number; maxTemperature: number }> {
        return { defaultTopK: 64, maxTopK: 1024, defaultTemperature: 1, maxTemperature: 2 };
    }

    /** Loads the model when it is needed for the first time; all sessions share it. */
    async create(options: CreateOptions = {}): Promise<LanguageModelSession> {
        const { initialPrompts = [], temperature, topK, signal, monitor } = options;
        if ((temperature === undefined) !== (topK === undefined)) {
            throw new DOMException('temperature and topK must be given together', 'NotSupportedError');
        }
        signal?.throwIfAborted();
        const listener = new EventTarget();
        monitor?.(listener);
        this.monitors.add(listener);
        try {
            const engine = await untilAborted(this.load(), signal);
            const sampling = temperature === undefined || topK === undefined ? undefined : { temperature, topK };
            return new LanguageModelSession(engine, messagesOf(initialPrompts), [], sampling);
        } finally {
            this.monitors.delete(listener);
        }
    }

    /** Ours: gives the model back if it was loaded here; the next session loads it again. */
    async dispose(): Promise<void> {
        if (this.source instanceof LoadedEngine) return;
        const { engine } = this;
        this.engine = undefined;
        this.loaded = false;
        await (await engine?.catch(() => undefined))?.dispose();
    }

    private async load(): Promise<LoadedEngine> {
        const tell = (loaded: number) => {
            for (const monitor of this.monitors) monitor.dispatchEvent(new DownloadProgressEvent(loaded));
        };
        if (this.loaded) tell(1);
        if (this.source instanceof LoadedEngine) return this.source;
        this.engine ??= Lapidary.load(this.source, {
            ...this.options,
            onProgress: (progress) => {
                this.options.onProgress?.(progress);
                if (progress.total > 0) tell(progress.done / progress.total);
            },
        });
        try {
            const engine = await this.engine;
            this.loaded = true;
            return engine;
        } catch (error) {
            this.engine = undefined; // the next one may have more luck
            throw error;
        }
    }
}

/** `const LanguageModel = promptApi('builtin')`, or over an engine that is loaded already. */
export function promptApi(source: ModelSource | LoadedEngine, options: LoadOptions = {}): LanguageModelFactory {
    return new LanguageModelFactory(source, options);
}

interface Sampling {
    temperature: number;
    topK: number;
}

/** One conversation. Fires `quotaoverflow` when old messages had to be forgotten. */
export class LanguageModelSession extends EventTarget {
    private used = 0;
    private readonly ended = new AbortController();
    private readonly turns = new Turns();

    /** @internal */
    constructor(
        private readonly engine: LoadedEngine,
        private readonly initial: readonly ChatMessage[],
        private history: ChatMessage[],
        private readonly sampling: Sampling | undefined,
    ) {
        super();
    }

    /** Tokens of the conversation so far. */
    get inputUsage(): number {
        return this.used;
    }

    /** Tokens a conversation can hold. */
    get inputQuota(): number {
        return this.engine.info.contextLength;
    }

    get temperature(): number | undefined {
        return this.sampling?.temperature;
    }

    get topK(): number | undefined {
        return this.sampling?.topK;
    }

    async prompt(input: PromptInput, options: PromptOptions = {}): Promise<string> {
        let text = '';
        for await (const delta of this.answer(input, options)) text += delta;
        return text;
    }

    /** The answer in pieces, as they are written. */
    promptStreaming(input: PromptInput, options: PromptOptions = {}): ReadableStream<string> {
        const deltas = this.answer(input, options);
        return new ReadableStream<string>({
            pull: async (controller) => {
                const { done, value } = await deltas.next();
                if (done) controller.close();
                else controller.enqueue(value);
            },
            cancel: async () => {
                await deltas.return(undefined);
            },
        });
    }

    /** Adds to the conversation without asking for an answer. */
    async append(input: PromptInput, { signal }: PromptOptions = {}): Promise<void> {
        this.check(signal);
        const messages = messagesOf(input);
        this.used += await this.count(messages);
        await this.turns.take(signal, async () => void this.history.push(...messages));
    }

    /** About how many tokens the input would take. */
    async measureInputUsage(input: PromptInput, { signal }: PromptOptions = {}): Promise<number> {
        this.check(signal);
        return await this.count(messagesOf(input));
    }

    /** A second conversation that begins like this one. */
    async clone({ signal }: { signal?: AbortSignal } = {}): Promise<LanguageModelSession> {
        this.check(signal);
        const copy = new LanguageModelSession(this.engine, this.initial, [...this.history], this.sampling);
        copy.used = this.used;
        return copy;
    }

    destroy(): void {
        this.ended.abort(new DOMException('the session was destroyed', 'AbortError'));
        this.turns.close(new LapidaryError('cancelled', 'the session was destroyed'));
    }

    private async *answer(
        input: PromptInput,
        { signal, responseConstraint }: PromptOptions,
    ): AsyncGenerator<string, undefined, undefined> {
        this.check(signal);
        const asked = messagesOf(input);
        const stop = new AbortController();
        const follow = () => stop.abort();
        const signals = signal ? [signal, this.ended.signal] : [this.ended.signal];
        for (const each of signals) each.addEventListener('abort', follow);
        // A generator cannot run inside a turn's callback, so the turn is held open until the generator ends.
        let leave: () => void = () => undefined;
        const over = new Promise<void>((resolve) => (leave = resolve));
        try {
            await new Promise<void>((enter, refuse) => {
                this.turns
                    .take(stop.signal, () => {
                        enter();
                        return over;
                    })
                    .catch(refuse);
            });
            let text = '';
            for await (const event of await this.open(asked, responseConstraint, stop.signal)) {
                if (event.type === 'end') this.used = event.usage.prompt + event.usage.completion;
                if (event.type !== 'content' || event.text === '') continue;
                text += event.text;
                yield event.text;
            }
            this.history.push(...asked, { role: 'assistant', content: text });
        } catch (error) {
            for (const each of signals) each.throwIfAborted();
            throw error;
        } finally {
            leave();
            stop.abort();
            for (const each of signals) each.removeEventListener('abort', follow);
        }
        return undefined;
    }

    /** Forgets the oldest messages, though never the initial ones, until the rest fits. */
    private async open(
        asked: readonly ChatMessage[],
        constraint: JsonObject | undefined,
        signal: AbortSignal,
    ): Promise<AsyncIterable<AnswerEvent>> {
        for (;;) {
            const request = requestOf([...this.initial, ...this.history, ...asked], this.sampling, constraint);
            const write = async (push: (event: AnswerEvent) => void, stop: AbortSignal) =>
                void (await this.engine.generate(request, { signal: stop, onEvent: push }));
            const stream = streamOf<AnswerEvent>(write, signal);
            try {
                return await begun(stream);
            } catch (error) {
                if (!(error instanceof LapidaryError) || error.code !== 'limit') throw error;
                if (this.history.length === 0) throw new DOMException(error.message, 'QuotaExceededError');
                const next = this.history.findIndex(({ role }, i) => i > 0 && role === 'user');
                this.history = next < 0 ? [] : this.history.slice(next);
                this.dispatchEvent(new Event('quotaoverflow'));
            }
        }
    }

    private async count(messages: readonly ChatMessage[]): Promise<number> {
        const counts = messages.map(async ({ content }) => {
            const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : (content ?? []);
            let sum = 0;
            for (const part of parts) {
                if (part.type === 'text') sum += (await this.engine.tokenize(part.text, { addBos: false, parseSpecial: false })).length;
                else if (part.type === 'image' || part.type === 'audio') sum += (await this.engine.measure(part)).tokens;
            }
            return sum;
        });
        return (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
    }

    private check(signal: AbortSignal | undefined): void {
        signal?.throwIfAborted();
        if (this.ended.signal.aborted) throw new DOMException('the session was destroyed', 'InvalidStateError');
    }
}

/** Waits for the first event, so that a prompt that is too long shows here; the event is not lost. */
async function begun(stream: Stream<AnswerEvent>): Promise<AsyncIterable<AnswerEvent>> {
    const iterator = stream[Symbol.asyncIterator]();
    let first: IteratorResult<AnswerEvent> | undefined = await iterator.next();
    const again: AsyncIterator<AnswerEvent> = {
        next: async () => {
            const result = first ?? (await iterator.next());
            first = undefined;
            return result;
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    };
    return { [Symbol.asyncIterator]: () => again };
}

/** Stops waiting, not the work: others may wait for it too. */
async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
    if (!signal) return await work;
    let stop: () => void = () => undefined;
    const aborted = new Promise<never>((_, reject) => {
        stop = () => reject(signal.reason);
        signal.addEventListener('abort', stop);
    });
    try {
        return await Promise.race([work, aborted]);
    } finally {
        signal.removeEventListener('abort', stop);
    }
}
