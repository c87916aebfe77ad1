// What an answer took, in OpenAI's words and ours.
import type { Timings, Usage } from '../openai.js';
import type { EngineInfo } from '../options.js';
import type { GenerateResult } from '../session.js';

export function usageOf(result: GenerateResult): Usage {
    const { prompt_tokens, completion_tokens, cached_tokens } = result;
    return {
        prompt_tokens,
        completion_tokens,
        total_tokens: prompt_tokens + completion_tokens,
        prompt_tokens_details: { cached_tokens },
    };
}

/** Measures from when it is made, so that waiting for other calls counts. */
export class Stopwatch {
    private readonly started = performance.now();
    private first: number | undefined;

    /** `known`: how many tokens of the answer were there before. */
    constructor(private readonly known = 0) {}

    /** Something of the answer is there. */
    tick(): void {
        this.first ??= performance.now();
    }

    timings({ prompt_ms, completion_ms, completion_tokens }: GenerateResult): Timings {
        // The first token is chosen when the prompt has been read, so `completion_ms` is the time of the others only.
        const later = completion_tokens - this.known - 1;
        return {
            prompt_ms,
            completion_ms,
            tokens_per_second: later > 0 && completion_ms > 0 ? (later * 1000) / completion_ms : 0,
            time_to_first_token_ms: (this.first ?? performance.now()) - this.started,
        };
    }
}

/** Not a secret: it only has to differ from the others. */
export function newId(prefix: string): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
    const random = Array.from({ length: 24 }, () => letters[Math.floor(Math.random() * letters.length)]);
    return prefix + random.join('');
}

/** The members every chunk of an answer has in common with the others. */
export interface Head {
    id: string;
    created: number;
    model: string;
    system_fingerprint: string;
}

export function newHead(prefix: string, info: EngineInfo): Head {
    const { model } = info;
    return {
        id: newId(prefix),
        created: Math.floor(Date.now() / 1000),
        model,
        system_fingerprint: fingerprintOf(info),
    };
}

/** Answers to the same request with the same seed can differ where this does: another model, or another place to compute. */
export function fingerprintOf({ model, backend, adapter, weightBytes, contextLength }: EngineInfo): string {
    const text = JSON.stringify([model, backend, adapter ?? '', weightBytes, contextLength]);
    let hash = 0x811c9dc5; // FNV-1a
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
    return `fp_${hash.toString(16).padStart(8, '0')}`;
}
