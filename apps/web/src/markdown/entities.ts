// The names of characters that Markdown may have in its text, such as &amp;. Those that are not known stay what they are.
const names: Record<string, string> = {
    amp: '&',
    lt: '<',
    gt: '>',
    quot: '"',
    apos: "'",
    nbsp: '\u00a0',
    copy: '©',
    reg: '®',
    trade: '™',
    deg: '°',
    middot: '·',
    times: '×',
    hellip: '…',
    ndash: '–',
    mdash: '—',
    lsquo: '‘',
    rsquo: '’',
    ldquo: '“',
    rdquo: '”',
    laquo: '«',
    raquo: '»',
    bull: '•',
    rarr: '→',
    larr: '←',
    euro: '€',
};

export function decodeEntities(text: string): string {
    return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hexadecimal, name) => {
        if (name !== undefined) return names[String(name)] ?? whole;
        const code = decimal === undefined ? parseInt(String(hexadecimal), 16) : Number(decimal);
        return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
    });
}
