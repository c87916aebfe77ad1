// Loading weights, with the choice of where to compute.
import { Option } from 'commander';
import { kvFormats, type Backend, type CpuAccuracy, type Model, type TablePlace } from 'lapidary';
import { chooseBackend, diskTuningCache, nodeGpu, whyNoNodeGpu } from 'lapidary/node';
import { parseInteger } from './numbers.js';
import { ProgressLine, safeFor } from './terminal.js';

export type BackendFlag = Backend | 'auto';

export function backendOption(): Option {
    return new Option('--backend <name>', 'where to compute; auto is the GPU where there is one')
        .choices(['auto', 'gpu', 'cpu'])
        .default('auto')
        .env('LAPIDARY_BACKEND');
}

export function kvOption(): Option {
    return new Option('--kv <type>', 'how the GPU keeps keys and values').choices(kvFormats).default('i16');
}

export function embeddingsOption(): Option {
    return new Option('--embeddings <place>', 'where E2B and E4B have their per-layer embeddings: source saves GPU memory')
        .choices(['auto', 'gpu', 'source'])
        .default('auto');
}

export function threadsOption(): Option {
    return new Option('--threads <n>', 'threads of the CPU; as many as it has processors but one, 8 at most, unless told')
        .argParser(parseInteger({ min: 1, max: 32 }))
        .env('LAPIDARY_THREADS');
}

export function accuracyOption(): Option {
    return new Option('--accuracy <kind>', 'how the CPU computes; fast: with activations of 8 bits; reference: slow and obvious')
        .choices(['exact', 'fast', 'reference'])
        .default('exact');
}

/** What `threadsOption` and `accuracyOption` give. */
export interface CpuFlags {
    threads?: number;
    accuracy?: CpuAccuracy;
}

export function cpuFlags({ threads, accuracy }: CpuFlags): CpuFlags {
    return { ...(threads === undefined ? {} : { threads }), ...(accuracy === undefined ? {} : { accuracy }) };
}

export interface LoadFlags extends CpuFlags {
    /** The GPU is tried, whatever is known about it. */
    fresh?: boolean;
    embeddings?: TablePlace;
}

/** Tells which backend it became. Who left the choice to us hears why it is the slow one. */
export async function loadWeights(
    model: Model,
    wanted: BackendFlag,
    signal: AbortSignal,
    { fresh = false, embeddings = 'auto', threads, accuracy }: LoadFlags = {},
): Promise<Backend> {
    const { backend, why } = await chooseBackend(wanted, () => nodeGpu(), whyNoNodeGpu);
    if (wanted === 'auto' && backend === 'cpu') {
        process.stderr.write(`lapidary: ${safeFor(process.stderr, why)}\n`);
    }
    const progress = new ProgressLine('loading', 'bytes');
    try {
        await model.load(backend, {
            onProgress: progress.update,
            signal,
            perLayerEmbeddings: embeddings,
            threads,
            accuracy,
            ...(fresh ? {} : { memory: diskTuningCache() }),
        });
        return backend;
    } finally {
        progress.clear();
    }
}
