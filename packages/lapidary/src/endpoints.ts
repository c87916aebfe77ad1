// `chat.completions`, `completions` and `embeddings`: each checks a request, has it answered and words the answer.
import { ChatAnswer } from './answer/chat.js';
import { TextAnswer } from './answer/completion.js';
import { Stopwatch } from './answer/measure.js';
import { streamOf, type Stream } from './answer/stream.js';
import type { Core } from './core/core.js';
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
import { checkChat, type CheckedRequest } from './request/chat.js';
import { checkCompletion } from './request/completion.js';
import { Fields, invalid } from './request/fields.js';
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
        const watch = new Stopwatch(request.generate.continue_tokens?.length);
        const answer = new ChatAnswer(this.core.info.model, request.topLogprobs, watch);
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
        const answer = new TextAnswer(this.core.info.model, request.topLogprobs, new Stopwatch());
        return await respond(this.core, request, answer, options);
    }
}

export class Embeddings {
    /** @internal */
    constructor(private readonly core: Core) {}

    async create(params: EmbeddingParams, options: RequestOptions = {}): Promise<EmbeddingResponse> {
        const fields = new Fields(params);
        const { input } = params;
        const texts = checkTexts(typeof input === 'string' ? [input] : input, 'input');
        const asBase64 = fields.oneOf('encoding_format', ['float', 'base64']) === 'base64';
        const { vectors, tokens } = await this.core.embed(texts, options);
        return {
            object: 'list',
            data: vectors.map((vector, index) => ({
                object: 'embedding',
                index,
                embedding: asBase64 ? base64(vector) : [...vector],
            })),
            model: this.core.info.model,
            usage: { prompt_tokens: tokens, total_tokens: tokens },
        };
    }
}

/** Words what the engine says while it answers. */
interface Answer<Whole, Chunk> {
    take(event: GenerateEvent): Chunk[];
    finish(result: GenerateResult, includeUsage: boolean): Chunk[];
    completion(result: GenerateResult): Whole;
}

async function respond<Whole, Chunk>(
    core: Core,
    { generate, stream, includeUsage }: CheckedRequest,
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
        answer.finish(result, includeUsage).forEach(push);
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
