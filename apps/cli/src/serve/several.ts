// Several answers to one request: each is written by itself, and they are told as one.
import type { Timings, Usage } from 'lapidary';

export interface Part {
    id: string;
    created: number;
    choices: readonly { index: number }[];
    usage?: Usage | null;
    timings?: Timings;
}

/** One response of those to each prompt (`n` of them in a row, for the same prompt). */
export function joined<Answer extends Part>(answers: readonly [Answer, ...Answer[]], n: number): object {
    return {
        ...answers[0],
        choices: answers.flatMap(({ choices }, index) => choices.map((choice) => ({ ...choice, index }))),
        ...measured(answers, n),
    };
}

/** Words the chunks of one answer after the other as those of one stream. */
export class JoinedStream {
    private first: Part | undefined;
    private index = 0;
    private readonly ends: Part[] = [];

    constructor(private readonly n: number) {}

    /** Undefined for what is told at the end of all. */
    chunk<Chunk extends Part>(chunk: Chunk): object | undefined {
        this.first ??= chunk;
        const { id, created } = this.first;
        if (chunk.timings) this.ends[this.index] = chunk;
        if (chunk.choices.length === 0) return undefined;
        const { timings: _, ...rest } = chunk;
        return { ...rest, id, created, choices: chunk.choices.map((choice) => ({ ...choice, index: this.index })) };
    }

    next(): void {
        this.index++;
    }

    /** What the last chunk of one answer tells, where `usage` was asked for. */
    end(): object | undefined {
        const last = this.ends.at(-1);
        if (!this.first || !last?.usage) return undefined;
        const { id, created } = this.first;
        return { ...last, id, created, choices: [], ...measured(this.ends, this.n) };
    }
}

/** A prompt counts once, however many answers there are to it. */
function measured(parts: readonly Part[], n: number): { usage?: Usage; timings?: Timings } {
    const usages = parts.flatMap(({ usage }) => (usage ? [usage] : []));
    const timings = parts.flatMap((part) => (part.timings ? [part.timings] : []));
    return { ...(usages.length > 0 ? { usage: usageOf(usages, n) } : {}), ...timingsOf(timings) };
}

function usageOf(usages: readonly Usage[], n: number): Usage {
    const prompts = usages.filter((_, i) => i % n === 0);
    const prompt_tokens = sum(prompts, (usage) => usage.prompt_tokens);
    const completion_tokens = sum(usages, (usage) => usage.completion_tokens);
    return {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: { cached_tokens: sum(prompts, (usage) => usage.prompt_tokens_details.cached_tokens) },
    };
}

function timingsOf(timings: readonly Timings[]): { timings?: Timings } {
    const [first] = timings;
    if (!first) return {};
    return {
        timings: {
            prompt_ms: sum(timings, (one) => one.prompt_ms),
            completion_ms: sum(timings, (one) => one.completion_ms),
            tokens_per_second: sum(timings, (one) => one.tokens_per_second) / timings.length,
            time_to_first_token_ms: first.time_to_first_token_ms,
        },
    };
}

function sum<Value>(values: readonly Value[], of: (value: Value) => number): number {
    return values.reduce((total, value) => total + of(value), 0);
}
