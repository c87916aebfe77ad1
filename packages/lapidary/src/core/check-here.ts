// Every kernel against its reference, in this thread, with an engine of its own that is gone afterwards.
import { checkGpu, type CheckReport, type CheckRequest } from '../gpu/check.js';
import type { Progress } from '../work.js';
import type { Runtime } from '../runtime.js';
import type { Log } from '../wasi.js';

export interface CheckContext {
    log: Log;
    signal?: AbortSignal | undefined;
    onProgress?: ((progress: Progress) => void) | undefined;
}

/** The runtime must have the workshop. */
export async function checkHere(
    runtime: Runtime,
    request: CheckRequest,
    { log, signal, onProgress }: CheckContext,
): Promise<CheckReport> {
    const engine = await runtime.makeEngine({ log, gpu: () => runtime.findGpu(log) });
    try {
        return await checkGpu(engine, request, { ...(signal ? { signal } : {}), ...(onProgress ? { onProgress } : {}) });
    } finally {
        engine.close();
    }
}
