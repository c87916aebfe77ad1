// What a row of the catalogue says, and finding one. The rows themselves are in models.ts.
import { models, readableArchitectures } from './models.js';

export interface Licence {
    /** As Hugging Face spells it: `apache-2.0`, `gemma`. */
    id: string;
    /** For people. */
    name: string;
    url: string;
    /** What one may and must do, in three lines. */
    summary: readonly string[];
    /** Somebody has to say yes before it is downloaded. */
    mustAgree: boolean;
}

export type CatalogueSource =
    | { kind: 'huggingface'; repository: string; file?: string; projector?: string }
    | { kind: 'ollama'; name: string }
    /** It is there already. */
    | { kind: 'builtin' };

/** Bytes, none of them exact: the exact size is asked of the source when a model is downloaded. */
export interface Weight {
    /** Of the files. */
    about: number;
    /** Of that, the table of per-layer embeddings, which may stay in the file. */
    table: number;
    /** Keys and values of 4096 tokens in 16 bits each. */
    conversation: number;
    /** What one token of an answer reads: without tables of which it needs a row, without idle experts. */
    read: number;
}

export type Ability = 'chat' | 'stories' | 'tools' | 'thinking' | 'languages' | 'images' | 'sound' | 'embeddings';
export type Tier = 'phone' | 'laptop' | 'gpu';

export interface CatalogueEntry {
    /** What it is kept and asked for as. */
    id: string;
    /** Other names for the same. */
    names: readonly string[];
    family: string;
    title: string;
    /** Which of its family: `E2B`. */
    variant: string;
    /** What the engine must be able to read. */
    architecture: string;
    parameters: string;
    quantisation: string;
    abilities: readonly Ability[];
    /** In a few words, after its name. */
    about: string;
    licence: Licence;
    bytes: Weight;
    /** Tokens it was made for. */
    context: number;
    /** Devices it is meant for. */
    tiers: readonly Tier[];
    /** The best first. */
    sources: readonly CatalogueSource[];
    /** How well the names in `sources` are known. */
    named: string;
}

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
    return `it is a '${architecture}' model; Lapidary runs Gemma 4, Gemma 3 and EmbeddingGemma`;
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
    const family = /gemma[-_ ]?([34])(?![0-9n])/.exec(words)?.[1];
    if (family === undefined) return undefined;
    const rows = catalogue.filter((entry) => entry.family === `Gemma ${family}`);
    // `26b` before `12b` and `a4b`: the longest name that is in there.
    const fits = rows.filter(({ variant }) => new RegExp(`(^|[^0-9a-z])${variant.toLowerCase()}([^0-9a-z]|$)`).test(words));
    return fits.sort((a, b) => b.variant.length - a.variant.length)[0] ?? (family === '4' && /26b/.test(words) ? findEntry('26b') : undefined);
}
