// `chat.completions`, `completions` and `embeddings`: each checks a request, has it answered and words the answer.
import type { Core } from './core/core.js';
import { LapidaryError } from './error.js';
import type { RequestOptions } from './lapidary.js';
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
import type { Stream } from './answer/stream.js';

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
        _params: ChatCompletionParams,
        _options: RequestOptions = {},
    ): Promise<ChatCompletion | Stream<ChatCompletionChunk>> {
        throw new LapidaryError('unsupported', `not there yet for ${this.core.info.model}`);
    }
}

export class Completions {
    /** @internal */
    constructor(private readonly core: Core) {}

    create(params: CompletionParamsNonStreaming, options?: RequestOptions): Promise<Completion>;
    create(params: CompletionParamsStreaming, options?: RequestOptions): Promise<Stream<Completion>>;
    create(params: CompletionParams, options?: RequestOptions): Promise<Completion | Stream<Completion>>;
    async create(_params: CompletionParams, _options: RequestOptions = {}): Promise<Completion | Stream<Completion>> {
        throw new LapidaryError('unsupported', `not there yet for ${this.core.info.model}`);
    }
}

export class Embeddings {
    /** @internal */
    constructor(private readonly core: Core) {}

    async create(_params: EmbeddingParams, _options: RequestOptions = {}): Promise<EmbeddingResponse> {
        throw new LapidaryError('unsupported', `not there yet for ${this.core.info.model}`);
    }
}
