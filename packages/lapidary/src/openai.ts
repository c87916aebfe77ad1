// The shapes that OpenAI's chat and completion endpoints made common: requests, answers and the chunks of a stream.
// Types only. What is ours and not OpenAI's says so.
import type { JsonObject } from './json.js';
import type { MediaPart } from './media/parts.js';

export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool';

export interface TextPart {
    type: 'text';
    text: string;
}

/** A picture as OpenAI's clients send it. Only models with eyes take it; the others refuse with a sentence. */
export interface ImagePart {
    type: 'image_url';
    image_url: { url: string; detail?: string };
}

/** Sound as OpenAI's clients send it: base64 and the name of its format. */
export interface AudioPart {
    type: 'input_audio';
    input_audio: { data: string; format: string };
}

/** A picture or a sound as a file of any kind: base64, or a data address. */
export interface FilePart {
    type: 'file';
    file: { file_data: string; filename?: string };
}

/** The last are ours: files as they are, nothing in base64. */
export type ContentPart = TextPart | ImagePart | AudioPart | FilePart | MediaPart;

export interface ToolCall {
    id: string;
    type: 'function';
    function: {
        name: string;
        /** A JSON object, as text. */
        arguments: string;
    };
}

export interface ChatMessage {
    role: Role;
    content?: string | readonly ContentPart[] | null;
    /** What the model thought before it answered (assistant). */
    reasoning_content?: string | null;
    /** Calls the assistant made. */
    tool_calls?: readonly ToolCall[];
    /** The call that a message of role `tool` answers. */
    tool_call_id?: string;
    name?: string;
}

export interface FunctionTool {
    type: 'function';
    function: {
        name: string;
        description?: string;
        /** A JSON schema. */
        parameters?: JsonObject;
        strict?: boolean | null;
    };
}

export type ToolChoice = 'none' | 'auto' | 'required' | { type: 'function'; function: { name: string } };

export type ResponseFormat =
    | { type: 'text' }
    | { type: 'json_object' }
    | {
          type: 'json_schema';
          json_schema: { name?: string; description?: string; schema: JsonObject; strict?: boolean | null };
      }
    /** As llama.cpp and others take it. */
    | { type: 'json_schema' | 'json_object'; schema: JsonObject; strict?: boolean | null };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface StreamOptions {
    /** One more chunk at the end, with no choices and the `usage`. */
    include_usage?: boolean;
}

/** How tokens are chosen, the same for chats and for plain text. What is left out, the model's makers recommend. */
export interface SamplingParams {
    temperature?: number | null;
    top_p?: number | null;
    /** Ours. */
    top_k?: number | null;
    /** Ours. */
    min_p?: number | null;
    /** Ours: 1 changes nothing, more makes repetition less likely. */
    repeat_penalty?: number | null;
    frequency_penalty?: number | null;
    presence_penalty?: number | null;
    /** The same seed, request and device give the same answer. Any whole number; -1 is any seed. */
    seed?: number | null;
    /** What to add to the logits of tokens, by id: from -100 to 100. */
    logit_bias?: Record<string, number> | null;
    stop?: string | readonly string[] | null;
    /** Ours: adapters of `engine.adapters` to answer with, and how much of each (1 unless told). */
    adapters?: readonly { adapter: string | { id: string }; scale?: number }[] | null;
}

/** Members that are not here, such as `user` or `metadata`, do nothing. */
export interface ChatCompletionParams extends SamplingParams {
    /** Accepted for compatibility: the loaded model answers. */
    model?: string;
    messages: readonly ChatMessage[];
    tools?: readonly FunctionTool[] | null;
    tool_choice?: ToolChoice | null;
    max_completion_tokens?: number | null;
    /** The older name of `max_completion_tokens`. Without either, an answer ends when the model ends it. */
    max_tokens?: number | null;
    response_format?: ResponseFormat | null;
    logprobs?: boolean | null;
    /** 0 to 20, with `logprobs`. */
    top_logprobs?: number | null;
    /** `none` and `minimal` switch thinking off, everything else on: the models know no degrees. */
    reasoning_effort?: ReasoningEffort | null;
    /** Ours: think before answering. Wins over `reasoning_effort`; off unless asked for. */
    thinking?: boolean | null;
    /**
     * Ours: what to do when the conversation leaves no room for an answer. `error`, unless told, refuses it; `stop`
     * answers nothing; `slide` leaves out the oldest turns and tells how many messages in `dropped_messages`.
     */
    overflow?: 'error' | 'stop' | 'slide' | null;
    /**
     * Ours: the tokens of an answer to these messages that was broken off, as `report_tokens` told them. What comes is the
     * rest alone, and with the same seed just what would have come; usage and the limit of tokens count the whole answer.
     */
    continue_tokens?: readonly number[] | null;
    /** Ours, in a stream: also tell the tokens that the pieces are made of, for `continue_tokens`. */
    report_tokens?: boolean | null;
    /** 1 is all there is. */
    n?: number | null;
    stream?: boolean | null;
    stream_options?: StreamOptions | null;
}

export type ChatCompletionParamsStreaming = ChatCompletionParams & { stream: true };
export type ChatCompletionParamsNonStreaming = ChatCompletionParams & { stream?: false | null };

export type FinishReason = 'stop' | 'length' | 'tool_calls';

export interface Usage {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    prompt_tokens_details: {
        /** Tokens of the prompt that were still in memory from before and cost nothing. */
        cached_tokens: number;
    };
}

/** Ours. */
export interface Timings {
    prompt_ms: number;
    completion_ms: number;
    /** Of the answer, from its second token on. 0 when there was no second one. */
    tokens_per_second: number;
    /** From the call to the first piece of the answer, with the time spent waiting for other calls. */
    time_to_first_token_ms: number;
}

