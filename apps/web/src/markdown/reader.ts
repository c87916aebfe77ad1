// Reads a text that grows. What is finished is not looked at again: as an answer streams in, only its last block is. And it
// never reads more at once than it is allowed to, so that a long text, or one that is made to be slow, holds up nobody.
import { partsOf, wordsOf, type Part, type References, type Token } from './parser.js';

export interface Block {
    /** The Markdown. */
    raw: string;
    /** Undefined: to be shown as it is. Inline tokens without children are shown as the text they have. */
    tokens: Token[] | undefined;
    /** All of its words were read. */
    done: boolean;
    /** How many references were known then. */
    references: number;
}

/** How much may still be read before the page gets its turn: in characters, of which whatever is found costs some more. */
export interface Budget {
    left: number;
}

/** What it costs to find something, because it will be shown: making nodes of it takes longer than reading. */
const costOfToken = 8;
const firstPiece = 4000;
/** A block that is longer is cut, except code: of that only the lines are looked for, a few milliseconds for a megabyte. */
const mostInBlock = 32_000;
/** And one that has more in it, such as a list of thousands of letters. */
const mostTokensInBlock = 2000;
/** A paragraph that is longer, or in more pieces, was not written to be read: it is shown as it is. */
const mostInLeaf = 16_000;
const mostTokensInLeaf = 2000;

export class Reader {
    private text = '';
    /** What is behind this is in `settled`. */
    private from = 0;
    private piece = firstPiece;
    private settled: Block[] = [];
    /** Of `settled`, how many have all their words. */
    private worded = 0;
    private references: References = {};
    /** How many. */
    private known = 0;
    /** The last block, which may go on. */
    private open: Block[] = [];
    private openReferences = beyond(this.references);
    /** The end of what `settled` and `open` cover. */
    private reach = 0;
    /** Words of the block that may go on: most of them stay as they were. */
    private memo = new Map<string, Token[]>();
    /** How many references there were when the words of the whole text were looked at once more. */
    private knownAtEnd = 0;

    /** What can be shown. */
    get blocks(): readonly Block[] {
        return [...this.settled, ...this.open];
    }

    /** Behind the blocks. */
    get rest(): string {
        return this.text.slice(this.reach);
    }

    /** False when there is more to do: to be called again. */
    read(text: string, growing: boolean, budget: Budget): boolean {
        const now = text.includes('\r') || text.includes('\0') ? text.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd') : text;
        if (now !== this.text) this.take(now);
        while (this.reach < this.text.length) {
            if (!this.readSettled(budget) || budget.left <= 0) return false;
            this.readPiece(budget);
        }
        if (!this.readSettled(budget) || !this.readOpen(budget)) return false;
        return growing || this.readReferences(budget);
    }

    private take(text: string): void {
        if (!text.startsWith(this.text.slice(0, this.from))) {
            this.from = this.worded = this.known = this.knownAtEnd = 0;
            this.settled = [];
            this.references = {};
            this.openReferences = beyond(this.references);
            this.piece = firstPiece;
            this.memo.clear();
        }
        this.text = text;
        this.reach = this.from;
        this.open = [];
    }

    private readPiece(budget: Budget): void {
        const { text, from } = this;
        const atEnd = from + this.piece >= text.length;
        const end = atEnd ? text.length : cutBefore(text, from, from + this.piece);
        const { parts, references } = this.partsUpTo(end, budget);
        const unfinished = firstUnfinished(parts);
        const isCode = parts[unfinished]?.tokens?.[0]?.type === 'fence';
        const size = parts[unfinished]?.tokens?.length ?? 0;
        if (atEnd && (isCode || (end - from <= mostInBlock && size < mostTokensInBlock))) {
            this.settle(parts.slice(0, unfinished), references);
            this.open = parts.slice(unfinished).map((part) => this.blockOf(part, from));
            this.from = from + (parts[unfinished]?.start ?? 0);
            this.openReferences = references;
            this.reach = end;
        } else if (unfinished > 0) {
            this.settle(parts.slice(0, unfinished), references);
            this.goOn(from + (parts[unfinished]?.start ?? 0));
        } else if (isCode || (this.piece < mostInBlock && (parts[0]?.tokens?.length ?? 0) < mostTokensInBlock)) {
            this.piece *= 2;
        } else {
            // Too long for one: what comes next is another one.
            const cut = cutAtMargin(text, from, end);
            const first = this.partsUpTo(cut, budget);
            this.settle(first.parts, first.references);
            this.goOn(cut);
        }
    }

