// Loading weights, with the choice of where to compute.
import { Option } from 'commander';
import { LapidaryError, type Backend, type Model } from 'lapidary';
import { ProgressLine } from './terminal.js';

export function backendOption(): Option {
    return new Option('--backend <name>', 'where to compute').choices(['cpu', 'gpu']).default('cpu');
}

export function chooseBackend(name: string): Backend {
    if (name === 'cpu') return name;
    throw new LapidaryError('unsupported', 'the GPU backend is not available yet; use --backend cpu');
}

export async function loadWeights(model: Model, backend: Backend, signal: AbortSignal): Promise<void> {
    const progress = new ProgressLine('loading', 'bytes');
    try {
        await model.load(backend, { onProgress: progress.update, signal });
    } finally {
        progress.clear();
    }
}
