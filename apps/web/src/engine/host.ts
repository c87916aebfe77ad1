// The engine of this browser: one loaded model for all tabs. Lives in the tab that came first; see link.ts.
import {
    Lapidary,
    LapidaryError,
    type GenerateRequest,
    type JsonObject,
    type LoadedEngine,
    type ModelSource,
    type Probe,
} from 'lapidary';
import {
    openAiMessage,
    withoutUndefined,
    type Begun,
    type ChatDelta,
    type ChatOutcome,
    type ChatRequest,
} from '../chat/backend.js';
import type { Handlers } from 'lapidary/rpc';
import { isFile } from '../store/parts.js';
import { attempts, HeldBack } from './attempts.js';
import { openBuiltin } from './builtin.js';
import { choiceName, type Calls, type LoadWish, type ModelChoice } from './protocol.js';
import { Slot, type Opening } from './slot.js';

const longestLog = 500;

export class EngineHost {
    private readonly slot = new Slot<LoadedEngine>(
        async (wish, opening) => await this.open(wish, opening),
        ({ choice, ...wish }) => (choice.kind === 'builtin' ? undefined : { ...wish, choice: { kind: 'builtin' } }),
        (level, text) => this.note(level, text),
    );
    readonly state = this.slot.state;
    private probed: Promise<Probe> | undefined;
    private readonly log: string[] = [];

    /** Whatever a tab asks for. `term`: while which this has the engine. */
    handlers(term: number): Handlers<Calls> {
        const ready = async (signal: AbortSignal) => await this.slot.ready(signal);
        return {
            watch: async (_, { emit, signal }) => {
                emit(this.state.value);
                const end = this.state.subscribe(emit);
                return await new Promise<never>((_, reject) => {
                    signal.addEventListener('abort', () => {
                        end();
                        reject(new DOMException('stopped', 'AbortError'));
                    });
                });
            },
            load: async (wish) => await this.load(wish),
            cancel: async () => this.slot.cancel(),
            answer: async (request, { emit, signal }) => await this.answer(request, emit, signal),
            measure: async (part, { signal }) => {
                const engine = await ready(signal);
                return await engine.measure(await (await media()).mediaPart(part), { signal });
            },
            sampleFrames: async (wish, { signal }) => {
                const { json } = await (await ready(signal)).call('media.frames', wish, { signal });
                return json as { indices: number[]; seconds: number[] };
            },
            readData: async (wish, { signal }) => await (await workshop()).readData(await ready(signal), wish, signal),
            plan: async (wish, { signal }) => await (await workshop()).plan(await ready(signal), wish, signal),
            train: async (run, { emit, signal }) =>
                await (await workshop()).trainRun(await ready(signal), run, term, emit, signal),
            importAdapter: async ({ name, ...files }, { signal }) => {
                const { importAdapter } = await import('./stored-adapters.js');
                return await importAdapter(await ready(signal), files, name, this.state.value.name);
            },
            exportAdapter: async ({ id, format }, { signal }) =>
                await (await import('./stored-adapters.js')).exportAdapter(await ready(signal), id, format),
            bench: async (wish, { emit, signal }) => {
                const [engine, probe] = [await ready(signal), await this.probe()];
                const { bench } = await import('./bench.js'); // few ask for it
                return await bench(engine, wish, probe, emit, signal);
            },
            selfTest: async (_, { signal }) => {
                const engine = await ready(signal);
                return await (await import('./self-test.js')).selfTest(engine, signal);
            },
            diagnostics: async () => ({ probe: await this.probe(), state: this.state.value, log: [...this.log] }),
        };
    }

    /** Replaces what is loaded, once the new one is known to be a model. */
    async load(wish: LoadWish): Promise<boolean> {
        const { asked, ...rest } = wish;
        if (asked && wish.choice.kind === 'url') await attempts.forget('url', wish.choice.url);
        return await this.slot.load(await this.withCaution(rest));
    }

