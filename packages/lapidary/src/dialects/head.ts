// What all pieces of an answer have in common, and what it took, in OpenAI's words.
import { newId, type End } from '../answer/events.js';
import type { Timings, Usage } from '../openai.js';
import type { EngineInfo } from '../options.js';

export function usageOf({ usage: { prompt, cached, completion } }: End): Usage {
    return {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt + completion,
        prompt_tokens_details: { cached_tokens: cached },
    };
}

/** What is ours, beside the usage. */
export function measured({ times, dropped }: End): { timings: Timings; dropped_messages?: number } {
    return { timings: times, ...(dropped === undefined ? {} : { dropped_messages: dropped }) };
}

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
