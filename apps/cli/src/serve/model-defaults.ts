// What an Ollama model brings along (its options and its system message) fills what a request leaves open.
import { samplingRanges, type GenerateRequest, type JsonObject, type JsonValue } from 'lapidary';
import { Fields, samplingOf } from 'lapidary/dialects';
import { numberOptions } from './ollama-request.js';

export function withDefaults(
    request: GenerateRequest,
    { params, system }: { params: JsonObject; system: string | undefined },
): GenerateRequest {
    const brought = numberOptions.flatMap((name) => {
        const value = params[name];
        return typeof value === 'number' ? [[name, withinRange(name, value)] as const] : [];
    });
    const limit = params['num_predict'];
    const { messages } = request;
    const role = messages?.[0]?.['role'];
    const prefixed = messages && system && role !== 'system' && role !== 'developer';
    return {
        ...request,
        sampling: { ...samplingOf(new Fields(Object.fromEntries(brought))), ...request.sampling },
        stop: request.stop && request.stop.length > 0 ? request.stop : stopsOf(params['stop']),
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

function stopsOf(value: JsonValue | undefined): string[] {
    const stops = Array.isArray(value) ? value : [value];
    return stops.filter((text): text is string => typeof text === 'string' && text !== '');
}
