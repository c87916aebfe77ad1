// Finding a row of the catalogue (entry.ts); the rows themselves are in models.ts.
import { models, readableArchitectures } from './models.js';
import type { CatalogueEntry } from './entry.js';

export type * from './entry.js';

/** What this engine can run, the smallest first. */
export const catalogue: readonly CatalogueEntry[] = models.filter(({ architecture }) => canRead(architecture));

/** Whether the engine runs files that say so in `general.architecture`. */
export function canRead(architecture: string): boolean {
    return readableArchitectures.includes(architecture);
}

/** Why files that say so cannot be run, in a sentence without a full stop; undefined when they can. */
export function whyUnreadable(architecture: string): string | undefined {
    if (canRead(architecture)) return undefined;
    if (architecture === 'gemma3n') return 'it is Gemma 3n, another architecture than Gemma 3, and not supported: try Gemma 4 E2B or E4B';
    return `it is a '${architecture}' model; Lapidary runs Gemma 4, DiffusionGemma, Gemma 3 and EmbeddingGemma`;
}

/** By its id, one of its names or its title. */
export function findEntry(name: string): CatalogueEntry | undefined {
    const wanted = name.trim().toLowerCase();
    return catalogue.find(({ id, names, title }) => [id, title.toLowerCase(), ...names].includes(wanted));
}

/** The row whose file this is, or a file like it: by what it is called. */
export function entryOfFile(fileName: string): CatalogueEntry | undefined {
    const words = fileName.toLowerCase();
    if (/embedding[-_ ]?gemma/.test(words)) return findEntry('embeddinggemma');
    if (/diffusion[-_ ]?gemma/.test(words)) return findEntry('diffusiongemma');
    const family = /gemma[-_ ]?([34])(?![0-9n])/.exec(words)?.[1];
    if (family === undefined) return undefined;
    const rows = catalogue.filter((entry) => entry.family === `Gemma ${family}`);
    // `26b` before `12b` and `a4b`: the longest name that is in there.
    const fits = rows.filter(({ variant }) => new RegExp(`(^|[^0-9a-z])${variant.toLowerCase()}([^0-9a-z]|$)`).test(words));
    return fits.sort((a, b) => b.variant.length - a.variant.length)[0] ?? (family === '4' && /26b/.test(words) ? findEntry('26b') : undefined);
}
