// Looking for GGUF files on Hugging Face.
import { LapidaryError } from '../error.js';
import { isObject } from '../json.js';
import { ask, type AskOptions } from './ask.js';
import { below, headersFor, placesOf, type Endpoints, type Places } from './endpoints.js';
import { listRepository, parseRepository, type HubRepository } from './repository.js';

export interface SearchOptions extends AskOptions {
    endpoints?: Endpoints;
    /** How many repositories: 12 unless told, 50 at most. */
    limit?: number;
    /** Also what is not called Gemma. */
    everything?: boolean;
    /** Ask for each one's files too, for their sizes. True unless told. */
    sizes?: boolean;
}

const mostResults = 50;
const atOnce = 4;

/** The most downloaded first. What the engine cannot run is marked, not left out. */
export async function searchHub(query: string, options: SearchOptions = {}): Promise<HubRepository[]> {
    const { endpoints, limit = 12, everything = false, sizes = true, ...rest } = options;
    const words = query.trim().replace(/\s+/g, ' ').slice(0, 200);
    const wanted = everything || /gemma/i.test(words) ? words : `gemma ${words}`.trim();
    if (wanted === '') throw new LapidaryError('invalid_argument', 'there is nothing to look for: give a word');
    const places = placesOf(endpoints);
    const url = below(places.huggingface, 'api', 'models');
    const number = Math.max(1, Math.min(mostResults, Math.floor(limit)));
    const parameters = { search: wanted, filter: 'gguf', sort: 'downloads', direction: '-1', limit: String(number), full: 'true' };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const { text } = await ask(url, `what it has about '${words}'`, { ...rest, headers: headersFor(url, places) });
    const found = parseList(text, url).slice(0, number).flatMap((entry) => {
        const repository = isObject(entry) ? parseRepository(entry, places) : undefined;
        return repository ? [repository] : [];
    });
    return sizes ? await withFiles(found, places, rest) : found;
}

function parseList(text: string, url: URL): unknown[] {
    let list: unknown;
    try {
        list = JSON.parse(text);
    } catch {
        list = undefined;
    }
    if (!Array.isArray(list)) throw new LapidaryError('bad_file', `${url.host} does not answer a search as Hugging Face does`);
    return list;
}

/** A few at a time. One that cannot be asked stays as the search told of it. */
async function withFiles(found: readonly HubRepository[], places: Places, options: AskOptions): Promise<HubRepository[]> {
    const detailed = [...found];
    const queue = [...found.keys()];
    const work = async () => {
        for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
            const brief = found[index];
            if (!brief) continue;
            try {
                const { downloads, ...rest } = await listRepository(brief.repository, places, { ...options, retries: 1 });
                detailed[index] = { ...rest, downloads: brief.downloads ?? downloads };
            } catch (error) {
                if (error instanceof LapidaryError && error.code === 'cancelled') throw error;
            }
        }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return detailed;
}
