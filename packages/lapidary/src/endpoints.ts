// `chat.completions`, `completions` and `embeddings`. What they do is in wording.ts.
import type { Stream } from './answer/stream.js';
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
        return await (await wording()).chat(this.core, params, options);
    }
}

export class Completions {
    /** @internal */
    constructor(private readonly core: Core) {}

    create(params: CompletionParamsNonStreaming, options?: RequestOptions): Promise<Completion>;
    create(params: CompletionParamsStreaming, options?: RequestOptions): Promise<Stream<Completion>>;
    create(params: CompletionParams, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
    async create(params: CompletionParams, options: RequestOptions = {}): Promise<Completion | Stream<Completion>> {
        return await (await wording()).complete(this.core, params, options);
    }
}

export class Embeddings {
    /** @internal */
    constructor(private readonly core: Core) {}

    async create(params: EmbeddingParams, options: RequestOptions = {}): Promise<EmbeddingResponse> {
        return await (await wording()).embed(this.core, params, options);
    }
}

/** Loaded with the first request. */
async function wording() {
    return await import('./wording.js');
}
