// How fast this model reads and writes on this device, measured through the same door the chat uses.
import type { LoadedEngine } from 'lapidary';
import type { BenchWish } from './protocol.js';

export async function bench(
    engine: LoadedEngine,
    wish: BenchWish,
    onProgress: (progress: { done: number; total: number }) => void,
    signal: AbortSignal,
): Promise<Record<string, unknown>> {
    const reading: number[] = [];
    const writing: number[] = [];
    const total = wish.runs + 1;
    for (let run = 0; run < total; run++) {
        onProgress({ done: run, total });
        // Different beginnings, so that nothing is remembered from the run before.
        const prompt = `${run} ${'the sun was warm and the day was long '.repeat(Math.ceil(wish.prompt / 9))}`;
        const { usage, timings } = await engine.completions.create(
            { prompt, max_tokens: wish.decode, temperature: 1, seed: run + 1, stream: false },
            { signal },
        );
        // The first run makes pipelines and warms caches; it does not count.
        if (run === 0 || !usage || !timings) continue;
        const read = usage.prompt_tokens - usage.prompt_tokens_details.cached_tokens;
        if (timings.prompt_ms > 0) reading.push((read / timings.prompt_ms) * 1000);
        if (timings.tokens_per_second > 0) writing.push(timings.tokens_per_second);
    }
    onProgress({ done: total, total });
    const { info } = engine;
    return {
        model: info.model,
        backend: info.backend,
        ...(info.adapter === undefined ? {} : { adapter: info.adapter }),
        prompt_tokens: wish.prompt,
        decode_tokens: wish.decode,
        runs: wish.runs,
        prefill_tokens_per_second: median(reading),
        decode_tokens_per_second: median(writing),
        weight_bytes: info.weightBytes,
        context_length: info.contextLength,
        measured_at: new Date().toISOString(),
        user_agent: navigator.userAgent,
    };
}

function median(values: number[]): number | null {
    if (values.length === 0) return null;
    const sorted = [...values].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    const value = sorted.length % 2 ? sorted[middle] : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
    return Number((value ?? 0).toFixed(1));
}
