// `chat.completions`, `completions` and `embeddings`: each checks a request, has it answered and words the answer. How, comes
// with the first of them: an app that speaks to the engine in its own words has no use for it.
import { answer, type AnswerOptions } from './answer/answer.js';
import { Fold, Telling, type AnswerEvent, type Ended, type Score } from './answer/events.js';
import { streamOf, type Stream } from './answer/stream.js';
import type { Core } from './core/core.js';
import type { Words } from './dialects/dialect.js';
import type { Progress } from './work.js';
import type {
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionParams,
    ChatCompletionParamsNonStreaming,
    ChatCompletionParamsStreaming,
    Completion,
    CompletionParams,
    CompletionParamsNonStreaming,
    CompletionParamsStreaming,
    EmbeddingParams,
    EmbeddingResponse,
} from './openai.js';
import type { CheckedCompletion } from './dialects/openai-completions-request.js';
import { shortened } from './vectors.js';
import type { GenerateResult } from './session.js';

export interface RequestOptions {
    signal?: AbortSignal;
    /** How much of the prompt has been read, in tokens. */
    onProgress?: (progress: { done: number; total: number }) => void;
}

export class ChatCompletions {
    /** @internal */
    constructor(private readonly core: Core) {}

    create(params: ChatCompletionParamsNonStreaming, options?: RequestOptions): Promise<ChatCompletion>;
    create(params: ChatCompletionParamsStreaming, options?: RequestOptions): Promise<Stream<ChatCompletionChunk>>;
    create(
        params: ChatCompletionParams,
        options?: RequestOptions,
    ): Promise<ChatCompletion | Stream<ChatCompletionChunk>>;
    async create(
        params: ChatCompletionParams,
        options: RequestOptions = {},
    ): Promise<ChatCompletion | Stream<ChatCompletionChunk>> {
        const { openAiChat } = await import('./dialects/openai-chat.js');
        const { request, stream, echo } = openAiChat.read(params);
        const work: Work = async (context) => await answer(this.core, request, context);
        return await worded(this.core, openAiChat, echo, stream, work, options);
    }
}

export class Completions {
    /** @internal */
    constructor(private readonly core: Core) {}

    create(params: CompletionParamsNonStreaming, options?: RequestOptions): Promise<Completion>;
    create(params: CompletionParamsStreaming, options?: RequestOptions): Promise<Stream<Completion>>;
    create(params: CompletionParams, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
    async create(params: CompletionParams, options: RequestOptions = {}): Promise<Completion | Stream<Completion>> {
        const { openAiCompletions } = await import('./dialects/openai-completions.js');
        const { checkCompletion } = await import('./dialects/openai-completions-request.js');
        const request = checkCompletion(params);
        const work: Work = async (context) => {
            if (!request.echo && !request.readOnly) return await answer(this.core, request.generate, context);
            const fold = new Fold();
            const onEvent = (event: AnswerEvent) => {
                fold.take(event);
                context.onEvent?.(event);
            };
            const { text, scores, result } = await this.readPrompt(request, { ...context, onEvent });
            if (text !== '') onEvent({ type: 'content', text, logprobs: scores });
            if (!request.readOnly) return fold.ended((await answer(this.core, request.generate, { ...context, onEvent })).end);
            const end = new Telling().end(result);
            onEvent(end);
            return fold.ended(end);
        };
        return await worded(this.core, openAiCompletions, request, request.stream, work, options);
    }

    /** What there is to tell of a prompt, and the answer of which nothing was written. */
    private async readPrompt(
        { prompt, generate, echo, topLogprobs }: CheckedCompletion,
        { signal, onEvent }: AnswerOptions,
    ): Promise<{ text: string; scores: readonly Score[]; result: GenerateResult }> {
        const { core } = this;
        const addBos = typeof prompt === 'string' && generate.add_bos === true;
        const parseSpecial = generate.parse_special === true;
        const tokens = typeof prompt === 'string' ? [...(await core.tokenize(prompt, { addBos, parseSpecial }))] : prompt;
        const result: GenerateResult = {
            text: '',
            finish_reason: 'length',
            prompt_tokens: tokens.length,
            completion_tokens: 0,
            cached_tokens: 0,
            prompt_ms: 0,
            completion_ms: 0,
            seed: 0,
        };
        const text = !echo ? '' : typeof prompt === 'string' ? prompt : await core.detokenize(prompt, { special: true });
        if (!echo || topLogprobs === undefined) return { text, scores: [], result };
        const onProgress = ({ done, total }: Progress) => onEvent?.({ type: 'reading', done, total });
        const scores = await core.score({ tokens, top: topLogprobs }, { signal, onProgress });
        if (addBos && scores.length === tokens.length - 1) return { text, scores, result };
        const first = await core.detokenize(tokens.slice(0, 1), { special: true });
        return { text, scores: [{ text: first, bytes: [] }, ...scores], result };
    }
}

export class Embeddings {
    /** @internal */
    constructor(private readonly core: Core) {}

    async create(params: EmbeddingParams, options: RequestOptions = {}): Promise<EmbeddingResponse> {
        const { checkEmbedding } = await import('./dialects/openai-embeddings-request.js');
        const { embed, dimensions, base64: asBase64 } = checkEmbedding(params);
        const { vectors, tokens, truncated } = await this.core.embed(embed, options);
        return {
            object: 'list',
            data: vectors.map((whole, index) => {
                const vector = dimensions === undefined ? whole : shortened(whole, dimensions);
                return { object: 'embedding', index, embedding: asBase64 ? base64(vector) : [...vector] };
            }),
            model: this.core.info.model,
            usage: { prompt_tokens: tokens, total_tokens: tokens },
            ...(truncated > 0 ? { truncated_inputs: truncated } : {}),
        };
    }
}

type Work = (options: AnswerOptions) => Promise<Ended>;

/** Whole, or in pieces while it is written. */
async function worded<Echo, Piece, Whole>(
    core: Core,
    words: Words<Echo, Piece, Whole>,
    echo: Echo,
    stream: boolean,
    work: Work,
    { signal, onProgress }: RequestOptions,
): Promise<Whole | Stream<Piece>> {
    const { newHead } = await import('./dialects/head.js');
    const head = newHead(words.prefix, core.info);
    const progress = (event: AnswerEvent) => {
        if (event.type === 'reading') onProgress?.({ done: event.done, total: event.total });
    };
    if (!stream) return words.whole(head, echo, await work({ signal, onEvent: progress }));
    const pieces = words.pieces(head, echo);
    return streamOf<Piece>(async (push, stop) => {
        const onEvent = (event: AnswerEvent) => {
            progress(event);
            pieces(event).forEach(push);
        };
        await work({ signal: stop, onEvent });
    }, signal);
}

function base64(vector: Float32Array): string {
    const bytes = new Uint8Array(vector.length * 4);
    const view = new DataView(bytes.buffer);
    vector.forEach((value, i) => view.setFloat32(i * 4, value, true));
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
}
