// What a conversation is. Messages form a tree: asking again or editing adds a branch beside the old one, so nothing that
// was said is ever overwritten. What one sees is a path through the tree.
import type { Part } from './parts.js';

export type Role = 'user' | 'assistant' | 'tool';

export interface ToolCall {
    id: string;
    name: string;
    /** JSON, as the model wrote it. */
    arguments: string;
}

export interface AnswerStats {
    promptTokens: number;
    completionTokens: number;
    /** Prompt tokens that were still known from before. */
    cachedTokens?: number;
    promptMs?: number;
    completionMs?: number;
    contextLength?: number;
}

/** `streaming` in the database of a page that was closed meanwhile reads as interrupted. */
export type MessageStatus = 'complete' | 'streaming' | 'stopped' | 'interrupted' | 'length' | 'failed';

/** Of a model that settles many tokens at a time. */
export interface Draft {
    text: string;
    /** Where in it accepted tokens are: start and end in turn. */
    firm: readonly number[];
    settled: number;
    tokens: number;
    step: number;
    steps: number;
}

export interface Message {
    id: string;
    conversation: string;
    parent: string | null;
    createdAt: number;
    role: Role;
    content: string;
    /** Of a question: the files that go with it. */
    parts?: readonly Part[];
    status: MessageStatus;
    reasoning?: string;
    toolCalls?: ToolCall[];
    /** For the answer of a tool: which call it answers. */
    toolCallId?: string;
    model?: string;
    stats?: AnswerStats;
    /** How many of the first messages the model did not see for this answer. */
    leftOut?: number;
    /** One sentence, when the status is `failed`. */
    problem?: string;
    /** Of an answer that is not complete: what it is made of, so that it can be continued exactly. */
    tokens?: number[];
    /** While it is written by a model that settles many tokens at a time; not kept. */
    draft?: Draft;
}

export interface Conversation {
    id: string;
    title: string;
    /** The person chose the title: it is not replaced. */
    titled: boolean;
    createdAt: number;
    updatedAt: number;
    /** Which child is shown, where a message has several. */
    chosen: Record<string, string>;
    /** Deleted, but for a little while it can be brought back. */
    deletedAt?: number;
}

const rootKey = 'root';

/** What is shown after `parent`, oldest first. */
export function childrenOf(messages: readonly Message[], parent: string | null): Message[] {
    return messages
        .filter((message) => message.parent === parent)
        .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

export interface Step {
    message: Message;
    /** The message's place among those that could stand here. */
    index: number;
    siblings: Message[];
}

/** The messages on the chosen path, from the first. */
export function pathOf(conversation: Conversation, messages: readonly Message[]): Step[] {
    const steps: Step[] = [];
    let parent: string | null = null;
    // A damaged record could name itself as its parent: no path is longer than there are messages.
    while (steps.length < messages.length) {
        const siblings = childrenOf(messages, parent);
        const chosen = conversation.chosen[parent ?? rootKey];
        const wanted = siblings.findIndex((message) => message.id === chosen);
        const index = wanted >= 0 ? wanted : siblings.length - 1;
        const message = siblings[index];
        if (!message) break;
        steps.push({ message, index, siblings });
        parent = message.id;
    }
    return steps;
}

export function choose(conversation: Conversation, message: Message): Conversation {
    return { ...conversation, chosen: { ...conversation.chosen, [message.parent ?? rootKey]: message.id } };
}

/** The messages before `message`, in order. */
export function ancestorsOf(messages: readonly Message[], message: Message): Message[] {
    const byId = new Map(messages.map((other) => [other.id, other]));
    const path: Message[] = [];
    let next = message.parent === null ? undefined : byId.get(message.parent);
    while (next && path.length < messages.length) {
        path.unshift(next);
        next = next.parent === null ? undefined : byId.get(next.parent);
    }
    return path;
}

/** Whether every word of the query occurs, in any case. */
export function matches(query: string, ...texts: string[]): boolean {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const all = texts.join('\n').toLowerCase();
    return words.every((word) => all.includes(word));
}
