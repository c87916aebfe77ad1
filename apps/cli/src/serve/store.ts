// Ollama's files for a page: which models there are, and their bytes. A page cannot read this computer's disk itself.
import { tryParseModelName, type Layer, type ListedModel, type OllamaStore } from 'lapidary';
import { findStores } from 'lapidary/node';
import { HttpError } from './errors.js';
import type { Routes } from './http.js';
import { sendSource } from './send.js';

export function addStoreRoutes(app: Routes): void {
    const blobs = new BlobIndex();

    app.get('/api/ollama/models', async (c) => {
        const models = [];
        for (const store of await findStores()) {
            for (const model of await store.list()) models.push(await describe(store, model));
        }
        c.header('cache-control', 'no-store');
        return c.json({ models });
    });

    app.get('/api/ollama/blob/:digest', async (c) => {
        const match = /^sha256[:-]([0-9a-f]{64})$/.exec(c.req.param('digest'));
        const found = match?.[1] ? await blobs.find(`sha256:${match[1]}`) : undefined;
        if (!found) throw new HttpError(404, 'no model on this computer has such a blob');
        const [source] = await found.store.openLayers([found.layer]);
        if (!source) throw new HttpError(404, 'the blob is gone');
        return await sendSource(c, source, {
            contentType: 'application/octet-stream',
            // Gigabytes, which the app keeps itself: the browser should not keep them a second time.
            cacheControl: 'no-store',
            etag: `"${found.layer.digest}"`,
        });
    });

    app.all('/api/*', (c) => {
        throw new HttpError(404, `there is no ${c.req.method} ${c.req.path}`);
    });
}

/** A model as `lapidary models` lists it, with the pieces of its file in order, and its adapters. */
async function describe(store: OllamaStore, model: ListedModel) {
    const name = model.problem === undefined ? tryParseModelName(model.name) : undefined;
    const resolved = name ? await store.resolve(name).catch(() => undefined) : undefined;
    const named = (layers: readonly Layer[] = []) => layers.map(({ digest, size }) => ({ digest, size }));
    return { ...model, blobs: named(resolved?.models), adapters: named(resolved?.adapters) };
}

interface Blob {
    store: OllamaStore;
    layer: Layer;
}

/** Which blobs belong to a model that can be opened. Nothing else in a store is anybody's business. */
class BlobIndex {
    private known = new Map<string, Blob>();
    private looked = -Infinity;

    async find(digest: string): Promise<Blob | undefined> {
        const found = this.known.get(digest);
        if (found) return found;
        // A new model is found at once, and someone who guesses does not keep the disk busy.
        if (performance.now() - this.looked < 1000) return undefined;
        this.looked = performance.now();
        this.known = await index();
        return this.known.get(digest);
    }
}

async function index(): Promise<Map<string, Blob>> {
    const blobs = new Map<string, Blob>();
    for (const store of await findStores()) {
        for (const listed of await store.list()) {
            const name = tryParseModelName(listed.name);
            if (!name || listed.problem !== undefined) continue;
            const resolved = await store.resolve(name).catch(() => undefined);
            for (const layer of resolved?.all ?? []) blobs.set(layer.digest, { store, layer });
        }
    }
    return blobs;
}
