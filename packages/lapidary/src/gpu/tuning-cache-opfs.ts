// The tuning cache of a page: a file in its private storage, which pages and workers share.
import { OpfsFs } from '../cache/opfs.js';
import { mostText, type TuningCache } from './tuning-cache.js';

const name = 'gpus';

export const pageTuningCache: TuningCache = {
    get surroundings() {
        return navigator.userAgent;
    },
    read: async () => {
        const bytes = await (await folder())?.readWhole(name, mostText);
        return bytes && new TextDecoder().decode(bytes);
    },
    write: async (text) => {
        const file = await (await folder())?.openWrite(name);
        const bytes = new TextEncoder().encode(text);
        try {
            // Whoever reads in between sees lines that do not fit their checksums.
            await file?.truncate(bytes.length);
            await file?.write(0, bytes);
            await file?.flush();
        } finally {
            await file?.close();
        }
    },
};

async function folder(): Promise<OpfsFs | undefined> {
    return await OpfsFs.open(['lapidary']);
}
