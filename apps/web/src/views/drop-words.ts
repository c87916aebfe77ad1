// What is said about things that are dropped or pasted.
import type { FileKind } from '../files/kind.js';
import { formatBytes } from './format.js';

/** While it is over the page. */
export function veil(kinds: readonly FileKind[], examples: boolean, model: string): string {
    if (kinds.length > 0 && kinds.every((kind) => senses[kind])) return cannot(model, kinds[0] ?? 'unknown');
    if (kinds.length > 0 && kinds.every((kind) => kind === 'text')) {
        return examples ? 'Drop examples to learn from' : 'Drop text to attach it to your message';
    }
    return examples ? 'Drop examples to learn from, or a GGUF file to answer with it' : 'Drop a GGUF file to answer with it';
}

const senses: Partial<Record<FileKind, string>> = {
    picture: 'see pictures',
    sound: 'hear sound',
    video: 'watch videos',
    document: 'read such documents',
};

/** "Storyteller cannot see pictures yet." Larger ones can, some of them with a second file. */
export function cannot(model: string, kind: FileKind): string {
    const projector = model === 'Storyteller' || kind === 'document' ? '' : ' If it is one that can, drop its projector file (mmproj…gguf) here.';
    return `${model} cannot ${senses[kind] ?? 'read this'} yet.${projector}`;
}

export function adapterGoesTo(name: string): string {
    return `${name} looks like an adapter: it is imported in the settings.`;
}

export function unknownFile(name: string): string {
    return `${name} is neither a model, an adapter nor something a model can read.`;
}

export function textTooLong(name: string, bytes: number, most: number): string {
    return `${name} has ${formatBytes(bytes)} of text; a message takes ${formatBytes(most)} at most.`;
}

export function fileAttached(name: string): string {
    return `${name} is attached to your message.`;
}

export const openSettings = 'Settings';
