// The catalogue's models as `probe` tells of them.
import { catalogue } from '../catalogue/catalogue.js';
import { predict, type Device } from '../catalogue/predict.js';

/** How a model would do here. */
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

/** Those that have to be downloaded. */
export function judgeModels(device: Device): ProbedModel[] {
    const offered = catalogue.filter(({ sources }) => sources.every(({ kind }) => kind !== 'builtin'));
    return offered.map(({ variant, bytes }) => {
        const { memory, fits, why, tokensPerSecond } = predict(bytes, device);
        return {
            variant,
            downloadBytes: bytes.about,
            memoryBytes: memory,
            fits,
            why,
            ...(tokensPerSecond === undefined ? {} : { estimatedTokensPerSecond: tokensPerSecond }),
        };
    });
}
