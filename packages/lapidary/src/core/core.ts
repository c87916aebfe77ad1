// Core: the engine as the front sees it, wherever it runs. core/local.ts is the thing itself, core/remote.ts speaks to
// one in a worker. Everything that crosses here can be posted as a message.
import type { Progress, TokenizeOptions } from '../model.js';
import type { EngineInfo } from '../options.js';
import type { GenerateEvent, GenerateRequest, GenerateResult } from '../session.js';
import type { AskWorkshop } from '../workshop/calls.js';

export interface CallContext {
    signal?: AbortSignal | undefined;
    onProgress?: ((progress: Progress) => void) | undefined;
}

export interface GenerateContext extends CallContext {
    onEvent?: ((event: GenerateEvent) => void) | undefined;
}

export interface Embedded {
    /** Of length 1. */
    vectors: Float32Array[];
    /** Tokens read for them. */
    tokens: number;
}

export interface Core {
    /** Changes when the engine had to be built anew. */
    readonly info: EngineInfo;
    generate(request: GenerateRequest, context: GenerateContext): Promise<GenerateResult>;
    tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'>): Promise<Int32Array>;
    detokenize(tokens: ArrayLike<number>, options: { special?: boolean }): Promise<string>;
    embed(texts: readonly string[], context: CallContext): Promise<Embedded>;
    /** Adapters, data sets and trainings. */
    readonly workshop: AskWorkshop;
    dispose(): Promise<void>;
}
