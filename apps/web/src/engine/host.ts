// The engine of this browser: one loaded model for all tabs. Lives in the tab that came first; see link.ts.
import {
    Lapidary,
    LapidaryError,
    type ChatCompletionParamsStreaming,
    type ChatMessage as ApiMessage,
    type FunctionTool,
    type LoadedEngine,
    type ModelSource,
    type Probe,
} from 'lapidary';
import { isAbort, withoutUndefined, type ChatDelta, type ChatOutcome, type ChatRequest } from '../chat/backend.js';
import { openAiMessage } from '../chat/remote.js';
import { sentence } from '../chat/answer.js';
import { Observable } from '../store/observable.js';
import { bench } from './bench.js';
import { openBuiltin } from './builtin.js';
import { choiceName, type BenchWish, type Calls, type DataWish, type EngineState, type LoadWish, type Method } from './protocol.js';
import { RateMeter } from './rate.js';
import { selfTest } from './self-test.js';
import { promptLimit, trimToFit, type Trimmed } from './trim.js';

const longestLog = 500;

export class EngineHost {
    readonly state = new Observable<EngineState>({ phase: 'idle', name: '' });
    private engine: LoadedEngine | undefined;
    private loading: AbortController | undefined;
    private probed: Promise<Probe> | undefined;
    private readonly log: string[] = [];

    /** Whatever a tab asks for. */
    async handle<M extends Method>(
        method: M,
        args: Calls[M]['args'],
        emit: (event: Calls[M]['event']) => void,
        signal: AbortSignal,
    ): Promise<Calls[M]['result']> {
        const calls: { [K in Method]: () => Promise<Calls[K]['result']> } = {
            load: () => this.load(args as LoadWish),
            cancel: async () => this.loading?.abort(),
            answer: () => this.answer(args as ChatRequest, emit as (delta: ChatDelta) => void, signal),
            readData: async () => await (await workshop()).readData(await this.ready(signal), args as DataWish, signal),
            plan: async () => await (await workshop()).plan(await this.ready(signal), args as Calls['plan']['args'], signal),
            train: async () =>
                await (await workshop()).trainRun(await this.ready(signal), args as string, emit as never, signal),
            importAdapter: async () => {
                const { name, ...files } = args as Calls['importAdapter']['args'];
                const { importAdapter } = await import('./stored-adapters.js');
                return await importAdapter(await this.ready(signal), files, name, this.state.value.name);
            },
            exportAdapter: async () => {
                const { id, format } = args as Calls['exportAdapter']['args'];
                return await (await import('./stored-adapters.js')).exportAdapter(await this.ready(signal), id, format);
            },
            bench: async () => await bench(await this.ready(signal), args as BenchWish, emit as never, signal),
            selfTest: async () => await selfTest(await this.ready(signal), signal),
            diagnostics: async () => ({ probe: await this.probe(), state: this.state.value, log: [...this.log] }),
        };
        return (await calls[method]()) as Calls[M]['result'];
    }

    /** Replaces what is loaded. Never rejects: how it ended is in the state. */
    async load(wish: LoadWish): Promise<void> {
        this.loading?.abort();
        const loading = new AbortController();
        this.loading = loading;
        const name = choiceName(wish.choice);
        const meter = new RateMeter();
        const show = (stage: NonNullable<EngineState['stage']>, done: number, total: number) => {
            if (this.loading !== loading) return;
            this.state.set({ phase: 'loading', wish, name, stage, progress: meter.measure(done, total) });
        };
        show(wish.choice.kind === 'builtin' ? 'download' : 'open', 0, 0);
        this.note('info', `loading ${name}`);
        try {
            // First the old one: two may not fit.
            await this.engine?.dispose();
            this.engine = undefined;
            const { signal } = loading;
            const source = await this.source(wish, (done, total) => show('download', done, total), signal);
            const engine = await Lapidary.load(source, {
                backend: wish.backend,
                ...(wish.contextLength === undefined ? {} : { contextLength: wish.contextLength }),
                onProgress: ({ stage, done, total }) => show(stage, done, total),
                signal,
                log: (level, text) => this.note(level, text),
            });
            if (signal.aborted) return await engine.dispose();
            this.engine = engine;
            this.state.set({ phase: 'ready', wish, name, info: engine.info });
            this.note('info', `${name} is ready: ${engine.info.why}`);
        } catch (error) {
            if (this.loading !== loading) return; // something else is being loaded by now
            const problem = isAbort(error) ? 'Loading was stopped.' : sentence(error);
            this.note('error', problem);
            this.state.set({ phase: 'failed', wish, name, problem });
        } finally {
            if (this.loading === loading) this.loading = undefined;
        }
    }

    async dispose(): Promise<void> {
        this.loading?.abort();
        await this.engine?.dispose();
        this.engine = undefined;
    }

    note(level: string, text: string): void {
        this.log.push(`${new Date().toISOString().slice(11, 23)} ${level}: ${text}`);
        if (this.log.length > longestLog) this.log.splice(0, this.log.length - longestLog);
    }

