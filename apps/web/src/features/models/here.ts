// The library of this browser: Hugging Face or its mirror on one side, the page's private files on the other.
import { KeptModels, problemOf, resolveModel, startDownload, type Endpoints } from 'lapidary/hub';
import { settings } from '../../store/settings.js';
import { Library, type Outside } from './library.js';

let opened: Promise<KeptModels | undefined> | undefined;

/** Undefined where the browser keeps nothing for pages. */
async function models(): Promise<KeptModels | undefined> {
    return await (opened ??= KeptModels.ofThisOrigin());
}

const outside: Outside = {
    get endpoints(): Endpoints {
        const { hub } = settings.value;
        return hub === '' ? {} : { huggingface: hub };
    },
    keeps: async () => (await models()) !== undefined,
    list: async () => (await (await models())?.list()) ?? [],
    resolve: async (reference, signal) =>
        await resolveModel(reference, { endpoints: outside.endpoints, ...(signal ? { signal } : {}) }),
    start: (model) => {
        // From now on there is something to lose.
        void (navigator.storage as StorageManager | undefined)?.persist?.();
        return startDownload(model);
    },
    remove: async (name) => {
        const kept = await models();
        const found = await kept?.find(name);
        if (found) await kept?.remove(found);
    },
    sentence: (error) => problemOf(error).sentence,
    onOnline: (call) => addEventListener('online', call),
};

export const library = new Library(outside);
