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
    | (MediaFacts & { type: 'image'; width?: number; height?: number; detail?: 'low' | 'auto' | 'high'; alt?: string })
    | (MediaFacts & { type: 'audio'; seconds?: number })
    /** The file is its first picture, the frames are what a model looks at. */
    | (MediaFacts & { type: 'video'; seconds?: number; frames: { file: StoredFile; seconds: number }[] });

interface MediaFacts {
    file: StoredFile;
    /** What it cost when it was attached. */
    tokens?: number;
}

export type FilePart = Exclude<Part, { type: 'text' }>;

export function isFile(part: Part): part is FilePart {
    return part.type !== 'text';
}

/** What lies in the media store for it. */
export function filesOf(part: FilePart): StoredFile[] {
    return part.type === 'video' ? [part.file, ...part.frames.map(({ file }) => file)] : [part.file];
}

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
