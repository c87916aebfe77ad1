// Why the CPU computes where a GPU is: a load on it took the page or the browser along.
import { useApp } from '../app.js';
import type { EngineState } from '../engine/protocol.js';

const why = 'the last load on the GPU never finished, and the page ended with it, so the CPU computes';

/** Why it is the CPU, or the GPU, that computes. */
export function whyOf({ wish, info }: EngineState): string {
    return wish?.caution === 'held' ? why : (info?.why ?? '');
}

export function TryGpuAgain() {
    const app = useApp();
    return (
        <button type="button" class="link" onClick={() => app.tryGpuAgain()}>
            Try the GPU again
        </button>
    );
}
