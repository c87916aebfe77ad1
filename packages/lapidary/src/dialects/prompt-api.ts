// Chrome's Prompt API: its words for messages, as the engine's.
import type { JsonObject } from '../json.js';
import type { ChatMessage, ContentPart } from '../openai.js';
import type { GenerateRequest } from '../session.js';
import { openAiChat } from './openai-chat.js';

export type PromptPart =
    | { type: 'text'; value: string }
    /** A file. */
    | { type: 'image' | 'audio'; value: Blob | BufferSource };

export interface PromptMessage {
    role: 'system' | 'user' | 'assistant';
    content: string | readonly PromptPart[];
}

export type PromptInput = string | readonly PromptMessage[];

export function requestOf(
    messages: readonly ChatMessage[],
    sampling: { temperature: number; topK: number } | undefined,
    schema: JsonObject | undefined,
): GenerateRequest {
    return openAiChat.read({
        messages,
        ...(sampling ? { temperature: sampling.temperature, top_k: sampling.topK } : {}),
        ...(schema ? { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } } : {}),
    }).request;
}

export function messagesOf(input: PromptInput): ChatMessage[] {
    if (typeof input === 'string') return [{ role: 'user', content: input }];
    return input.map(({ role, content }) => ({ role, content: contentOf(content) }));
}

function contentOf(content: PromptMessage['content']): string | ContentPart[] {
    if (typeof content === 'string') return content;
    const parts = content.map(partOf);
    if (parts.some(({ type }) => type !== 'text')) return parts;
    return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

function partOf({ type, value }: PromptPart): ContentPart {
    if (type === 'text') return { type, text: value };
    const file = ArrayBuffer.isView(value) ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength) : value;
    const bytes = file instanceof ArrayBuffer ? new Uint8Array(file) : file;
    const isFile = bytes instanceof Uint8Array || bytes instanceof Blob;
    if (isFile && type === 'image') return { type, image: bytes };
    if (isFile && type === 'audio') return { type, audio: bytes };
    throw new DOMException(`content of type '${String(type)}' cannot be read${isFile ? '' : ' unless it is a Blob or bytes'}`, 'NotSupportedError');
}
