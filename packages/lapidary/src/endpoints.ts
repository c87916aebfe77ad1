// `chat.completions`, `completions` and `embeddings`: each checks a request, has it answered and words the answer.
import { ChatAnswer } from './dialects/openai-chat.js';
import { TextAnswer, type Echo } from './dialects/openai-completions.js';
import { Stopwatch } from './dialects/head.js';
import { streamOf, type Stream } from './answer/stream.js';
import type { Core } from './core/core.js';
import { LapidaryError } from './error.js';
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
import { checkChat, type CheckedRequest } from './dialects/openai-chat-request.js';
import { checkCompletion, type CheckedCompletion } from './dialects/openai-completions-request.js';
import { checkEmbedding } from './dialects/openai-embeddings-request.js';
import { invalid } from './dialects/fields.js';
import { normalised } from './vectors.js';
import type { GenerateEvent, GenerateResult } from './session.js';

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
        const request = checkChat(params);
        const { topLogprobs, includeUsage } = request;
        const watch = new Stopwatch(request.generate.continue_tokens?.length);
        const answer = new ChatAnswer(this.core.info, topLogprobs, watch, includeUsage);
        return await respond(this.core, request, answer, options);
    }
}

export class Completions {
    /** @internal */
    constructor(private readonly core: Core) {}

    create(params: CompletionParamsNonStreaming, options?: RequestOptions): Promise<Completion>;
    create(params: CompletionParamsStreaming, options?: RequestOptions): Promise<Stream<Completion>>;
    create(params: CompletionParams, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
    async create(params: CompletionParams, options: RequestOptions = {}): Promise<Completion | Stream<Completion>> {
        const request = checkCompletion(params);
        const { topLogprobs, includeUsage } = request;
        const answer = new TextAnswer(this.core.info, topLogprobs, new Stopwatch(), includeUsage);
        const { stream, echo, readOnly } = request;
        if (!echo && !readOnly) return await respond(this.core, request, answer, options);
        const read = async (context: RequestOptions) => await this.readPrompt(request, context);
        if (!stream) {
            const { echoed, result } = await read(options);
            if (echo) answer.begin(echoed);
            if (readOnly) return answer.completion(result);
            return await respond(this.core, request, answer, options);
        }
        return streamOf<Completion>(async (push, signal) => {
            const { echoed, result } = await read({ ...options, signal });
            if (echo) answer.begin(echoed).forEach(push);
            const onEvent = (event: GenerateEvent) => answer.take(event).forEach(push);
            const { onProgress } = options;
            const all = readOnly ? result : await this.core.generate(request.generate, { signal, onProgress, onEvent });
            answer.finish(all).forEach(push);
        }, options.signal);
    }

    /** What there is to tell of a prompt, and the answer of which nothing was written. */
    private async readPrompt(
        { prompt, generate, echo, topLogprobs }: CheckedCompletion,
        { signal, onProgress }: RequestOptions,
    ): Promise<{ echoed: Echo; result: GenerateResult }> {
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
        if (!echo || topLogprobs === undefined) return { echoed: { text, scores: [] }, result };
        const scores = await core.score({ tokens, top: topLogprobs }, { signal, onProgress });
        if (addBos && scores.length === tokens.length - 1) return { echoed: { text, scores }, result };
        const first = await core.detokenize(tokens.slice(0, 1), { special: true });
        return { echoed: { text, scores: [{ text: first }, ...scores] }, result };
    }
}

export class Embeddings {
    /** @internal */
    constructor(private readonly core: Core) {}

    async create(params: EmbeddingParams, options: RequestOptions = {}): Promise<EmbeddingResponse> {
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

/** The first numbers, of length 1 again. */
function shortened(vector: Float32Array, dimensions: number): Float32Array {
    if (dimensions > vector.length) {
        throw new LapidaryError(
            'invalid_argument',
            `'dimensions' is ${dimensions}, but this model's vectors have ${vector.length} numbers: ask for as many or fewer`,
        );
    }
    return normalised(vector.subarray(0, dimensions));
}

/** Words what the engine says while it answers. */
interface Answer<Whole, Chunk> {
    take(event: GenerateEvent): Chunk[];
    finish(result: GenerateResult): Chunk[];
    completion(result: GenerateResult): Whole;
}

async function respond<Whole, Chunk>(
    core: Core,
    { generate, stream }: CheckedRequest,
    answer: Answer<Whole, Chunk>,
    { signal, onProgress }: RequestOptions,
): Promise<Whole | Stream<Chunk>> {
    if (!stream) {
        const onEvent = (event: GenerateEvent) => void answer.take(event);
        return answer.completion(await core.generate(generate, { signal, onProgress, onEvent }));
    }
    return streamOf<Chunk>(async (push, stop) => {
        const onEvent = (event: GenerateEvent) => answer.take(event).forEach(push);
        const result = await core.generate(generate, { signal: stop, onProgress, onEvent });
        answer.finish(result).forEach(push);
    }, signal);
}

export function checkTexts(texts: unknown, name: string): string[] {
    if (!Array.isArray(texts) || texts.length === 0) throw invalid(name, 'a text or a list of texts', texts);
    return texts.map((text: unknown, i) => {
        if (typeof text !== 'string' || text === '') throw invalid(`${name}[${i}]`, 'a text that is not empty', text);
        return text;
    });
}

function base64(vector: Float32Array): string {
    const bytes = new Uint8Array(vector.length * 4);
    const view = new DataView(bytes.buffer);
    vector.forEach((value, i) => view.setFloat32(i * 4, value, true));
    let text = '';
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
}
