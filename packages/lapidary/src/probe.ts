// What this device can do, told before anything is downloaded.

export interface ProbeOptions {
    /** WebGPU, or how to get it; `navigator.gpu` or, in Node, the package `webgpu` unless told. */
    gpu?: GPU | (() => Promise<GPU | undefined>);
    /** Measure how fast the GPU copies memory, which takes a few hundredths of a second. True unless told. */
    measure?: boolean;
    signal?: AbortSignal;
}

export interface ProbedGpu {
    /** In words. */
    adapter: string;
    vendor: string;
    architecture: string;
    /** A GPU in software, slower than the CPU itself. */
    software: boolean;
    features: string[];
    limits: { maxBufferSize: number; maxStorageBufferBindingSize: number };
    /** Bytes a second read and written, measured with a copy; undefined when it was not measured. */
    bandwidth?: number;
}

/** How a member of the Gemma 4 family would do here. */
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

export interface Probe {
    webgpu: boolean;
    /** Undefined without a usable GPU. */
    gpu?: ProbedGpu;
    /** Files of the page's own, where a model can be kept. */
    opfs: boolean;
    workers: boolean;
    /** Bytes, a guess: browsers do not tell how much there is. */
    estimatedMemory: number;
    /** Bytes the browser lets this page store, where it tells. */
    storage?: { quota: number; usage: number };
    /** What `auto` would choose. */
    backend: 'gpu' | 'cpu';
    models: ProbedModel[];
}

export async function probe(_options: ProbeOptions = {}): Promise<Probe> {
    return { webgpu: false, opfs: false, workers: false, estimatedMemory: 0, backend: 'cpu', models: [] };
}
