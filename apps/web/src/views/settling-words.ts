// The words of a draft, and which of them are firm: all of their letters are of tokens that were accepted.
import type { Draft } from '../store/conversation.js';

export interface DraftWord {
    text: string;
    firm: boolean;
}

/** Words and what is between them, in their order, from the first word on. */
export function wordsOf({ text, firm }: Pick<Draft, 'text' | 'firm'>): DraftWord[] {
    const words: DraftWord[] = [];
    let at = 0;
    for (const part of text.match(/\s+|\S+/g) ?? []) {
        if (words.length > 0 || part.trim() !== '') words.push({ text: part, firm: isFirm(firm, at, at + part.length) });
        at += part.length;
    }
    return words;
}

function isFirm(ranges: readonly number[], start: number, end: number): boolean {
    for (let i = 0; i + 1 < ranges.length; i += 2) {
        const [from = 0, to = 0] = [ranges[i], ranges[i + 1]];
        if (from <= start && end <= to) return true;
    }
    return false;
}
