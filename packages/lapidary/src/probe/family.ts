// The Gemma 4 family in numbers, as far as one must know them before there is a file to look into.

/** How a member of the family would do here. */
export interface ProbedModel {
    /** `E2B`, `E4B`, `12B` … */
    variant: string;
    /** Bytes of its usual 4-bit file, and in memory with a context of 4096 tokens. */
    downloadBytes: number;
    memoryBytes: number;
    fits: boolean;
    /** Why not, or what to be aware of. */
    why: string;
    /** An ESTIMATE from memory bandwidth, not a measurement; undefined where there is nothing to estimate from. */
    estimatedTokensPerSecond?: number;
}

interface Member {
    variant: string;
    /** Q4_K_M, text only. */
    file: number;
    /** Of that, the table of per-layer embeddings, which may stay in the file: 35 or 42 times 256 a token, Q6_K. */
    table: number;
    /** Keys and values of 4096 tokens in 16 bits each. */
    conversation: number;
    /** What one token of an answer reads: without the tables of which it needs one row, without idle experts. */
    read: number;
}

const family: readonly Member[] = [
    { variant: 'E2B', file: 3.4e9, table: 1.93e9, conversation: 0.03e9, read: 1.45e9 },
    { variant: 'E4B', file: 5.3e9, table: 2.31e9, conversation: 0.09e9, read: 2.8e9 },
    { variant: '12B', file: 7.4e9, table: 0, conversation: 0.4e9, read: 7.4e9 },
    { variant: '26B-A4B', file: 16.8e9, table: 0, conversation: 0.3e9, read: 2.6e9 },
    { variant: '31B', file: 18.7e9, table: 0, conversation: 1.2e9, read: 18.7e9 },
];

/** Programs, buffers for a block of a prompt, and what the driver takes. */
const working = 0.3e9;
/**
 * Of the memory's bandwidth, what reading packed weights reaches; and the part of a token's time that no bandwidth
 * helps. For an H200 they say 267 tokens a second for E2B and 80 for the 31B; 252 and 46 were measured
 * (docs/performance.md).
 */
const efficiency = 0.4;
const fixedMs = 3;

export interface Surroundings {
    memory: number;
    hasGpu: boolean;
    bandwidth: number | undefined;
    storage: { quota: number; usage: number } | undefined;
}

export function judgeModels({ memory, hasGpu, bandwidth, storage }: Surroundings): ProbedModel[] {
    return family.map(({ variant, file, table, conversation, read }) => {
        const all = file + conversation + working;
        // Also with the table left in the file, if need be: slower by a read for every token, so nothing is estimated.
        const apart = all > memory && table > 0;
        const memoryBytes = apart ? all - table : all;
        const room = memoryBytes <= memory;
        const cannotStore = storage !== undefined && storage.quota - storage.usage < file;
        const speed = hasGpu && bandwidth && !apart ? 1000 / (fixedMs + (read / (efficiency * bandwidth)) * 1000) : undefined;
        return {
            variant,
            downloadBytes: file,
            memoryBytes,
            fits: hasGpu && room,
            why: !hasGpu
                ? 'it needs a GPU'
                : !room
                  ? `it takes about ${gigabytes(memoryBytes)}, and about ${gigabytes(memory)} may be free for it`
                  : cannotStore
                    ? 'it should fit, but the browser has no room to keep its file'
                    : apart
                      ? 'it should fit, if its per-layer embeddings stay in the file, which makes it slower'
                      : 'it should fit',
            ...(speed === undefined ? {} : { estimatedTokensPerSecond: Number(speed.toPrecision(2)) }),
        };
    });
}

function gigabytes(bytes: number): string {
    return `${(bytes / 1e9).toFixed(1)} GB`;
}
