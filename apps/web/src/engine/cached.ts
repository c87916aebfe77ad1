// What this browser keeps of models: the built-in one in the cache of the service worker.

export interface CachedModel {
    id: string;
    name: string;
    bytes: number;
    note?: string;
    cache: string;
}

export interface StorageUse {
    used: number;
    quota: number;
    /** The browser promised not to clear it by itself. */
    persistent: boolean;
}

export async function cachedModels(): Promise<{ models: CachedModel[]; use: StorageUse }> {
    const models: CachedModel[] = [];
    const storage = (globalThis as { caches?: CacheStorage }).caches;
    for (const cache of (await storage?.keys()) ?? []) {
        if (!cache.startsWith('lapidary-model-')) continue;
        const opened = await caches.open(cache);
        for (const { url } of await opened.keys()) {
            const blob = await (await opened.match(url))?.blob();
            const name = url.split('/').pop() ?? url;
            if (blob) models.push({ id: url, name, bytes: blob.size, note: 'built-in, for use without a network', cache });
        }
    }
    const manager = navigator.storage as StorageManager | undefined;
    const { usage = 0, quota = 0 } = (await manager?.estimate()) ?? {};
    return { models, use: { used: usage, quota, persistent: (await manager?.persisted?.()) ?? false } };
}

export async function removeCached(model: CachedModel): Promise<void> {
    await caches.delete(model.cache);
}
