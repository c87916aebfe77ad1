// Where the bytes of a cached file come from. Any server that answers ranges will do; HttpSource is the usual one.
import { parseDigest } from '../sources/digest.js';
import { HttpSource, lastSegment, parseHttpUrl, type HttpOptions } from '../sources/http.js';
import type { ByteSource } from '../sources/source.js';

export interface RemoteSource extends ByteSource {
    /** For people: the URL without its query. */
    readonly address: string;
    /** What tells this version from another; null where the server does not say. */
    readonly etag: string | null;
    readonly modified: string | null;
    /** Why it can only be read from its beginning to its end; undefined where parts can be had. */
    readonly note?: string | undefined;
    /** One connection: may end early, throws Passing when another attempt is worth it. */
    stream(offset: number, length: number, signal?: AbortSignal): AsyncIterable<Uint8Array>;
}

/** A file somebody wants: what it is known by, and how to reach it when that should be necessary. */
export interface Wanted {
    id: string;
    name: string;
    sha256: string | undefined;
    open(options: HttpOptions): Promise<RemoteSource>;
    /** After `open`. A source that was handed to us is not ours to close. */
    release(remote: RemoteSource): Promise<void>;
}

/** Bytes whose digest is known are the same wherever they come from; others are known by their URL. */
export function wanted(source: string | URL | RemoteSource, digest: string | undefined): Wanted {
    const sha256 = digest === undefined ? undefined : parseDigest(digest);
    if (typeof source === 'object' && 'stream' in source) {
        const id = sha256 ? `sha256:${sha256}` : source.address;
        return { id, name: source.name, sha256, open: async () => source, release: async () => undefined };
    }
    const url = parseHttpUrl(source);
    url.hash = '';
    const id = sha256 ? `sha256:${sha256}` : url.href;
    return {
        id,
        name: lastSegment(url),
        sha256,
        open: async (options) => await HttpSource.open(url, options),
        release: async (remote) => await remote.close(),
    };
}
