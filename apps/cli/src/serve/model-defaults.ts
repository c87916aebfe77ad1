// What an Ollama model brings along (its options and its system message) fills what a request leaves open.
import {
    isObject,
    samplingRanges,
    type ChatCompletionParams,
    type GenerateRequest,
    type JsonObject,
    type JsonValue,
    type Sampling,
} from 'lapidary';
import { numberOptions } from './ollama-request.js';

export function withModelDefaults(
    request: ChatCompletionParams,
    { params, system }: { params: JsonObject; system: string | undefined },
): ChatCompletionParams {
    const merged: ChatCompletionParams = { ...request };
    for (const name of numberOptions) {
        const value = params[name];
        if (typeof value === 'number') merged[name] ??= withinRange(name, value);
    }
    merged.stop ??= stopsOf(params['stop']);
    const limit = params['num_predict'];
    if (typeof limit === 'number' && limit > 0 && request.max_completion_tokens == null) merged.max_tokens ??= limit;

    const first: unknown = request.messages[0];
    const role = isObject(first) ? first['role'] : undefined;
    if (system && role !== 'system' && role !== 'developer') {
        merged.messages = [{ role: 'system', content: system }, ...request.messages];
    }
    return merged;
}

/** The same for a request in the engine's own words. */
export function withDefaults(
    request: GenerateRequest,
    { params, system }: { params: JsonObject; system: string | undefined },
): GenerateRequest {
    const sampling: Record<string, unknown> = { ...request.sampling };
    for (const name of numberOptions) {
        const value = params[name];
        if (typeof value === 'number') sampling[name] ??= withinRange(name, value);
    }
    const limit = params['num_predict'];
    const { messages } = request;
    const role = messages?.[0]?.['role'];
    const prefixed = messages && system && role !== 'system' && role !== 'developer';
    return {
        ...request,
        sampling: sampling as Sampling,
        stop: request.stop && request.stop.length > 0 ? request.stop : (stopsOf(params['stop']) ?? []),
        max_tokens: request.max_tokens > 0 || typeof limit !== 'number' || limit <= 0 ? request.max_tokens : limit,
        ...(prefixed ? { messages: [{ role: 'system', content: system }, ...messages] } : {}),
    };
}

/** A request must not be refused for what it never said. */
function withinRange(name: (typeof numberOptions)[number], value: number): number {
    if (name === 'seed') return Math.trunc(value);
    const [least, most] = samplingRanges[name];
    const within = Math.min(most, Math.max(least, value));
    return name === 'top_k' ? Math.trunc(within) : within;
}

function stopsOf(value: JsonValue | undefined): string[] | null {
    const stops = (Array.isArray(value) ? value : [value]).filter(
        (text): text is string => typeof text === 'string' && text !== '',
    );
    return stops.length > 0 ? stops : null;
}
