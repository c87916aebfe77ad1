// Loading weights, with the choice of where to compute.
import { Option } from 'commander';
import { kvFormats, type Backend, type Model, type TablePlace } from 'lapidary';
import { chooseBackend, diskTuningCache, nodeGpu, whyNoNodeGpu } from 'lapidary/node';
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

/** Tells which backend it became. Who left the choice to us hears why it is the slow one. */
export async function loadWeights(
    model: Model,
    wanted: BackendFlag,
    signal: AbortSignal,
    { fresh = false, embeddings = 'auto' }: { /** The GPU is tried, whatever is known about it. */ fresh?: boolean; embeddings?: TablePlace } = {},
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
            ...(fresh ? {} : { memory: diskTuningCache() }),
        });
        return backend;
    } finally {
        progress.clear();
    }
}
