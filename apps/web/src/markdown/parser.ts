// Markdown, taken apart by markdown-it, which does so in a time that grows as the text does, whatever is in it. In two phases, so
// that a long text can be taken in pieces: first which blocks there are, then the words of each.
import MarkdownIt, { type Env, type StateInline, type Token } from 'markdown-it';

export type { Token };
export type References = NonNullable<Env['references']>;

// Deeper than anybody reads. What is nested as deep as this is shown as the text it is.
const mostLevels = 40;

const structure = new MarkdownIt({ html: false, maxNesting: mostLevels });
structure.core.ruler.enableOnly(['block']);

// A single newline stays one: models mean it. HTML is no part of what is understood.
const words = new MarkdownIt({ html: false, breaks: true, linkify: true, maxNesting: mostLevels });
words.core.ruler.disable(['normalize', 'block', 'strip_references']);
// "README.md" is not an address, only what begins like one is.
words.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
words.inline.ruler.before('escape', 'formula', formula);

export interface Part {
    /** Where it begins and where the next one does, in the text. */
    start: number;
    end: number;
    /** Undefined: nobody meant this to be taken apart. */
    tokens: Token[] | undefined;
    /** What it says about where links lead. */
    labels: string[];
}

/** The blocks of a text, without their words. `references` gets what the text says about links. */
export function partsOf(text: string, references: References): Part[] {
    let tokens: Token[];
    try {
        tokens = structure.parse(text, { references });
    } catch {
        return [{ start: 0, end: text.length, tokens: undefined, labels: [] }];
    }
    const lines = lineStarts(text);
    const parts: Part[] = [];
    for (const token of tokens) {
        const last = parts.at(-1);
        if (last && (token.level > 0 || token.nesting < 0)) last.tokens?.push(token);
        else {
            const start = lines[token.map?.[0] ?? 0] ?? text.length;
            if (last) last.end = start;
            parts.push({ start, end: text.length, tokens: [token], labels: [] });
        }
        const label: unknown = token.type === 'reference_definition' ? token.meta?.['label'] : undefined;
        if (typeof label === 'string') parts.at(-1)?.labels.push(label);
    }
    for (const part of parts) {
        if (part.tokens?.some(({ level }) => level >= mostLevels - 1)) part.tokens = undefined;
    }
    return parts;
}

/** The words of one block's text. */
export function wordsOf(text: string, references: References): Token[] {
    const state = new words.core.State('', words, { references });
    const token = new state.Token('inline', '', 0);
    token.content = text;
    token.children = [];
    state.tokens = [token];
    words.core.process(state);
    return token.children;
}

function lineStarts(text: string): number[] {
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    return starts;
}

const closers: Record<string, string> = { '(': '\\)', '[': '\\]' };
/** Of each text, the closers that do not come any more: looked for once. */
const missing = new WeakMap<object, Set<string>>();

/** \( … \) and \[ … \] are formulas: nothing in them is Markdown, and the backslashes belong to them. */
function formula(state: StateInline, silent: boolean): boolean {
    const { src, pos, env } = state;
    if (src[pos] !== '\\') return false;
    const closer = closers[src[pos + 1] ?? ''];
    if (closer === undefined) return false;
    const gone = missing.get(env) ?? new Set();
    if (gone.has(closer)) return false;
    const end = src.indexOf(closer, pos + 2);
    if (end < 0 || end + 2 > state.posMax) {
        missing.set(env, gone.add(closer));
        return false;
    }
    if (!silent) state.push('formula', '', 0).content = src.slice(pos, end + 2);
    state.pos = end + 2;
    return true;
}
