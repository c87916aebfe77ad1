// What this browser keeps of models: downloads in the private file system, the built-in one in the service worker's cache.
import { Lapidary } from 'lapidary';

export interface CachedModel {
    id: string;
    name: string;
    bytes: number;
    note: string;
    builtin?: boolean;
    remove: () => Promise<unknown>;
}

export interface StorageUse {
    used: number;
    quota: number;
    /** The browser promised not to clear it by itself. */
    persistent: boolean;
}

/** `use` is undefined where the browser does not tell. */
export async function cachedModels(known: ReadonlySet<string>): Promise<{ models: CachedModel[]; use: StorageUse | undefined }> {
    const models = [...(await builtin()), ...(await downloads(known))];
    const manager = navigator.storage as StorageManager | undefined;
    const { usage, quota = 0 } = (await manager?.estimate?.()) ?? {};
    const persistent = (await manager?.persisted?.()) ?? false;
    return { models, use: usage === undefined ? undefined : { used: usage, quota, persistent } };
}

/** Without those whose keys are `known`: they belong to a model that is listed as such. */
async function downloads(known: ReadonlySet<string>): Promise<CachedModel[]> {
    const notes = { complete: 'complete', partial: 'partly downloaded', damaged: 'damaged' };
    return (await Lapidary.cache.list()).filter(({ key }) => !known.has(key)).map(({ key, name, bytes, state }) => ({
        id: key,
        name,
        bytes,
        note: notes[state],
        remove: async () => await Lapidary.cache.remove(key),
    }));
}

async function builtin(): Promise<CachedModel[]> {
    const models: CachedModel[] = [];
    const storage = (globalThis as { caches?: CacheStorage }).caches;
    for (const cache of (await storage?.keys()) ?? []) {
        if (!cache.startsWith('lapidary-model-')) continue;
        const opened = await caches.open(cache);
        for (const { url } of await opened.keys()) {
            const blob = await (await opened.match(url))?.blob();
            const name = url.split('/').pop() ?? url;
            const note = 'built-in, for use without a network';
            const remove = async () => await caches.delete(cache);
            if (blob) models.push({ id: url, name, bytes: blob.size, note, builtin: true, remove });
        }
    }
    return models;
}
