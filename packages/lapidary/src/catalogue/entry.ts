// What a row of the catalogue says. Types only.

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
    /** Nobody has seen its published weights run here yet: it is offered, but never recommended. */
    untried?: true;
}