    async dispose(): Promise<void> {
        await this.slot.dispose();
    }

    note(level: string, text: string): void {
        this.log.push(`${new Date().toISOString().slice(11, 23)} ${level}: ${text}`);
        if (this.log.length > longestLog) this.log.splice(0, this.log.length - longestLog);
    }

    private async open(wish: LoadWish, { signal, onProgress, onOpened, onInfo }: Opening): Promise<LoadedEngine> {
        const { choice } = wish;
        const source = await this.source(wish, (done, total) => onProgress('download', done, total), signal);
        let end = async () => {};
        const ofUrl = await this.watchUrl(choice);
        try {
            return await Lapidary.load(source, {
                backend: wish.backend,
                workshop: wish.workshop ?? false,
                ...(wish.mmproj ? { mmproj: wish.mmproj } : {}),
                ...(wish.contextLength === undefined ? {} : { contextLength: wish.contextLength }),
                onProgress: ({ stage, done, total }) => {
                    // Whoever leaves in the middle of a download, or whose phone does, has nothing to fear.
                    if (stage === 'download' && done > 0) void ofUrl.end();
                    onProgress(stage, done, total);
                },
                onOpened: async (description, backend) => {
                    if (description['embedding_size'] !== undefined) {
                        throw new LapidaryError('unsupported', 'this is a model of embeddings: it turns texts into vectors and cannot talk');
                    }
                    await onOpened();
                    await ofUrl.begin();
                    if (backend === 'gpu') end = await attempts.begin('gpu', choiceName(choice));
                },
                onInfo,
                signal,
                log: (level, text) => this.note(level, text),
            });
        } finally {
            await end();
            await ofUrl.end();
        }
    }

    /** An address is remembered: what makes the page end should not do so at every visit. */
    private async watchUrl(choice: ModelChoice): Promise<{ begin(): Promise<void>; end(): Promise<void> }> {
        if (choice.kind !== 'url') return { begin: async () => {}, end: async () => {} };
        const { url } = choice;
        if ((await attempts.unended('url')).some(({ what }) => what === url)) throw new HeldBack();
        let ends: (() => Promise<void>)[] = [];
        const begin = async () => void ends.push(await attempts.begin('url', url));
        await begin();
        return {
            begin,
            end: async () => {
                const all = ends;
                ends = [];
                for (const end of all) await end();
            },
        };
    }