export interface TopLogprob {
    token: string;
    logprob: number;
    bytes: number[] | null;
}

export interface TokenLogprob extends TopLogprob {
    top_logprobs: TopLogprob[];
}

export interface ChoiceLogprobs {
    content: TokenLogprob[] | null;
    refusal: null;
}

/** Ours: what the model wrote as a call and nobody could read. */
export interface InvalidToolCall {
    text: string;
    error: string;
}

export interface AssistantMessage {
    role: 'assistant';
    /** Null when the answer is made of calls alone. */
    content: string | null;
    refusal: null;
    reasoning_content?: string;
    tool_calls?: ToolCall[];
    invalid_tool_calls?: InvalidToolCall[];
}

export interface ChatCompletion {
    id: string;
    object: 'chat.completion';
    /** Seconds since 1970. */
    created: number;
    model: string;
    /** Differs where the model, or what computes, does. */
    system_fingerprint: string;
    choices: [
        {
            index: 0;
            message: AssistantMessage;
            finish_reason: FinishReason;
            logprobs: ChoiceLogprobs | null;
        },
    ];
    usage: Usage;
    timings: Timings;
    /** Ours: with `overflow: 'slide'`, if any were. */
    dropped_messages?: number;
}

export interface ToolCallDelta {
    index: number;
    id?: string;
    type?: 'function';
    function: { name?: string; arguments: string };
}

export interface ChatCompletionDelta {
    role?: 'assistant';
    content?: string | null;
    reasoning_content?: string;
    /** The first piece of a call has its id and name, the others go on with its arguments. */
    tool_calls?: ToolCallDelta[];
    invalid_tool_calls?: InvalidToolCall[];
    /** With `report_tokens`: those that this piece and what was held back before it are made of. */
    tokens?: number[];
}

export interface ChatCompletionChunkChoice {
    index: 0;
    delta: ChatCompletionDelta;
    finish_reason: FinishReason | null;
    logprobs?: ChoiceLogprobs | null;
}

export interface ChatCompletionChunk {
    id: string;
    object: 'chat.completion.chunk';
    created: number;
    model: string;
    system_fingerprint: string;
    /** One, or none in the chunk that carries the usage. */
    choices: ChatCompletionChunkChoice[];
    /** With `include_usage`: null in all chunks but the last. */
    usage?: Usage | null;
    /** In the last chunk. */
    timings?: Timings;
    dropped_messages?: number;
}

export interface CompletionParams extends SamplingParams {
    model?: string;
    /** Text to continue, or its tokens. A list of several must have one member. */
    prompt: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
    /** 0 writes nothing, which is of use with `echo` and `logprobs`. -1, or leaving it out: until the model ends. */
    max_tokens?: number | null;
    /** Begin with the prompt, and with `logprobs` tell how likely its tokens are. */
    echo?: boolean | null;
    /** How many likely tokens to tell at each place: 0 to 20. */
    logprobs?: number | null;
    n?: number | null;
    /** Ours: as for chats. */
    response_format?: ResponseFormat | null;
    /** Ours: begin with the model's beginning-of-text token. True unless told. */
    add_bos?: boolean | null;
    /** Ours: let names of special tokens in the prompt mean those tokens. True unless told. */
    parse_special?: boolean | null;
    stream?: boolean | null;
    stream_options?: StreamOptions | null;
}

export type CompletionParamsStreaming = CompletionParams & { stream: true };
export type CompletionParamsNonStreaming = CompletionParams & { stream?: false | null };

export interface CompletionLogprobs {
    tokens: string[];
    /** With `echo`, null for a first token that nothing is before. */
    token_logprobs: (number | null)[];
    top_logprobs: (Record<string, number> | null)[];
    text_offset: number[];
}

export interface CompletionChoice {
    index: 0;
    text: string;
    /** Null in all but the last chunk of a stream. */
    finish_reason: 'stop' | 'length' | null;
    logprobs: CompletionLogprobs | null;
}

/** An answer, and also a chunk of a stream: OpenAI gives both the same shape. */
export interface Completion {
    id: string;
    object: 'text_completion';
    created: number;
    model: string;
    system_fingerprint: string;
    choices: CompletionChoice[];
    /** Always in an answer; in a stream only in the last chunk, when asked for. */
    usage?: Usage | null;
    timings?: Timings;
}

export interface EmbeddingParams {
    model?: string;
    /** Texts, or the tokens of texts, taken as they are. At most 2,048. */
    input: string | readonly string[] | readonly number[] | readonly (readonly number[])[];
    /** How many numbers of each vector to give; they are then made to have length 1 again. All unless told. */
    dimensions?: number | null;
    /** Ours: `false` refuses texts that are longer than the context. They are cut unless told. */
    truncate?: boolean | null;
    /** Ours: what the vectors are for, such as `query` or `document`, of a model of embeddings. The bare text unless told. */
    task?: string | null;
    /** Ours: what the texts are called, with the task `document`. */
    title?: string | null;
    /** Ours: the most tokens of each text that are read; what the context holds unless told less. */
    max_input_tokens?: number | null;
    /** `base64` is the float32 numbers in little-endian order. */
    encoding_format?: 'float' | 'base64' | null;
}

export interface EmbeddingResponse {
    object: 'list';
    data: { object: 'embedding'; index: number; embedding: number[] | string }[];
    model: string;
    usage: { prompt_tokens: number; total_tokens: number };
    /** Ours: how many of the texts were cut, if any. */
    truncated_inputs?: number;
}
