// Ollama's requests in the words of the library. Everything is checked here: the bodies are anybody's.
import {
    isObject,
    type ChatCompletionParams,
    type ChatMessage,
    type ContentPart,
    type EmbeddingParams,
    type FunctionTool,
    type JsonObject,
    type JsonValue,
    type ResponseFormat,
    type SamplingParams,
    type ToolCall,
} from 'lapidary';
import { badRequest } from './errors.js';
import type { KeepAlive } from './loaded.js';

/** Options that are numbers and have the same name in the library. */
export const numberOptions = [
    'temperature',
    'top_k',
    'top_p',
    'min_p',
    'repeat_penalty',
    'presence_penalty',
    'frequency_penalty',
    'seed',
] as const;

// About the machine, not about the answer: not following them changes nothing that anybody could notice.
const machineOptions = new Set([
    'numa',
    'num_batch',
    'num_gpu',
    'main_gpu',
    'low_vram',
    'f16_kv',
    'logits_all',
    'vocab_only',
    'use_mmap',
    'use_mlock',
    'num_thread',
    'num_keep',
]);

export interface OllamaOptions {
    sampling: SamplingParams & { max_tokens?: number };
    /** The context that was wished for; the server has its own. */
    context: number | undefined;
    /** Options that have no effect here, for the person who wonders. */
    ignored: string[];
}

export function readOptions(body: JsonObject): OllamaOptions {
    const options = body['options'] ?? {};
    if (!isObject(options)) throw badRequest("'options' must be an object");
    const sampling: OllamaOptions['sampling'] = {};
    const ignored: string[] = [];
    let context: number | undefined;
    for (const [name, value] of Object.entries(options)) {
        if (value === null) continue;
        const known = numberOptions.find((option) => option === name);
        if (known) sampling[known] = numberOf(name, value);
        else if (name === 'num_predict') {
            const limit = numberOf(name, value);
            if (limit > 0) sampling.max_tokens = limit; // -1 and -2 mean: as long as it likes
        } else if (name === 'stop') sampling.stop = stringsOf(name, value);
        else if (name === 'num_ctx') {
            context = numberOf(name, value);
        } else if (!machineOptions.has(name)) ignored.push(name);
    }
    return { sampling, context, ignored };
}

function numberOf(name: string, value: JsonValue): number {
    if (typeof value !== 'number') throw badRequest(`option "${name}" must be a number`);
    return value;
}

function stringsOf(name: string, value: JsonValue): string[] {
    const list = Array.isArray(value) ? value : [value];
    if (!list.every((text): text is string => typeof text === 'string')) {
        throw badRequest(`option "${name}" must be a list of strings`);
    }
    return list.filter((text) => text !== '');
}

export function readFormat(value: JsonValue | undefined): ResponseFormat | undefined {
    if (value === undefined || value === null || value === '') return undefined;
    if (value === 'json') return { type: 'json_object' };
    if (isObject(value)) return { type: 'json_schema', json_schema: { name: 'answer', schema: value } };
    throw badRequest('invalid format: expected "json" or a JSON schema');
}

export function readThink(value: JsonValue | undefined): boolean {
    if (value === undefined || value === null) return false;
    if (typeof value === 'boolean') return value;
    // Degrees for models that know them.
    if (typeof value === 'string' && degrees.has(value)) return true;
    const shown = JSON.stringify(value).slice(0, 60);
    throw badRequest(`invalid think value: ${shown} (must be true, false, "max", "high", "medium" or "low")`);
}

const degrees = new Set(['low', 'medium', 'high', 'max']);

/** Seconds as a number, or a duration as Go writes it; negative is for ever. */
export function readKeepAlive(value: JsonValue | undefined): KeepAlive {
    if (value === undefined || value === null || value === '') return undefined;
    const seconds = typeof value === 'number' ? value : typeof value === 'string' ? durationOf(value) : NaN;
    if (!Number.isFinite(seconds)) throw badRequest('keep_alive must be seconds or a duration such as "5m"');
    return seconds < 0 ? undefined : seconds;
}

const unitSeconds: Record<string, number> = { ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600 };

function durationOf(text: string): number {
    if (/^[+-]?\d+$/.test(text)) return Number(text);
    const match = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/.exec(text);
    if (!match?.[2]) return NaN;
    let seconds = 0;
    for (const [, amount, unit] of match[2].matchAll(/(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)/g)) {
        seconds += Number(amount) * (unitSeconds[unit ?? ''] ?? NaN);
    }
    return match[1] === '-' ? -seconds : seconds;
}

export function readStream(body: JsonObject): boolean {
    const stream = body['stream'] ?? true;
    if (typeof stream !== 'boolean') throw badRequest("'stream' must be true or false");
    return stream;
}

