// Vercel's AI SDK: call options in, parts of a stream out.
import type { CallOptions, Content, PromptMessage, PromptPart, StreamPart, ToolOutput, Version, Wording } from './ai-sdk-specification.js';
import type { AnswerEvent, Ended } from '../answer/events.js';
import { LapidaryError } from '../error.js';
import type { ChatMessage, ToolChoice } from '../openai.js';
import type { GenerateRequest } from '../session.js';
import type { Head } from './head.js';
import { base64Bytes } from './media.js';
import { openAiChat } from './openai-chat.js';

export interface AskedCall {
    request: GenerateRequest;
    /** What was asked for and cannot be had. */
    unsupported: string[];
}

export function readCall(options: CallOptions, thinking: boolean): AskedCall {
    const unsupported: string[] = [];
    const tools = (options.tools ?? []).flatMap((tool) => {
        if (tool.type === 'function') return [tool];
        unsupported.push(`tool ${tool.name}, which is not a function,`);
        return [];
    });
    const { responseFormat, toolChoice, reasoning = 'provider-default' } = options;
    const { request } = openAiChat.read({
        messages: options.prompt.flatMap(messagesOf),
        thinking: reasoning === 'provider-default' ? thinking : reasoning !== 'none' && reasoning !== 'minimal',
        max_tokens: options.maxOutputTokens,
        temperature: options.temperature,
        top_p: options.topP,
        top_k: options.topK,
        presence_penalty: options.presencePenalty,
        frequency_penalty: options.frequencyPenalty,
        seed: options.seed,
        stop: options.stopSequences,
        tools: tools.map(({ name, description, inputSchema }) => ({
            type: 'function',
            function: { name, ...(description === undefined ? {} : { description }), parameters: inputSchema ?? {} },
        })),
        ...(toolChoice ? { tool_choice: toolChoiceOf(toolChoice) } : {}),
        ...(responseFormat?.type === 'json' ? { response_format: formatOf(responseFormat) } : {}),
    });
    return { request, unsupported };
}

/** What events become: a function for each answer. Text and reasoning come in blocks with a beginning and an end. */
export function streamParts<V extends Version>(
    { id, model: modelId, created }: Head,
    words: Wording<V>,
): (event: AnswerEvent) => StreamPart<V>[] {
    let open: 'text' | 'reasoning' | undefined;
    let blocks = 0;
    /** The call that is being written: they come one after the other. */
    let call: { id: string; toolName: string; input: string } | undefined;
    let begun = false;
    const write = (kind: 'text' | 'reasoning' | undefined, delta?: string): StreamPart<V>[] => {
        const out: StreamPart<V>[] = [];
        if (open !== kind) {
            if (open) out.push({ type: `${open}-end`, id: String(blocks) });
            if (kind) out.push({ type: `${kind}-start`, id: String(++blocks) });
            open = kind;
        }
        if (kind && delta !== undefined) out.push({ type: `${kind}-delta`, id: String(blocks), delta });
        return out;
    };
    const endCall = (): StreamPart<V>[] => {
        if (!call) return [];
        const { id: toolCallId, toolName, input } = call;
        call = undefined;
        return [{ type: 'tool-input-end', id: toolCallId }, { type: 'tool-call', toolCallId, toolName, input }];
    };
    const input = (delta: string): StreamPart<V>[] => {
        if (!call || delta === '') return [];
        call.input += delta;
        return [{ type: 'tool-input-delta', id: call.id, delta }];
    };
    const of = (event: AnswerEvent): StreamPart<V>[] => {
        switch (event.type) {
            case 'content':
                return event.text === '' ? [] : [...endCall(), ...write('text', event.text)];
            case 'reasoning':
                return [...endCall(), ...write('reasoning', event.text)];
            case 'call': {
                const before = [...write(undefined), ...endCall()];
                call = { id: event.id, toolName: event.name, input: '' };
                return [...before, { type: 'tool-input-start', id: event.id, toolName: event.name }, ...input(event.arguments)];
            }
            case 'arguments':
                return input(event.text);
            case 'end': {
                const finish = { type: 'finish', finishReason: words.finishReason(event.finish), usage: words.usage(event.usage) } as const;
                return [...write(undefined), ...endCall(), finish];
            }
            default:
                return [];
        }
    };
    return (event) => {
        const parts = of(event);
        if (begun || parts.length === 0) return parts;
        begun = true;
        return [{ type: 'response-metadata', id, modelId, timestamp: new Date(created * 1000) }, ...parts];
    };
}

export function contentOf({ reasoning, content, calls }: Ended): Content[] {
    return [
        ...(reasoning === '' ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
        ...(content === '' ? [] : [{ type: 'text' as const, text: content }]),
        ...calls.map(({ id, name, arguments: input }) => ({ type: 'tool-call' as const, toolCallId: id, toolName: name, input })),
    ];
}

function formatOf({ name = 'answer', schema }: { name?: string | undefined; schema?: object | undefined }): object {
    return schema ? { type: 'json_schema', json_schema: { name, schema, strict: true } } : { type: 'json_object' };
}

function toolChoiceOf(choice: NonNullable<CallOptions['toolChoice']>): ToolChoice {
    return choice.type === 'tool' ? { type: 'function', function: { name: choice.toolName } } : choice.type;
}

function messagesOf(message: PromptMessage): (ChatMessage | { role: 'user'; content: object[] })[] {
    switch (message.role) {
        case 'system':
            return [{ role: 'system', content: message.content }];
        case 'user':
            return [{ role: 'user', content: message.content.map(partOf) }];
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
                                  function: { name: toolName, arguments: typeof input === 'string' ? input : JSON.stringify(input) },
                              })),
                          }),
                },
            ];
        }
    }
}

/** A text, a picture or a sound. */
function partOf(part: PromptPart): object {
    if (part.type !== 'file') return { type: 'text', text: textOf(part) };
    const { mediaType = '', data, filename } = part;
    const name = filename === undefined ? {} : { name: filename };
    const kind = /^(image|audio)(\/|$)/.exec(mediaType)?.[1];
    const told = typeof data === 'object' && 'type' in data ? data : { type: 'data', data };
    if (told.type === 'text' && 'text' in told) return { type: 'text', text: told.text };
    const given = 'url' in told ? told.url : 'data' in told ? told.data : undefined;
    if (!kind || given === undefined) throw new LapidaryError('unsupported', `a file of type '${mediaType}' cannot be read: only text, pictures and sounds can`);
    const address = given instanceof URL || /^(?:data|https?):/i.test(typeof given === 'string' ? given.slice(0, 8) : '') ? String(given) : undefined;
    if (address !== undefined) return kind === 'image' ? { type: 'image_url', image_url: { url: address } } : { type: 'audio_url', audio_url: { url: address } };
    const bytes = typeof given === 'string' ? base64Bytes(given, 'the file') : given;
    return kind === 'image' ? { type: 'image', image: bytes, ...name } : { type: 'audio', audio: bytes, ...name };
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
