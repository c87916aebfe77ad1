// A conversation's title, from the first thing that was said in it.

const longestTitle = 60;
// Enough to find a title in; what was pasted may be a megabyte.
const longestLook = 1000;

export function titleFrom(text: string): string {
    const lines = text.slice(0, longestLook).split('\n').map(withoutMarks);
    const line = lines.join(' ').replace(/\s+/g, ' ').trim();
    const letters = [...line];
    if (letters.length <= longestTitle) return line || 'New conversation';
    const cut = letters.slice(0, longestTitle).join('');
    const space = cut.lastIndexOf(' ');
    return `${space > longestTitle / 2 ? cut.slice(0, space) : cut}…`;
}

/** A line of Markdown as it would be read aloud. What only looks like a mark, as in 2 * 3, stays. */
function withoutMarks(line: string): string {
    return line
        .replace(/^\s*(?:```|~~~).*$/, '')
        .replace(/^\s*(?:(?:#{1,6}|>|[-*+]|\d{1,3}[.)])\s+)+/, '')
        .replace(/!?\[([^[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)/g, '$1')
        .replace(/(?<![\w*])(\*{1,3})(?=\S)([^*]+?)(?<=\S)\1(?![\w*])/g, '$2')
        .replace(/(?<![\w_])(_{1,3})(?=\S)([^_]+?)(?<=\S)\1(?![\w_])/g, '$2')
        .replace(/~~(?=\S)([^~]+?)(?<=\S)~~/g, '$1')
        .replace(/(`+)([^`]+)\1/g, '$2');
}
