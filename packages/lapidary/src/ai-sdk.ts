// `lapidary/ai-sdk`: a loaded engine as a language model of Vercel's AI SDK.
import {
    wordings,
    type CallOptions,
    type Content,
    type EmbeddingModel,
    type LanguageModel,
    type PromptMessage,
    type PromptPart,
    type StreamPart,
    type ToolOutput,
    type Version,
    type Wording,
} from './ai-sdk/specification.js';
import type { RequestOptions } from './endpoints.js';
import { base64Bytes } from './dialects/media.js';
import { LapidaryError } from './error.js';
import type { JsonObject } from './json.js';
import type { LoadedEngine } from './lapidary.js';
import type { ContentPart, ChatCompletionChunk, ChatCompletionParams, ChatMessage, FinishReason, ToolChoice, Usage } from './openai.js';

export interface ModelSettings {
    /** Think before answering; off unless told. */
    thinking?: boolean;
}

/** Which AI SDK: `v3`, unless told, for 6 and later; `v2` for 5. */
export interface Specification<V extends Version> {
    specification?: V;
}

export type { EmbeddingModel, LanguageModel } from './ai-sdk/specification.js';

/** `generateText({ model: languageModel(engine), prompt: 'Hello!' })` */
export function languageModel(
    engine: LoadedEngine,
    settings: ModelSettings & Required<Specification<'v2'>>,
): LanguageModel<'v2'>;
export function languageModel(engine: LoadedEngine, settings?: ModelSettings & Specification<'v3'>): LanguageModel;
export function languageModel(
    engine: LoadedEngine,
    settings: ModelSettings & Specification<Version> = {},
): LanguageModel<Version> {
    return settings.specification === 'v2'
        ? makeLanguageModel(engine, settings, 'v2', wordings.v2)
        : makeLanguageModel(engine, settings, 'v3', wordings.v3);
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
        doGenerate: async (options) => {
            const { params, unsupported } = translate(options, settings);
            const completion = await withAbortReason(options.abortSignal, () =>
                engine.chat.completions.create({ ...params, stream: false }, requestOptions(options.abortSignal)),
            );
            const [{ message, finish_reason }] = completion.choices;
            const content: Content[] = [];
            if (message.reasoning_content) content.push({ type: 'reasoning', text: message.reasoning_content });
            if (message.content) content.push({ type: 'text', text: message.content });
            for (const { id, function: made } of message.tool_calls ?? []) {
                content.push({ type: 'tool-call', toolCallId: id, toolName: made.name, input: made.arguments });
            }
            return {
                content,
                finishReason: words.finishReason(finish_reason),
                usage: words.usage(completion.usage),
                warnings: unsupported.map(words.unsupported),
                response: { id: completion.id, modelId: completion.model, timestamp: new Date(completion.created * 1000) },
            };
        },
        doStream: async (options) => {
            const { params, unsupported } = translate(options, settings);
            const chunks = await withAbortReason(options.abortSignal, () =>
                engine.chat.completions.create(
                    { ...params, stream: true, stream_options: { include_usage: true } },
                    requestOptions(options.abortSignal),
                ),
            );
            return { stream: streamParts(chunks, unsupported, words, options.abortSignal) };
        },
    };
}

/** `embedMany({ model: embeddingModel(engine), values: ['a', 'b'] })` */
export function embeddingModel(engine: LoadedEngine, settings: Required<Specification<'v2'>>): EmbeddingModel<'v2'>;
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

type Params = Omit<ChatCompletionParams, 'stream'>;

function translate(
    options: CallOptions,
    settings: ModelSettings,
): { params: Params; unsupported: string[] } {
    const unsupported: string[] = [];
    const tools = (options.tools ?? []).flatMap((tool) => {
        if (tool.type === 'function') return [tool];
        unsupported.push(`tool ${tool.name}, which is not a function,`);
        return [];
    });
    const { responseFormat, toolChoice } = options;
    const params: Params = {
        messages: options.prompt.flatMap(messagesOf),
        thinking: settings.thinking ?? false,
        max_tokens: options.maxOutputTokens ?? null,
        temperature: options.temperature ?? null,
        top_p: options.topP ?? null,
        top_k: options.topK ?? null,
        presence_penalty: options.presencePenalty ?? null,
        frequency_penalty: options.frequencyPenalty ?? null,
        seed: options.seed ?? null,
        stop: options.stopSequences ?? null,
        tools: tools.map(({ name, description, inputSchema }) => ({
            type: 'function',
            function: {
                name,
                ...(description === undefined ? {} : { description }),
                parameters: (inputSchema ?? {}) as JsonObject,
            },
        })),
    };
    if (toolChoice) params.tool_choice = toolChoiceOf(toolChoice);
    if (responseFormat?.type === 'json') {
        const { name = 'answer', schema } = responseFormat;
        params.response_format = schema
            ? { type: 'json_schema', json_schema: { name, schema: schema as JsonObject, strict: true } }
            : { type: 'json_object' };
    }
    return { params, unsupported };
}

function toolChoiceOf(choice: NonNullable<CallOptions['toolChoice']>): ToolChoice {
    return choice.type === 'tool' ? { type: 'function', function: { name: choice.toolName } } : choice.type;
}