    /** Drivers and browsers have been seen to end over a kernel: nobody should meet that at every visit. */
    private async withCaution(wish: LoadWish): Promise<LoadWish> {
        if (wish.backend === 'cpu') return wish;
        if (wish.caution === 'waived') {
            await attempts.forget('gpu');
            return wish;
        }
        if ((await attempts.unended('gpu')).length === 0) return wish;
        this.note('warning', 'a load on the GPU never ended: the CPU computes');
        return { ...wish, backend: 'cpu', caution: 'held' };
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
            case 'kept':
                return { kept: choice.name };
            case 'url':
                return choice.url;
        }
    }

    private async probe(): Promise<Probe | undefined> {
        this.probed ??= Lapidary.probe();
        return await this.probed.catch(() => undefined);
    }

    private async answer(
        request: ChatRequest,
        emit: (delta: ChatDelta) => void,
        signal: AbortSignal,
    ): Promise<ChatOutcome> {
        return await this.slot.use(async (engine) => {
            try {
                return await this.answerWith(engine, request, emit, signal);
            } catch (error) {
                // A worker that died stays dead: the next question finds a new one.
                if (error instanceof LapidaryError && error.code === 'internal') void this.slot.renew(engine);
                throw error;
            }
        }, signal);
    }

    private async answerWith(
        engine: LoadedEngine,
        request: ChatRequest,
        emit: (delta: ChatDelta) => void,
        signal: AbortSignal,
    ): Promise<ChatOutcome> {
        const begun = request.begun ? await begunTokens(engine, request.begun) : [];
        // So small a model loses the thread at the usual temperature.
        const calm = this.state.value.wish?.choice.kind === 'builtin' ? { temperature: 0.6 } : {};
        const adapters = await this.adapters(engine, request);
        const wanted = { ...(await engineRequest({ ...calm, ...request }, begun)), ...(adapters ? { adapters } : {}) };
        const { calls, end } = await engine.generate(wanted, {
            signal,
            onEvent: (event) => {
                if (event.type === 'tokens') emit({ type: 'tokens', tokens: [...event.tokens] });
                else if (event.type === 'reasoning') emit({ type: 'reasoning', text: event.text });
                else if (event.type === 'draft') emit({ ...event, firm: [...event.firm] });
                else if (event.type === 'content' && event.text !== '') emit({ type: 'content', text: event.text });
            },
        });
        for (const call of calls) emit({ type: 'tool_call', call });
        const outcome: ChatOutcome = {
            finish: end.finish,
            model: this.state.value.name,
            stats: {
                promptTokens: end.usage.prompt,
                completionTokens: end.usage.completion - begun.length,
                cachedTokens: end.usage.cached,
                contextLength: engine.info.contextLength,
                promptMs: end.times.prompt_ms,
                completionMs: end.times.completion_ms,
            },
            ...(end.dropped ? { leftOut: end.dropped } : {}),
        };
        const { completionTokens = 0, completionMs = 0 } = outcome.stats ?? {};
        if (completionTokens >= 16 && completionMs > 0) this.slot.tell({ measured: (completionTokens / completionMs) * 1000 });
        return outcome;
    }

    /** Those of the loaded model; undefined when there are none, as in most chats. */
    private async adapters(engine: LoadedEngine, request: ChatRequest) {
        const chosen = request.adapters?.filter(({ model }) => model === this.state.value.name) ?? [];
        if (chosen.length === 0) return undefined;
        return await (await import('./stored-adapters.js')).inEngine(engine, chosen);
    }
}

/** Few people train: what it takes is loaded when it is wanted. */
async function workshop() {
    return await import('./training.js');
}

/** Those that were told, if they are this model's; else the text in its tokens. */
async function begunTokens(engine: LoadedEngine, begun: Begun): Promise<readonly number[]> {
    const { content, reasoning = '', tokens = [] } = begun;
    const text = await engine.detokenize(tokens, { special: false }).catch(() => '');
    if (tokens.length > 0 && text.includes(content.trim()) && text.includes(reasoning.trim())) return tokens;
    return [...(await engine.tokenize(content, { addBos: false, parseSpecial: false }))];
}

/** Few send pictures or sounds. */
async function media() {
    return await import('../chat/media-parts.js');
}

async function engineRequest(request: ChatRequest, begun: readonly number[]): Promise<GenerateRequest> {
    const { messages, tools, topP, topK, minP, repeatPenalty, maxTokens, temperature, seed, thinking, diffusion } = request;
    const optional = withoutUndefined({
        continue_tokens: begun.length > 0 ? begun : undefined,
        tools: tools?.length ? (tools as JsonObject[]) : undefined,
        diffusion,
    });
    return {
        ...optional,
        messages: await Promise.all(
            messages.map(async (message) => (message.parts?.some(isFile) ? await (await media()).withMedia(message) : (openAiMessage(message) as JsonObject))),
        ),
        // About sounds models imagine things when they think.
        thinking: thinking && !messages.some(({ parts }) => parts?.some(({ type }) => type === 'audio')),
        max_tokens: maxTokens === undefined ? 0 : maxTokens + begun.length,
        sampling: withoutUndefined({
            temperature,
            seed,
            top_p: topP,
            top_k: topK,
            min_p: minP,
            repeat_penalty: repeatPenalty,
        }),
        // A conversation outgrows what a model can hold. Then its beginning is left out, as people forget beginnings too.
        overflow: 'slide',
        report_tokens: true,
        drafts: true,
    };
}