    private goOn(from: number): void {
        this.from = this.reach = from;
        this.piece = firstPiece;
    }

    private partsUpTo(end: number, budget: Budget): { parts: Part[]; references: References } {
        const references = beyond(this.references);
        const parts = partsOf(this.text.slice(this.from, end), references);
        budget.left -= end - this.from;
        for (const { tokens } of parts) budget.left -= costOfToken * (tokens?.length ?? 0);
        return { parts, references };
    }

    private settle(parts: readonly Part[], references: References): void {
        const { from } = this;
        for (const part of parts) {
            this.settled.push(this.blockOf(part, from));
            for (const label of part.labels) {
                const found = references[label];
                if (!found || this.references[label]) continue;
                this.references[label] = found;
                this.known++;
            }
        }
    }

    private blockOf({ start, end, tokens }: Part, from: number): Block {
        return { raw: this.text.slice(from + start, from + end), tokens, done: false, references: 0 };
    }

    private readSettled(budget: Budget): boolean {
        for (; this.worded < this.settled.length; this.worded++) {
            if (budget.left <= 0) return false;
            const done = this.withWords(this.settled[this.worded], this.references, budget);
            if (!done) return false;
            this.settled[this.worded] = done;
        }
        return true;
    }

    private readOpen(budget: Budget): boolean {
        for (const [index, block] of this.open.entries()) {
            if (block.done) continue;
            const done = this.withWords(block, this.openReferences, budget);
            if (!done) return false;
            this.open[index] = done;
        }
        const tokens = this.open.flatMap(inlineOf);
        this.memo = new Map(tokens.map((token) => [token.content, token.children ?? []]));
        return true;
    }

    /** Where links lead may be said behind them. Once the text is whole, those that did not know are read again. */
    private readReferences(budget: Budget): boolean {
        const references = this.openReferences;
        const count = this.known + Object.keys(references).length;
        if (count === 0) return true;
        if (count !== this.knownAtEnd) this.memo.clear();
        this.knownAtEnd = count;
        for (const [list, index] of this.places()) {
            const block = list[index];
            if (!block || block.references >= count || !block.raw.includes('[')) continue;
            for (const token of inlineOf(block)) token.children = null;
            const done = this.withWords({ ...block, done: false }, references, budget, count);
            if (!done) return false;
            list[index] = done;
        }
        return true;
    }

    private *places(): Generator<[Block[], number]> {
        for (let i = 0; i < this.settled.length; i++) yield [this.settled, i];
        for (let i = 0; i < this.open.length; i++) yield [this.open, i];
    }

    /** Undefined when the budget was not enough; what was read is kept. */
    private withWords(block: Block | undefined, references: References, budget: Budget, count = 0): Block | undefined {
        if (!block) return undefined;
        for (const token of inlineOf(block)) {
            if (token.children?.length || token.content === '' || token.content.length > mostInLeaf) continue;
            let known = this.memo.get(token.content);
            if (!known) {
                if (budget.left <= 0) return undefined;
                known = wordsOf(token.content, references);
                budget.left -= token.content.length;
                if (known.length > mostTokensInLeaf) known = [];
                this.memo.set(token.content, known);
            }
            token.children = known;
            budget.left -= costOfToken * known.length;
        }
        return { ...block, done: true, references: count };
    }
}

/** What is found goes into it, and what is known shows through: there may be too many to copy them for every piece. */
function beyond(known: References): References {
    return Object.create(known) as References;
}

/** The last one may go on, and the words behind what says where a link leads may be its title. */
function firstUnfinished(parts: readonly Part[]): number {
    const last = Math.max(0, parts.length - 1);
    return parts[last - 1]?.labels.length ? last - 1 : last;
}

function inlineOf({ tokens }: Block): Token[] {
    return (tokens ?? []).filter(({ type }) => type === 'inline');
}

/** The last end of a line up to `to`, or `to` where there is none. */
function cutBefore(text: string, from: number, to: number): number {
    const newline = text.lastIndexOf('\n', to - 1);
    return newline > from ? newline + 1 : to;
}

/** The same, where the next line begins at the margin: there a list or a quotation can be cut. */
function cutAtMargin(text: string, from: number, to: number): number {
    const half = from + (to - from) / 2;
    for (let at = text.lastIndexOf('\n', to - 2); at > half; at = text.lastIndexOf('\n', at - 1)) {
        if (/\S/.test(text[at + 1] ?? ' ')) return at + 1;
    }
    return to;
}
