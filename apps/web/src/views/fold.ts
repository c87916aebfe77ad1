// A long paste does not bury the conversation: its beginning is shown, the rest when it is asked for.

const mostLines = 20;
const mostCharacters = 4000;
// What is left of something folded; less than what is allowed, so that unfolding is always worth it.
const shownLines = 12;
const shownCharacters = 1200;

export interface Fold {
    beginning: string;
    /** What the button offers. */
    all: string;
}

/** Undefined for what is short enough. */
export function foldOf(text: string): Fold | undefined {
    const lines = countLines(text);
    if (lines <= mostLines && text.length <= mostCharacters) return undefined;
    const all = lines > mostLines ? `Show all ${count(lines)} lines` : `Show all ${count(text.length)} characters`;
    return { beginning: beginningOf(text), all };
}

function beginningOf(text: string): string {
    // No longer look than what can be shown.
    const cut = text.slice(0, shownCharacters).split('\n').slice(0, shownLines).join('\n');
    // Not in the middle of an emoji.
    return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

function countLines(text: string): number {
    let lines = 1;
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
    return lines;
}

function count(number: number): string {
    return number.toLocaleString('en');
}
