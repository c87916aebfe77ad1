// How fast this model reads and writes on this device: what `lapidary bench` measures, by the same code.
import type { JsonObject, LoadedEngine, Probe } from 'lapidary';
import type { BenchWish } from './protocol.js';

export async function bench(
    engine: LoadedEngine,
    wish: BenchWish,
    probe: Probe | undefined,
    onProgress: (progress: { done: number; total: number }) => void,
    signal: AbortSignal,
): Promise<Record<string, unknown>> {
    const measured = await engine.bench({ ...wish }, { onProgress, signal });
    const { info } = engine;
    return {
        model: info.model,
        backend: info.backend,
        ...rounded(measured),
        ...bandwidth(measured, info.backend === 'gpu' ? probe?.gpu?.bandwidth : undefined),
        runs: wish.runs,
        weight_bytes: info.weightBytes,
        measured_at: new Date().toISOString(),
        user_agent: navigator.userAgent,
    };
}

/** How much of what the memory can move the weights of the written tokens are. */
function bandwidth(measured: JsonObject, possible: number | undefined): Record<string, unknown> {
    const { decode_tps: rate, weight_bytes_per_token: bytes } = measured;
    if (typeof rate !== 'number' || typeof bytes !== 'number') return {};
    const used = rate * bytes;
    return {
        bytes_per_second: Math.round(used),
        ...(possible ? { bandwidth_share: Number((used / possible).toFixed(3)) } : {}),
    };
}

function rounded(measured: JsonObject): Record<string, unknown> {
    return Object.fromEntries(
        Object.entries(measured).map(([name, value]) => {
            const broken = typeof value === 'number' && !Number.isInteger(value);
            return [name, broken ? Number(value.toFixed(value < 10 ? 3 : 1)) : value];
        }),
    );
}
