// The short way: one cache for this origin, made when it is first needed.
import { LapidaryError } from '../error.js';
import type { Progress, WorkOptions } from '../work.js';
import { manyDigests } from '../sources/digest.js';
import { openAll, shardUrls } from '../sources/shards.js';
import { parseHttpUrl } from '../sources/http.js';
import type { ByteSource } from '../sources/source.js';
import { ModelCache, type CacheOpenOptions, type CacheUsage } from './cache.js';
import type { CachedFile } from './entries.js';
import { prove } from '../sources/prove.js';
import { ProgressMeter } from './progress.js';
import { wanted, type RemoteSource } from './remote.js';
import type { Verdict } from './verify.js';

export interface OpenCachedOptions extends CacheOpenOptions {
    /** Another cache than that of this origin, or none. */
    cache?: ModelCache | false;
}

let ofThisOrigin: Promise<ModelCache | undefined> | undefined;

/** Undefined where the browser has no place for a cache. */
export async function defaultCache(): Promise<ModelCache | undefined> {
    return await (ofThisOrigin ??= ModelCache.ofThisOrigin());
}

/**
 * A file behind a URL, kept on disk where that is possible and read over the network where it is not. With a digest it is
 * then read twice: as a whole, to compare it, and where its bytes are wanted, which must be the same again.
 */
export async function openCached(
    source: string | URL | RemoteSource,
    options: OpenCachedOptions = {},
): Promise<ByteSource> {
    const { cache = await defaultCache(), ...rest } = options;
    if (cache) return await cache.open(source, rest);
    const { signal, http, sha256, onProgress } = options;
    const want = wanted(source, sha256);
    const stop = signal ? { signal } : {};
    const remote = await want.open({ ...http, ...stop });
    if (sha256 === undefined) return remote;
    const meter = new ProgressMeter(want.name, (progress) => onProgress?.(progress));
    const tell = ({ done, total }: Progress) => meter.step('verifying', done, total);
    try {
        return await prove(remote, sha256, { ...stop, onProgress: tell });
    } catch (error) {
        await want.release(remote);
        throw error;
    }
}

/** The same for a model that may be split: all the pieces that follow from the first one's name. */
export async function openCachedPieces(
    address: string | URL,
    options: OpenCachedOptions = {},
): Promise<ByteSource[]> {
    const urls = shardUrls(parseHttpUrl(address));
    if (urls.length > 1 && options.sha256 !== undefined) {
        throw manyDigests(urls.length);
    }
    return await openAll(urls, async (url) => await openCached(url, options));
}

/** What is in the cache of this origin; nothing where there is no place for one. */
export const originCache = {
    async list(): Promise<CachedFile[]> {
        return (await (await defaultCache())?.list()) ?? [];
    },
    /** By key or name. False when there is no such file. */
    async remove(name: string): Promise<boolean> {
        return (await (await defaultCache())?.remove(name)) ?? false;
    },
    /** Undefined where there is no place for a cache. */
    async usage(): Promise<CacheUsage | undefined> {
        return await (await defaultCache())?.usage();
    },
    async verify(name: string, options: WorkOptions = {}): Promise<Verdict> {
        const cache = await defaultCache();
        if (!cache) throw new LapidaryError('unsupported', 'there is no place for a cache here');
        return await cache.verify(name, options);
    },
};
