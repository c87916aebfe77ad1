// How fast it was, in one line.
import type { GenerateResult } from 'lapidary';

export function describeSpeed(result: GenerateResult): string {
    const rate = (tokens: number, ms: number) => (ms > 0 ? `${((tokens * 1000) / ms).toFixed(1)} tokens/s` : 'at once');
    const read = result.prompt_tokens - result.cached_tokens;
    const cached = result.cached_tokens > 0 ? ` (+ ${result.cached_tokens} remembered)` : '';
    return (
        `read ${read} tokens${cached} at ${rate(read, result.prompt_ms)}, ` +
        `wrote ${result.completion_tokens} at ${rate(result.completion_tokens, result.completion_ms)}, ` +
        `ended by ${result.finish_reason}`
    );
}
