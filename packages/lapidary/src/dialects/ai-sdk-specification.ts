// What Vercel's AI SDK asks of a model, as far as we have something to say: specifications v4 (AI SDK 7), v3 (6
// and 7) and v2 (5). Spelled out here, because the package of the SDK's own types has another version for each of them, and
// is not installed where a program can see it.
import type { Usage } from '../answer/events.js';

export type Version = 'v2' | 'v3' | 'v4';

export interface LanguageModel<V extends Version = 'v3'> {
    readonly specificationVersion: V;
    readonly provider: string;
    readonly modelId: string;
    readonly supportedUrls: Record<string, RegExp[]>;
    doGenerate(options: CallOptions): Promise<GenerateResult<V>>;
    doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPart<V>> }>;
}

export interface EmbeddingModel<V extends Version = 'v3'> {
    readonly specificationVersion: V;
    readonly provider: string;
    readonly modelId: string;
    readonly maxEmbeddingsPerCall: number;
    readonly supportsParallelCalls: boolean;
    doEmbed(options: {
        values: string[];
        abortSignal?: AbortSignal | undefined;
    }): Promise<{ embeddings: number[][]; warnings: Warning<V>[] }>;
}

export interface CallOptions {
    prompt: PromptMessage[];
    maxOutputTokens?: number | undefined;
    temperature?: number | undefined;
    stopSequences?: string[] | undefined;
    topP?: number | undefined;
    topK?: number | undefined;
    presencePenalty?: number | undefined;
    frequencyPenalty?: number | undefined;
    responseFormat?: { type: 'text' } | { type: 'json'; schema?: object | undefined; name?: string | undefined } | undefined;
    seed?: number | undefined;
    tools?: Tool[] | undefined;
    toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string } | undefined;
    /** Of v4: how much to think. */
    reasoning?: 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
    abortSignal?: AbortSignal | undefined;
}

export type PromptMessage =
    | { role: 'system'; content: string }
    | { role: 'user' | 'assistant' | 'tool'; content: PromptPart[] };

/** Any part of a message; `type` says which of the members are there. */
export interface PromptPart {
    type: string;
    text?: string;
    toolCallId?: string;
    toolName?: string;
    input?: unknown;
    output?: ToolOutput;
    filename?: string | undefined;
    /** Of a file: a picture or a sound. */
    mediaType?: string;
    data?: FileData | { type: 'data'; data: FileData } | { type: 'url'; url: URL } | { type: 'text'; text: string } | { type: 'reference' };
}

/** Bytes, as such or in base64, or where they are. */
type FileData = Uint8Array | string | URL;

export interface ToolOutput {
    type: string;
    value?: unknown;
    reason?: string | undefined;
}

/** `type` is `function`, or that of a tool which only its maker can run. */
export interface Tool {
    type: string;
    name: string;
    description?: string | undefined;
    inputSchema?: object;
}

export type Content =
    | { type: 'text' | 'reasoning'; text: string }
    | { type: 'tool-call'; toolCallId: string; toolName: string; input: string };

export interface ResponseMetadata {
    id: string;
    modelId: string;
    timestamp: Date;
}

export interface GenerateResult<V extends Version> {
    content: Content[];
    finishReason: FinishReason<V>;
    usage: TokenUsage<V>;
    warnings: Warning<V>[];
    response: ResponseMetadata;
}

export type StreamPart<V extends Version> =
    | { type: 'stream-start'; warnings: Warning<V>[] }
    | ({ type: 'response-metadata' } & ResponseMetadata)
    | { type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end' | 'tool-input-end'; id: string }
    | { type: 'text-delta' | 'reasoning-delta' | 'tool-input-delta'; id: string; delta: string }
    | { type: 'tool-input-start'; id: string; toolName: string }
    | { type: 'tool-call'; toolCallId: string; toolName: string; input: string }
    | { type: 'finish'; finishReason: FinishReason<V>; usage: TokenUsage<V> };

type UnifiedReason = 'stop' | 'length' | 'tool-calls';

export type FinishReason<V extends Version> = V extends 'v2' ? UnifiedReason : { unified: UnifiedReason; raw: string | undefined };

export type Warning<V extends Version> = V extends 'v2'
    ? { type: 'other'; message: string }
    : { type: 'unsupported'; feature: string };

export type TokenUsage<V extends Version> = V extends 'v2'
    ? {
          inputTokens: number | undefined;
          outputTokens: number | undefined;
          totalTokens: number | undefined;
          cachedInputTokens?: number;
      }
    : {
          inputTokens: {
              total: number | undefined;
              noCache: number | undefined;
              cacheRead: number | undefined;
              cacheWrite: number | undefined;
          };
          outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined };
      };

/** Where the specifications differ. */
export interface Wording<V extends Version> {
    finishReason(reason: 'stop' | 'length' | 'tool_calls'): FinishReason<V>;
    usage(told: Usage): TokenUsage<V>;
    unsupported(feature: string): Warning<V>;
}

const unified = (reason: string) => (reason === 'tool_calls' ? 'tool-calls' : reason === 'length' ? 'length' : 'stop');

const laterWording: Wording<'v3'> & Wording<'v4'> = {
    finishReason: (reason) => ({ unified: unified(reason), raw: reason }),
    usage: ({ prompt, cached, completion }) => ({
        inputTokens: { total: prompt, noCache: prompt - cached, cacheRead: cached, cacheWrite: undefined },
        outputTokens: { total: completion, text: undefined, reasoning: undefined },
    }),
    unsupported: (feature) => ({ type: 'unsupported', feature }),
};

export const wordings: { readonly [V in Version]: Wording<V> } = {
    v2: {
        finishReason: unified,
        usage: ({ prompt, cached, completion }) => ({
            inputTokens: prompt,
            outputTokens: completion,
            totalTokens: prompt + completion,
            cachedInputTokens: cached,
        }),
        unsupported: (feature) => ({ type: 'other', message: `${feature} is not supported` }),
    },
    v3: laterWording,
    v4: laterWording,
};