export function readText(body: JsonObject, name: string): string {
    const value = body[name] ?? '';
    if (typeof value !== 'string') throw badRequest(`'${name}' must be a string`);
    return value;
}

/** Pictures and sounds in base64 stand before the text they belong to: by their bytes one tells which is which. */
export function withImages(content: string, value: JsonValue | undefined): string | ContentPart[] {
    if (value === undefined || value === null) return content;
    if (!Array.isArray(value)) throw badRequest("'images' must be a list");
    if (value.length === 0) return content;
    const parts = value.map((data, i): ContentPart => {
        if (typeof data !== 'string') throw badRequest(`images[${i}] must be a file in base64`);
        return { type: 'file', file: { file_data: data, filename: `images[${i}]` } };
    });
    return [...parts, { type: 'text', text: content }];
}

/** The members that chat and generate share. */
export function readChatParams(
    body: JsonObject,
    messages: ChatMessage[],
    { sampling }: OllamaOptions,
): ChatCompletionParams {
    const format = readFormat(body['format']);
    const tools = readTools(body['tools']);
    const params: ChatCompletionParams = { ...sampling, messages, thinking: readThink(body['think']) };
    if (format) params.response_format = format;
    if (tools.length > 0) params.tools = tools;
    const { logprobs, top_logprobs: top } = body;
    if (typeof logprobs === 'boolean') params.logprobs = logprobs;
    if (logprobs === true && typeof top === 'number') params.top_logprobs = top;
    return params;
}

function readTools(value: JsonValue | undefined): FunctionTool[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value) || !value.every(isObject)) throw badRequest("'tools' must be a list of tools");
    return value as unknown as FunctionTool[]; // looked at by the library
}

export function readMessages(value: JsonValue | undefined): ChatMessage[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw badRequest("'messages' must be a list of messages");
    // Calls need not carry ids; results then name the tool they come from, or stand as the calls do.
    let open: ToolCall[] = [];
    return value.map((message, i) => {
        if (!isObject(message)) throw badRequest(`messages[${i}] must be an object`);
        const { role, content } = message;
        if (typeof role !== 'string') throw badRequest(`messages[${i}].role must be a string`);
        if (content !== undefined && content !== null && typeof content !== 'string') {
            throw badRequest(`messages[${i}].content must be a string`);
        }
        const read = { role, content: withImages(content ?? '', message['images']) } as ChatMessage; // a role nobody knows is refused by the library
        if (typeof message['thinking'] === 'string') read.reasoning_content = message['thinking'];
        if (role === 'assistant') {
            open = readCalls(message['tool_calls'], i);
            if (open.length > 0) read.tool_calls = [...open];
        }
        if (role === 'tool') {
            const { tool_call_id: id, tool_name, name = tool_name } = message;
            if (typeof name === 'string' && name !== '') read.name = name;
            const byId = open.findIndex((call) => call.id === id);
            const byName = open.findIndex((call) => call.function.name === name);
            const [answered] = open.splice(byId >= 0 ? byId : Math.max(byName, 0), 1);
            if (answered) read.tool_call_id = answered.id;
        }
        return read;
    });
}

function readCalls(value: JsonValue | undefined, message: number): ToolCall[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw badRequest(`messages[${message}].tool_calls must be a list`);
    return value.map((call, i) => {
        const place = `messages[${message}].tool_calls[${i}]`;
        const called = isObject(call) ? call['function'] : undefined;
        if (!isObject(call) || !isObject(called)) throw badRequest(`${place} must be an object with a function`);
        const { name } = called;
        if (typeof name !== 'string') throw badRequest(`${place}.function.name must be a string`);
        const id = typeof call['id'] === 'string' ? call['id'] : `call_${message}_${i}`;
        return { id, type: 'function', function: { name, arguments: JSON.stringify(called['arguments'] ?? {}) } };
    });
}

/** Undefined where there is nothing to embed: Ollama's clients load a model that way. */
export function readEmbed(body: JsonObject): EmbeddingParams | undefined {
    const { context } = readOptions(body);
    const { input, truncate, dimensions } = body;
    if (input === undefined || input === null || input === '' || (Array.isArray(input) && input.length === 0)) return undefined;
    if (typeof input !== 'string' && !(Array.isArray(input) && input.every((text) => typeof text === 'string'))) {
        throw badRequest("'input' must be a string or a list of strings");
    }
    if (truncate !== undefined && truncate !== null && typeof truncate !== 'boolean') {
        throw badRequest("'truncate' must be true or false");
    }
    return {
        input: input as string | string[],
        encoding_format: 'float',
        ...(truncate === false ? { truncate } : {}),
        ...(typeof dimensions === 'number' && dimensions !== 0 ? { dimensions } : {}), // 0 is Go's way to leave it out
        ...(context !== undefined && context > 0 ? { max_input_tokens: context } : {}),
    };
}