    private async source(
        { choice }: LoadWish,
        onProgress: (done: number, total: number) => void,
        signal: AbortSignal,
    ): Promise<ModelSource> {
        switch (choice.kind) {
            case 'builtin':
                return await openBuiltin({ onProgress, signal });
            case 'files':
                return choice.files;
            case 'folder':
                return { directory: choice.directory, model: choice.model };
            case 'ollama':
                return { ollama: choice.model };
            case 'url':
                return choice.url;
        }
    }

    private async probe(): Promise<Probe | undefined> {
        this.probed ??= Lapidary.probe();
        return await this.probed.catch(() => undefined);
    }

    /** Waits for a model that is being loaded. */
    private async ready(signal: AbortSignal): Promise<LoadedEngine> {
        for (;;) {
            signal.throwIfAborted();
            const { phase, problem } = this.state.value;
            if (phase === 'ready' && this.engine) return this.engine;
            if (phase === 'failed') throw new Error(problem ?? 'no model is loaded');
            await new Promise<void>((resolve) => {
                const done = () => {
                    unsubscribe();
                    signal.removeEventListener('abort', done);
                    resolve();
                };
                const unsubscribe = this.state.subscribe(done);
                signal.addEventListener('abort', done);
            });
        }
    }

    private async answer(
        request: ChatRequest,
        emit: (delta: ChatDelta) => void,
        signal: AbortSignal,
    ): Promise<ChatOutcome> {
        const engine = await this.ready(signal);
        try {
            return await this.answerWith(engine, request, emit, signal);
        } catch (error) {
            // A worker that died stays dead: the next question finds a new one.
            const { wish } = this.state.value;
            const broken = error instanceof LapidaryError && error.code === 'internal';
            if (broken && wish && this.engine === engine) void this.load(wish);
            throw error;
        }
    }

    private async answerWith(
        engine: LoadedEngine,
        request: ChatRequest,
        emit: (delta: ChatDelta) => void,
        signal: AbortSignal,
    ): Promise<ChatOutcome> {
        const { messages, leftOut } = await this.trim(engine, request);
        // So small a model loses the thread at the usual temperature.
        const calm = this.state.value.wish?.choice.kind === 'builtin' ? { temperature: 0.6 } : {};
        const adapters = await this.adapters(engine, request);
        const params = { ...apiRequest({ ...calm, ...request, messages }), ...(adapters ? { adapters } : {}) };
        const stream = await engine.chat.completions.create(params, { signal });
        const outcome: ChatOutcome = { finish: 'stop', model: this.state.value.name };
        if (leftOut > 0) outcome.leftOut = leftOut;
        for await (const { choices, usage, timings } of stream) {
            const delta = choices[0]?.delta;
            if (delta?.reasoning_content) emit({ type: 'reasoning', text: delta.reasoning_content });
            if (delta?.content) emit({ type: 'content', text: delta.content });
            for (const { id, function: called } of delta?.tool_calls ?? []) {
                emit({ type: 'tool_call', call: { id, name: called.name, arguments: called.arguments } });
            }
            const finish = choices[0]?.finish_reason;
            if (finish) outcome.finish = finish;
            if (usage) {
                outcome.stats = {
                    ...outcome.stats,
                    promptTokens: usage.prompt_tokens,
                    completionTokens: usage.completion_tokens,
                    cachedTokens: usage.prompt_tokens_details.cached_tokens,
                    contextLength: engine.info.contextLength,
                };
            }
            if (timings) {
                const { prompt_ms: promptMs, completion_ms: completionMs } = timings;
                outcome.stats = { promptTokens: 0, completionTokens: 0, ...outcome.stats, promptMs, completionMs };
            }
        }
        return outcome;
    }

    /** Those of the loaded model; undefined when there are none, as in most chats. */
    private async adapters(engine: LoadedEngine, request: ChatRequest) {
        const chosen = request.adapters?.filter(({ model }) => model === this.state.value.name) ?? [];
        if (chosen.length === 0) return undefined;
        return await (await import('./stored-adapters.js')).inEngine(engine, chosen);
    }

    private async trim(engine: LoadedEngine, { messages, maxTokens }: ChatRequest): Promise<Trimmed> {
        const lengths: number[] = [];
        for (const { content, toolCalls } of messages) {
            const text = content + (toolCalls ?? []).map((call) => call.name + call.arguments).join('');
            lengths.push((await engine.tokenize(text, { addBos: false, parseSpecial: false })).length);
        }
        return trimToFit(messages, lengths, promptLimit(engine.info.contextLength, maxTokens));
    }
}

/** Few people train: what it takes is loaded when it is wanted. */
async function workshop() {
    return await import('./training.js');
}

function apiRequest(request: ChatRequest): ChatCompletionParamsStreaming {
    const { messages, tools, topP, topK, minP, repeatPenalty, maxTokens, temperature, seed, thinking } = request;
    const optional = withoutUndefined({
        temperature,
        seed,
        top_p: topP,
        top_k: topK,
        min_p: minP,
        repeat_penalty: repeatPenalty,
        max_tokens: maxTokens,
        tools: tools as FunctionTool[] | undefined,
    });
    return {
        ...optional,
        messages: messages.map((message) => openAiMessage(message) as unknown as ApiMessage),
        thinking,
        stream: true,
        stream_options: { include_usage: true },
    };
}
