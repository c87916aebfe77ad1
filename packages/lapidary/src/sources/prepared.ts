// A model source with everything resolved that only the place knows where `load` was called, such as the page's
// address. What remains can be posted to a worker, which opens it there, so that no bytes pass through the page.
import { LapidaryError } from '../error.js';
import { isObject } from '../json.js';
import { isListedFolder } from '../ollama/listed.js';
import type { LoadOptions, ModelSource } from '../options.js';
import { parseDigest } from './digest.js';
import type { ByteSource } from './source.js';

export type PreparedSource = {
    /** What its one file must hash to, in lowercase. */
    sha256?: string;
} & SourcePlace;

type SourcePlace =
    | { kind: 'url'; url: string; headers: Record<string, string>; cache: boolean; builtin?: boolean }
    | { kind: 'blobs'; blobs: readonly Blob[] }
    | { kind: 'files'; handles: readonly FileSystemFileHandle[] }
    | { kind: 'folder'; directory: FileSystemDirectoryHandle | readonly File[]; model: string }
    | { kind: 'server'; server: string; model: string; headers: Record<string, string> }
    /** A model that was downloaded (hub/kept.ts). */
    /** `id`: what the catalogue calls it, if that was looked up. */
    | { kind: 'shelf'; name: string; id?: string; headers: Record<string, string> }
    /** Not in a browser: a path, the name of an Ollama model, or `builtin`. */
    | { kind: 'local'; name: string }
    /** Stay where they are. */
    | { kind: 'open'; sources: readonly ByteSource[] };

/** Where `load` was called. */
export interface Surroundings {
    /** Files and Ollama's folder can be read directly. */
    hasDisk: boolean;
    /** The page's address; undefined where there is no page. */
    base: string | undefined;
}

const builtinPath = 'models/storyteller-q4_k_m.gguf';

export function prepareSource(source: ModelSource, options: LoadOptions, surroundings: Surroundings): PreparedSource {
    const place = preparePlace(source, options, surroundings);
    return options.sha256 === undefined ? place : { ...place, sha256: parseDigest(options.sha256) };
}

function preparePlace(source: ModelSource, options: LoadOptions, { hasDisk, base }: Surroundings): SourcePlace {
    const headers = options.headers ?? {};
    const cache = options.cache ?? true;
    const at = (address: string | URL) => ({ kind: 'url' as const, url: resolve(address, base), headers, cache });
    if (source === 'builtin') {
        if (options.builtinUrl !== undefined) return at(options.builtinUrl);
        return hasDisk ? { kind: 'local', name: 'builtin' } : { ...at(builtinPath), builtin: true };
    }
    if (typeof source === 'string') {
        return hasDisk && !/^https?:\/\//i.test(source) ? { kind: 'local', name: source } : at(source);
    }
    if (source instanceof URL) {
        return hasDisk && source.protocol === 'file:' ? { kind: 'local', name: source.href } : at(source);
    }
    const list: readonly unknown[] = Array.isArray(source) ? source : [source];
    if (list.length > 0) {
        if (list.every(isBlob)) return { kind: 'blobs', blobs: list };
        if (list.every(isFileHandle)) return { kind: 'files', handles: list };
        if (list.every(isByteSource)) return { kind: 'open', sources: list };
    }
    if (isObject(source)) {
        const { directory, model, ollama, server, kept } = source as Record<string, unknown>;
        if (typeof kept === 'string') return { kind: 'shelf', name: kept, headers };
        if ((isDirectoryHandle(directory) || isListedFolder(directory)) && typeof model === 'string') {
            return { kind: 'folder', directory, model };
        }
        if (typeof ollama === 'string') {
            const told = typeof server === 'string' || server instanceof URL ? server : undefined;
            if (told === undefined && hasDisk) return { kind: 'local', name: ollama };
            return { kind: 'server', server: resolve(told ?? '/', base), model: ollama, headers };
        }
    }
    throw new LapidaryError(
        'invalid_argument',
        `'source' must be a URL, a File or Blob, a file handle, a kept model, an Ollama folder or model, or 'builtin'`,
    );
}

function resolve(address: string | URL, base: string | undefined): string {
    try {
        return new URL(address, base).href;
    } catch (cause) {
        throw new LapidaryError('invalid_argument', `'${String(address)}' is not a URL`, { cause });
    }
}

function isBlob(value: unknown): value is Blob {
    return value instanceof Blob;
}

// By what they are like, not by their class: not every place that has such a handle has a global name for it.
function hasKind(value: unknown, kind: string): boolean {
    return typeof value === 'object' && value !== null && 'kind' in value && value.kind === kind;
}

function isFileHandle(value: unknown): value is FileSystemFileHandle {
    return hasKind(value, 'file') && 'getFile' in (value as object);
}

function isDirectoryHandle(value: unknown): value is FileSystemDirectoryHandle {
    return hasKind(value, 'directory');
}

function isByteSource(value: unknown): value is ByteSource {
    return isObject(value) && typeof value['read'] === 'function' && typeof value['size'] === 'number';
}