function messagesOf(message: PromptMessage): ChatMessage[] {
    switch (message.role) {
        case 'system':
            return [{ role: 'system', content: message.content }];
        case 'user':
            return [{ role: 'user', content: message.content.map(userPart) }];
        case 'tool':
            // Approvals of calls are between the SDK and the person.
            return message.content
                .filter(({ type }) => type === 'tool-result')
                .map(({ toolCallId = '', output, toolName = '' }) => ({
                    role: 'tool',
                    tool_call_id: toolCallId,
                    name: toolName,
                    content: resultText(output),
                }));
        case 'assistant': {
            const { content } = message;
            const join = (type: string) => content.map((part) => (part.type === type ? textOf(part) : '')).join('');
            const calls = content.filter((part) => part.type === 'tool-call');
            return [
                {
                    role: 'assistant',
                    content: join('text'),
                    ...(join('reasoning') === '' ? {} : { reasoning_content: join('reasoning') }),
                    ...(calls.length === 0
                        ? {}
                        : {
                              tool_calls: calls.map(({ toolCallId = '', toolName = '', input }) => ({
                                  id: toolCallId,
                                  type: 'function' as const,
                                  function: {
                                      name: toolName,
                                      arguments: typeof input === 'string' ? input : JSON.stringify(input),
                                  },
                              })),
                          }),
                },
            ];
        }
    }
}

function userPart(part: PromptPart): ContentPart {
    if (part.type !== 'file') return { type: 'text', text: textOf(part) };
    const { mediaType = '', data, filename: name } = part;
    // A program that allows no addresses gets what they lead to.
    const file = typeof data === 'string' ? base64Bytes(data, 'the file') : data;
    if (!(file instanceof Uint8Array)) throw new LapidaryError('unsupported', `a file of type '${mediaType}' must come with its bytes`);
    const told = name === undefined ? {} : { name };
    if (mediaType.startsWith('image/')) return { type: 'image', image: file, ...told };
    if (mediaType.startsWith('audio/')) return { type: 'audio', audio: file, ...told };
    throw new LapidaryError('unsupported', `a file of type '${mediaType}' cannot be read: only text, pictures and sounds can`);
}

function textOf(part: PromptPart): string {
    if (typeof part.text === 'string') return part.text;
    throw new LapidaryError('unsupported', `a part of type '${part.type}' cannot be read: only text, pictures and sounds can`);
}

function resultText(output: ToolOutput | undefined): string {
    if (output?.type === 'content' && Array.isArray(output.value)) return output.value.map(textOf).join('\n');
    if (output?.type === 'execution-denied') return output.reason ?? 'The person did not allow this call.';
    return typeof output?.value === 'string' && /text$/.test(output.type) ? output.value : JSON.stringify(output?.value ?? null);
}

function streamParts<V extends Version>(
    chunks: AsyncIterable<ChatCompletionChunk>,
    unsupported: string[],
    words: Wording<V>,
    signal: AbortSignal | undefined,
): ReadableStream<StreamPart<V>> {
    const parts = partsOf(chunks, unsupported, words, signal);
    return new ReadableStream({
        pull: async (controller) => {
            const { done, value } = await parts.next();
            if (done) controller.close();
            else controller.enqueue(value);
        },
        cancel: async () => {
            await parts.return(undefined);
        },
    });
}

async function* partsOf<V extends Version>(
    chunks: AsyncIterable<ChatCompletionChunk>,
    unsupported: string[],
    words: Wording<V>,
    signal: AbortSignal | undefined,
): AsyncGenerator<StreamPart<V>, undefined, undefined> {
    yield { type: 'stream-start', warnings: unsupported.map(words.unsupported) };
    let open: 'text' | 'reasoning' | undefined;
    let blocks = 0;
    let reason: FinishReason = 'stop';
    let measured: Usage | undefined;
    // Text and reasoning come in blocks with a beginning and an end.
    function* write(kind: 'text' | 'reasoning' | undefined, delta?: string): Generator<StreamPart<V>> {
        if (open !== kind) {
            if (open) yield { type: `${open}-end`, id: String(blocks) };
            if (kind) yield { type: `${kind}-start`, id: String(++blocks) };
            open = kind;
        }
        if (kind && delta !== undefined) yield { type: `${kind}-delta`, id: String(blocks), delta };
    }
    /** The call that is being written: they come one after the other. */
    let call: { id: string; toolName: string; input: string } | undefined;
    function* endCall(): Generator<StreamPart<V>> {
        if (!call) return;
        const { id, toolName, input } = call;
        call = undefined;
        yield { type: 'tool-input-end', id };
        yield { type: 'tool-call', toolCallId: id, toolName, input };
    }
    try {
        for await (const { choices, usage: told, id, model, created } of chunks) {
            if (told) measured = told;
            const [choice] = choices;
            if (!choice) continue;
            const { delta, finish_reason } = choice;
            if (delta.role) yield { type: 'response-metadata', id, modelId: model, timestamp: new Date(created * 1000) };
            if (delta.reasoning_content) yield* write('reasoning', delta.reasoning_content);
            if (delta.content) yield* write('text', delta.content);
            for (const { id: name, function: made } of delta.tool_calls ?? []) {
                yield* write(undefined);
                if (name !== undefined) {
                    yield* endCall();
                    call = { id: name, toolName: made.name ?? '', input: '' };
                    yield { type: 'tool-input-start', id: name, toolName: call.toolName };
                }
                if (!call || made.arguments === '') continue;
                call.input += made.arguments;
                yield { type: 'tool-input-delta', id: call.id, delta: made.arguments };
            }
            if (finish_reason) reason = finish_reason;
        }
    } catch (error) {
        if (signal?.aborted) throw signal.reason;
        throw error;
    }
    yield* write(undefined);
    yield* endCall();
    yield { type: 'finish', finishReason: words.finishReason(reason), usage: words.usage(measured) };
    return undefined;
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
