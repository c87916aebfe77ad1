// What a message holds besides what was typed: files, and the text in them.

/** A file of the media store, by its digest. */
export interface StoredFile {
    /** SHA-256, in hexadecimal. */
    digest: string;
    name: string;
    /** Its MIME type, as the browser tells it. */
    type: string;
    bytes: number;
}

export type Part =
    /** A file that is read as text. */
    | { type: 'text'; name: string; text: string }
    | { type: 'image'; file: StoredFile; width?: number; height?: number }
    | { type: 'audio' | 'video'; file: StoredFile; seconds?: number };

export function nameOf(part: Part | undefined): string {
    if (!part) return '';
    return part.type === 'text' ? part.name : part.file.name;
}

/** As a message has them. */
export function partsOf(parts: readonly Part[] = []): { parts?: readonly Part[] } {
    return parts.length > 0 ? { parts } : {};
}

/** Of a message: what a model that reads only text is given. Files come first, so that a question about them is read last. */
export function readableText(content: string, parts: readonly Part[] = []): string {
    const texts = parts.flatMap((part) => (part.type === 'text' ? [`${part.name}:\n${fence(part.text.replace(/\n$/, ''))}`] : []));
    return [...texts, content].filter((text) => text !== '').join('\n\n');
}

/** A fence longer than any inside. */
export function fence(text: string): string {
    const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
    const ticks = '`'.repeat(longest + 1);
    return `${ticks}\n${text}\n${ticks}`;
}
