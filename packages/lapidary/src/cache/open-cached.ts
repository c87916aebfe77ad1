// The short way: one cache for this origin, made when it is first needed.
import { openAll, shardUrls } from '../sources/shards.js';
import { parseHttpUrl } from '../sources/http.js';
import type { ByteSource } from '../sources/source.js';
import { ModelCache, type CacheOpenOptions } from './cache.js';
import { wanted, type RemoteSource } from './remote.js';

export interface OpenCachedOptions extends CacheOpenOptions {
    /** Another cache than that of this origin, or none. */
    cache?: ModelCache | false;
}

let ofThisOrigin: Promise<ModelCache | undefined> | undefined;

/** Undefined where the browser has no place for a cache. */
export async function defaultCache(): Promise<ModelCache | undefined> {
    return await (ofThisOrigin ??= ModelCache.ofThisOrigin());
}

/** A file behind a URL, kept on disk where that is possible and read over the network where it is not. */
export async function openCached(
    source: string | URL | RemoteSource,
    options: OpenCachedOptions = {},
): Promise<ByteSource> {
    const { cache = await defaultCache(), ...rest } = options;
    if (cache) return await cache.open(source, rest);
    const { signal, http } = options;
    return await wanted(source, options.sha256).open({ ...http, ...(signal ? { signal } : {}) });
}

/** The same for a model that may be split: all the pieces that follow from the first one's name. */
export async function openCachedPieces(
    address: string | URL,
    options: OpenCachedOptions = {},
): Promise<ByteSource[]> {
    return await openAll(shardUrls(parseHttpUrl(address)), async (url) => await openCached(url, options));
}
