// Loading weights, with the choice of where to compute.
import { Option } from 'commander';
import { kvFormats, type Backend, type Model, type TablePlace } from 'lapidary';
import { diskMemory } from 'lapidary/node';
import { ProgressLine } from './terminal.js';

export function backendOption(): Option {
    return new Option('--backend <name>', 'where to compute').choices(['cpu', 'gpu']).default('cpu');
}

export function kvOption(): Option {
    return new Option('--kv <type>', 'how the GPU keeps keys and values').choices(kvFormats).default('i16');
}

export function embeddingsOption(): Option {
    return new Option('--embeddings <place>', 'where E2B and E4B have their per-layer embeddings: source saves GPU memory')
        .choices(['auto', 'gpu', 'source'])
        .default('auto');
}

export function chooseBackend(name: string): Backend {
    return name === 'gpu' ? 'gpu' : 'cpu';
}

/** `fresh`: the GPU is tried, whatever is known about it. */
export async function loadWeights(
    model: Model,
    backend: Backend,
    signal: AbortSignal,
    { fresh = false, embeddings = 'auto' }: { fresh?: boolean; embeddings?: TablePlace } = {},
): Promise<void> {
    const progress = new ProgressLine('loading', 'bytes');
    try {
        await model.load(backend, {
            onProgress: progress.update,
            signal,
            perLayerEmbeddings: embeddings,
            ...(fresh ? {} : { memory: diskMemory() }),
        });
    } finally {
        progress.clear();
    }
}
