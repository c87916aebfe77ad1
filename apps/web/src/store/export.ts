// Conversations as files: JSON for programs (everything, all branches), Markdown for people (what is shown).
import { pathOf, type Conversation, type Message } from './conversation.js';
import { fence, filesOf, isFile, nameOf } from './parts.js';

/** With its pictures and sounds, in base64 by their digests. */
export async function toJson(conversation: Conversation, messages: readonly Message[]): Promise<string> {
    const files = messages.flatMap(({ parts = [] }) => parts.filter(isFile).flatMap(filesOf));
    const media = files.length > 0 ? { media: await (await import('./media.js')).inBase64(files) } : {};
    return `${JSON.stringify({ format: 'lapidary-conversation', version: 1, conversation, messages, ...media }, null, 2)}\n`;
}

export function toMarkdown(conversation: Conversation, messages: readonly Message[]): string {
    const parts = [`# ${conversation.title}`];
    for (const { message } of pathOf(conversation, messages)) {
        const speaker = { user: 'You', assistant: message.model ?? 'Model', tool: 'Tool' }[message.role];
        parts.push(`## ${speaker}`);
        if (message.reasoning) parts.push(quote(message.reasoning));
        for (const part of message.parts ?? []) {
            parts.push(part.type === 'text' ? `${part.name}:\n\n${fence(part.text)}` : `(${nameOf(part)})`);
        }
        if (message.content) parts.push(message.content);
        for (const call of message.toolCalls ?? []) parts.push(fence(`${call.name} ${call.arguments}`));
    }
    return `${parts.join('\n\n')}\n`;
}

function quote(text: string): string {
    return text
        .split('\n')
        .map((line) => `> ${line}`)
        .join('\n');
}

/** A name every file system takes. */
export function fileName(title: string, extension: string): string {
    const plain = title
        .normalize('NFKD')
        .replace(/\p{M}/gu, '')
        .replace(/[^\p{L}\p{N}]+/gu, '-')
        .replace(/^-+|-+$/g, '')
        .slice(0, 60);
    return `${plain || 'conversation'}.${extension}`;
}
