// A request that needs a model: it is found by its name, waits for its turn, waits for the model, and is let go when
// its client leaves.
import { LapidaryError } from 'lapidary';
import type { Catalogue, CatalogueEntry } from './catalogue.js';
import { HttpError, badRequest, modelNotFound } from './errors.js';
import { clientGone, clientName, withEitherSignal, type Context } from './http.js';
import type { KeepAlive, LoadedModels, Ready } from './loaded.js';
import type { FairQueue } from './queue.js';

export class Service {
    readonly started = Date.now();

    constructor(
        readonly catalogue: Catalogue,
        readonly loaded: LoadedModels,
        readonly queue: FairQueue,
        /** Aborted when the server cannot wait any longer for what is running. */
        private readonly stopped: AbortSignal,
    ) {}

    /** The model of a request: what it names, or the default. */
    async find(name: unknown): Promise<CatalogueEntry> {
        const wanted = name ?? this.catalogue.defaultId;
        if (typeof wanted !== 'string' || wanted === '') throw badRequest("'model' must be a name", 'model');
        const entry = await this.catalogue.find(wanted);
        if (!entry) throw modelNotFound(wanted);
        return entry;
    }

    async run<Result>(
        c: Context,
        entry: CatalogueEntry,
        keepAlive: KeepAlive,
        work: (ready: Ready, signal: AbortSignal) => Promise<Result>,
    ): Promise<Result> {
        try {
            return await withEitherSignal([clientGone(c), this.stopped], async (signal) => {
                const release = await this.queue.enter(clientName(c), signal);
                try {
                    return await this.loaded.use(entry, signal, keepAlive, (ready) => work(ready, signal));
                } finally {
                    release();
                }
            });
        } catch (error) {
            const stopping = this.stopped.aborted && error instanceof LapidaryError && error.code === 'cancelled';
            throw stopping ? stoppingError() : error;
        }
    }
}

export function stoppingError(): HttpError {
    return new HttpError(503, 'the server is stopping', { code: 'stopping', retryAfter: 5 });
}
