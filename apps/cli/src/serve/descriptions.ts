// What a model's file says about itself. It costs opening the file, so it is remembered.
import { Model, type JsonObject } from 'lapidary';
import { loadEngine } from 'lapidary/node';
import type { CatalogueEntry } from './catalogue.js';

const mostRemembered = 100;

export class Descriptions {
    private readonly known = new Map<string, Promise<JsonObject>>();

    of(entry: CatalogueEntry): Promise<JsonObject> {
        const known = this.known.get(entry.digest);
        if (known) return known;
        if (this.known.size >= mostRemembered) this.known.clear();
        const work = describe(entry);
        work.catch(() => this.known.delete(entry.digest));
        this.known.set(entry.digest, work);
        return work;
    }
}

/** With an engine of its own, so that nobody has to wait for an answer that is being written. */
async function describe(entry: CatalogueEntry): Promise<JsonObject> {
    const engine = await loadEngine();
    try {
        const { sources } = await entry.open();
        const model = await Model.open(engine, sources);
        try {
            return await model.describe();
        } finally {
            await model.close().catch(() => undefined);
        }
    } finally {
        engine.close();
    }
}
