// A conversation outgrows what a model can hold. Then its beginning is left out, as people forget beginnings too.
import type { ChatMessage } from '../chat/backend.js';

// What a turn costs besides its text; a little too much is better than too little.
const perMessage = 8;

export interface Trimmed {
    messages: ChatMessage[];
    /** Messages that were left out. */
    leftOut: number;
}

/**
 * `lengths` are the messages' tokens. The instructions at the front and the last message always stay; what is left begins
 * with something a person said.
 */
export function trimToFit(messages: readonly ChatMessage[], lengths: readonly number[], limit: number): Trimmed {
    const cost = (index: number) => (lengths[index] ?? 0) + perMessage;
    const instructions = messages.findIndex(({ role }) => role !== 'system');
    const first = instructions < 0 ? messages.length : instructions;
    let total = messages.reduce((sum, _message, index) => sum + cost(index), 0);
    let start = first;
    while (start < messages.length - 1 && (total > limit || (start > first && messages[start]?.role !== 'user'))) {
        total -= cost(start);
        start++;
    }
    return { messages: [...messages.slice(0, first), ...messages.slice(start)], leftOut: start - first };
}

/** Tokens the prompt may have, so that there is room for an answer. */
export function promptLimit(contextLength: number, maxTokens: number | undefined): number {
    const wanted = maxTokens ?? contextLength / 4;
    return Math.floor(contextLength - Math.min(wanted, contextLength / 2));
}
