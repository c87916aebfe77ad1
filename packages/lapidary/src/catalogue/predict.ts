// Whether a model would run here and about how fast, before a byte of it is downloaded. The one place that guesses.
import { formatBytes } from '../cache/quota.js';
import { entryOfFile, type CatalogueEntry, type Weight } from './catalogue.js';

/** What must be known of a device: a `Probe` is one. */
export interface Device {
    backend: 'gpu' | 'cpu';
    /** Bytes a model may take. */
    estimatedMemory: number;
    gpu?: { bandwidth?: number };
    storage?: { quota: number; usage: number };
}

export type Pace = 'faster than you read' | 'at reading pace' | 'slower than you read';

export interface Prediction {
    /** `tight`: it takes most of what there is. */
    verdict: 'fits' | 'tight' | 'too large';
    /** Anything but too large. */
    fits: boolean;
    backend: 'gpu' | 'cpu';
    /** Bytes in memory with a context of 4096 tokens, and bytes there are for it. Both are estimates. */
    memory: number;
    available: number;
    /** In a sentence without a full stop. */
    why: string;
    /** An estimate from memory bandwidth, to be shown with "≈"; undefined where there is nothing to estimate from. */
    tokensPerSecond?: number;
    pace?: Pace;
    /** The browser says that it has no room to keep the file. */
    cannotStore: boolean;
}

/** Programs, buffers for a block of a prompt, and what the driver takes. */
const working = 0.3e9;
/** WebAssembly's memory, where the CPU backend keeps everything. */
const cpuLimit = 3.5e9;
/** What takes more of the memory than this leaves little for anything else. */
const roomy = 0.75;
/**
 * The share of the memory's bandwidth that reading packed weights reaches, and the time of a token that more bandwidth would
 * not shorten. They are cautious: for an H200 they predict 267 tokens a second for E2B and 80 for the 31B, and
 * docs/performance.md has more than that.
 */
const efficiency = 0.4;
const fixedMs = 3;

export function predict({ about, table, conversation, read }: Weight, device: Device): Prediction {
    const { backend, estimatedMemory, storage } = device;
    const available = backend === 'gpu' ? estimatedMemory : Math.min(cpuLimit, estimatedMemory);
    const all = about + conversation + (about < working ? about : working);
    // Also with the table left in the file, if need be: slower by a read for every token, so nothing is estimated.
    const apart = backend === 'gpu' && all > available && table > 0;
    const memory = apart ? all - table : all;
    const verdict = memory > available ? 'too large' : memory > available * roomy ? 'tight' : 'fits';
    const cannotStore = storage !== undefined && storage.quota - storage.usage < about;
    const bandwidth = backend === 'gpu' && !apart ? device.gpu?.bandwidth : undefined;
    const speed = bandwidth ? Number((1000 / (fixedMs + (read / (efficiency * bandwidth)) * 1000)).toPrecision(2)) : undefined;
    return {
        verdict,
        fits: verdict !== 'too large',
        backend,
        memory,
        available,
        why: reason(verdict, { backend, memory, available, apart, cannotStore }),
        ...(speed === undefined ? {} : { tokensPerSecond: speed, pace: paceOf(speed) }),
        cannotStore,
    };
}

function reason(
    verdict: Prediction['verdict'],
    { backend, memory, available, apart, cannotStore }: Pick<Prediction, 'backend' | 'memory' | 'available' | 'cannotStore'> & { apart: boolean },
): string {
    if (verdict === 'too large') {
        if (backend === 'cpu') return 'it needs a GPU';
        return `it takes about ${formatBytes(memory)}, and about ${formatBytes(available)} may be free for it`;
    }
    if (cannotStore) return 'it should fit, but the browser has no room to keep its file';
    if (apart) return 'it should fit, if its per-layer embeddings stay in the file, which makes it slower';
    return verdict === 'tight' ? 'it should fit, and takes most of the memory there is' : 'it should fit';
}

export function paceOf(tokensPerSecond: number): Pace {
    if (tokensPerSecond >= 12) return 'faster than you read';
    return tokensPerSecond >= 5 ? 'at reading pace' : 'slower than you read';
}

/** "≈ 38 tokens/s, faster than you read"; empty where there is nothing to estimate from. */
export function describeSpeed({ tokensPerSecond, pace }: Prediction): string {
    return tokensPerSecond === undefined ? '' : `≈ ${tokensPerSecond} tokens/s, ${pace}`;
}

/**
 * What a file of so many bytes would weigh. One like a row of the catalogue, as its name tells, weighs in the same
 * proportions; of any other, all of it is read for every token.
 */
export function weightOf(fileName: string, bytes: number): Weight {
    const like = entryOfFile(fileName)?.bytes;
    if (!like) return { about: bytes, table: 0, conversation: bytes * 0.05, read: bytes };
    const part = bytes / like.about;
    return { about: bytes, table: like.table * part, conversation: like.conversation, read: like.read * part };
}

/**
 * The one to offer: the largest that answers questions, fits with memory left, and is written with ten tokens a second
 * or more; where nobody can tell how fast it would be, the largest for phones that fits: on a CPU that is Gemma 3 1B, which one thread
 * writes as fast as one reads (docs/performance.md). Undefined when nothing does.
 */
export function recommend(entries: readonly CatalogueEntry[], device: Device): CatalogueEntry | undefined {
    const able = entries
        .filter(({ abilities, untried }) => abilities.includes('chat') && !untried)
        .map((entry) => ({ entry, prediction: predict(entry.bytes, device) }))
        .filter(({ prediction }) => prediction.fits)
        .sort((a, b) => a.entry.bytes.about - b.entry.bytes.about);
    const quick = able.filter(({ prediction: { verdict, tokensPerSecond = 0 } }) => verdict === 'fits' && tokensPerSecond >= 10);
    const unknown = able.filter(({ entry }) => entry.tiers.includes('phone')).at(-1) ?? able[0];
    return (quick.at(-1) ?? unknown)?.entry;
}
