// Core: the engine as the front sees it, wherever it runs. core/local.ts is the thing itself, core/remote.ts speaks to
// one in a worker. Everything that crosses here can be posted as a message.
import type { CallOptions, CallResult } from '../engine.js';
import type { MediaInfo, MediaPart } from '../media/parts.js';
import type { Progress, TokenizeOptions } from '../model.js';
import type { EngineInfo } from '../options.js';
import type { GenerateEvent, GenerateRequest, GenerateResult, Logprob } from '../session.js';
import type { AskWorkshop } from '../workshop/calls.js';

export interface CallContext {
    signal?: AbortSignal | undefined;
    onProgress?: ((progress: Progress) => void) | undefined;
}

export interface GenerateContext extends CallContext {
    onEvent?: ((event: GenerateEvent) => void) | undefined;
}

export interface RawContext {
    blob?: CallOptions['blob'] | undefined;
    onEvent?: CallOptions['onEvent'] | undefined;
    signal?: AbortSignal | undefined;
}

/** A text, or the tokens of one. */
export type Readable = string | readonly number[];

export interface EmbedRequest {
    input: readonly Readable[];
    /** Tokens of each that are read at most: as many as the context holds, unless told less. */
    longest?: number | undefined;
    /** Whether what is longer is cut, or refused. */
    truncate: boolean;
    /** What the vectors are for: models of embeddings read other words in front of a text for each. */
    task?: string | undefined;
    /** What the texts are called, where they are documents. */
    title?: string | undefined;
}

export interface Embedded {
    /** Of length 1. */
    vectors: Float32Array[];
    /** Tokens read for them. */
    tokens: number;
    /** How many of the texts were cut. */
    truncated: number;
}

export interface ScoreRequest {
    tokens: readonly number[];
    /** How many likely tokens to tell at each place. */
    top: number;
}

export interface Core {
    /** Changes when the engine had to be built anew. */
    readonly info: EngineInfo;
    generate(request: GenerateRequest, context: GenerateContext): Promise<GenerateResult>;
    tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'>): Promise<Int32Array>;
    detokenize(tokens: ArrayLike<number>, options: { special?: boolean }): Promise<string>;
    embed(request: EmbedRequest, context: CallContext): Promise<Embedded>;
    /** How likely each token but the first was after those before it. */
    score(request: ScoreRequest, context: CallContext): Promise<Logprob[]>;
    /** What a picture, a sound or a film becomes for the model; the next request with it has it already. */
    measure(part: MediaPart, context: CallContext): Promise<MediaInfo>;
    /** Adapters, data sets and trainings. */
    readonly workshop: AskWorkshop;
    /** A method of the engine itself, about the loaded model, when its turn has come. */
    call(method: string, args: object, context: RawContext): Promise<CallResult>;
    dispose(): Promise<void>;
}
