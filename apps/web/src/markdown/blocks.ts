// Markdown of a model is untrusted text. marked takes it apart; nodes.tsx makes nodes of the parts. While an answer streams in,
// only the blocks that changed are made again.
import { Marked, type Token } from 'marked';

const marked = new Marked({ gfm: true, breaks: false });

export interface Block {
    /** The Markdown; the same text makes the same block. */
    raw: string;
    token: Token;
}

export function toBlocks(text: string): Block[] {
    try {
        return marked
            .lexer(text)
            .filter((token) => token.type !== 'space')
            .map((token) => ({ raw: token.raw, token }));
    } catch {
        // Thousands of quotation marks in a row are too deep for it, and nothing anybody meant.
        return [{ raw: text, token: { type: 'text', raw: text, text } }];
    }
}
