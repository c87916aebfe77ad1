// Loading weights, with the choice of where to compute.
import { Option } from 'commander';
import { kvFormats, type Backend, type Model } from 'lapidary';
import { diskMemory } from 'lapidary/node';
import { ProgressLine } from './terminal.js';

export function backendOption(): Option {
    return new Option('--backend <name>', 'where to compute').choices(['cpu', 'gpu']).default('cpu');
}

export function kvOption(): Option {
    return new Option('--kv <type>', 'how the GPU keeps keys and values').choices(kvFormats).default('i16');
}

export function chooseBackend(name: string): Backend {
    return name === 'gpu' ? 'gpu' : 'cpu';
}

/** `fresh`: the GPU is tried, whatever is known about it. */
export async function loadWeights(
    model: Model,
    backend: Backend,
    signal: AbortSignal,
    { fresh = false }: { fresh?: boolean } = {},
): Promise<void> {
    const progress = new ProgressLine('loading', 'bytes');
    try {
        await model.load(backend, { onProgress: progress.update, signal, ...(fresh ? {} : { memory: diskMemory() }) });
    } finally {
        progress.clear();
    }
}
