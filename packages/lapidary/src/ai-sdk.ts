// `lapidary/ai-sdk`: a loaded engine as a language model of Vercel's AI SDK.
import { wordings, type EmbeddingModel, type LanguageModel, type StreamPart, type Version, type Wording } from './dialects/ai-sdk-specification.js';
import type { AnswerEvent } from './answer/events.js';
import { streamOf } from './answer/stream.js';
import { contentOf, readCall, streamParts } from './dialects/ai-sdk.js';
import { newHead } from './dialects/head.js';
import type { RequestOptions } from './endpoints.js';
import type { LoadedEngine } from './lapidary.js';

const prefix = 'chatcmpl-';

export interface ModelSettings {
    /** Think before answering; off unless told. */
    thinking?: boolean;
}

/** Which AI SDK: `v3`, unless told, for 6 and later; `v4` for 7, where it says itself how much to think; `v2` for 5. */
export interface Specification<V extends Version> {
    specification?: V;
}

export type { EmbeddingModel, LanguageModel } from './dialects/ai-sdk-specification.js';

/** `generateText({ model: languageModel(engine), prompt: 'Hello!' })` */
export function languageModel(
    engine: LoadedEngine,
    settings: ModelSettings & Required<Specification<'v2'>>,
): LanguageModel<'v2'>;
export function languageModel(
    engine: LoadedEngine,
    settings: ModelSettings & Required<Specification<'v4'>>,
): LanguageModel<'v4'>;
export function languageModel(engine: LoadedEngine, settings?: ModelSettings & Specification<'v3'>): LanguageModel;
export function languageModel(
    engine: LoadedEngine,
    settings: ModelSettings & Specification<Version> = {},
): LanguageModel<Version> {
    switch (settings.specification) {
        case 'v2':
            return makeLanguageModel(engine, settings, 'v2', wordings.v2);
        case 'v4':
            return makeLanguageModel(engine, settings, 'v4', wordings.v4);
        default:
            return makeLanguageModel(engine, settings, 'v3', wordings.v3);
    }
}

function makeLanguageModel<V extends Version>(
    engine: LoadedEngine,
    settings: ModelSettings,
    version: V,
    words: Wording<V>,
): LanguageModel<V> {
    return {
        specificationVersion: version,
        provider: 'lapidary',
        modelId: engine.info.model,
        supportedUrls: {},
        doGenerate: async ({ abortSignal, ...options }) => {
            const { request, unsupported } = readCall(options, settings.thinking ?? false);
            const { id, model, created } = newHead(prefix, engine.info);
            const answer = await withAbortReason(abortSignal, () => engine.generate(request, requestOptions(abortSignal)));
            return {
                content: contentOf(answer),
                finishReason: words.finishReason(answer.end.finish),
                usage: words.usage(answer.end.usage),
                warnings: unsupported.map(words.unsupported),
                response: { id, modelId: model, timestamp: new Date(created * 1000) },
            };
        },
        doStream: async ({ abortSignal, ...options }) => {
            const { request, unsupported } = readCall(options, settings.thinking ?? false);
            const parts = streamParts(newHead(prefix, engine.info), words);
            const stream = streamOf<StreamPart<V>>(async (push, signal) => {
                push({ type: 'stream-start', warnings: unsupported.map(words.unsupported) });
                const onEvent = (event: AnswerEvent) => parts(event).forEach(push);
                await withAbortReason(abortSignal, () => engine.generate(request, { signal, onEvent }));
            }, abortSignal);
            return { stream: stream.toReadableStream() };
        },
    };
}

/** `embedMany({ model: embeddingModel(engine), values: ['a', 'b'] })` */
export function embeddingModel(engine: LoadedEngine, settings: Required<Specification<'v2'>>): EmbeddingModel<'v2'>;
export function embeddingModel(engine: LoadedEngine, settings: Required<Specification<'v4'>>): EmbeddingModel<'v4'>;
export function embeddingModel(engine: LoadedEngine, settings?: Specification<'v3'>): EmbeddingModel;
export function embeddingModel(
    engine: LoadedEngine,
    { specification = 'v3' }: Specification<Version> = {},
): EmbeddingModel<Version> {
    return {
        specificationVersion: specification,
        provider: 'lapidary',
        modelId: engine.info.model,
        maxEmbeddingsPerCall: Infinity,
        supportsParallelCalls: false,
        doEmbed: async ({ values, abortSignal }) => {
            const vectors = await withAbortReason(abortSignal, () => engine.embed(values, requestOptions(abortSignal)));
            return { embeddings: vectors.map((vector) => [...vector]), warnings: [] };
        },
    };
}

function requestOptions(signal: AbortSignal | undefined): RequestOptions {
    return signal ? { signal } : {};
}

/** The SDK knows an abort by the signal's own reason. */
async function withAbortReason<Result>(signal: AbortSignal | undefined, work: () => Promise<Result>): Promise<Result> {
    try {
        return await work();
    } catch (error) {
        if (signal?.aborted) throw signal.reason;
        throw error;
    }
}
