// Whether a model fits into the memory it may take.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { TablePlace } from '../model.js';

/**
 * Bytes of weights, of the table among them that may stay in its source, and of one conversation's keys and values, from
 * what the engine says about the file.
 */
export function memoryNeeds(
    description: JsonObject,
    contextLength: number,
): { weights: number; table: number; conversation: number } | undefined {
    const { memory, context_length: longest } = description;
    if (!isObject(memory) || typeof memory['weights'] !== 'number') return undefined;
    const points = Object.entries(memory).flatMap(([key, bytes]) => {
        const match = /^kv_cache_at_(\d+)$/.exec(key);
        return match && typeof bytes === 'number' ? [{ length: Number(match[1]), bytes }] : [];
    });
    points.sort((a, b) => a.length - b.length);
    const [short, long] = points;
    if (!short) return undefined;
    // Beyond the sliding window, which the shorter of the two covers, it grows by the same amount a token.
    const slope = long ? (long.bytes - short.bytes) / (long.length - short.length) : short.bytes / short.length;
    const wanted = Math.min(contextLength, typeof longest === 'number' ? longest : contextLength);
    return {
        weights: memory['weights'],
        table: typeof memory['per_layer_embeddings'] === 'number' ? memory['per_layer_embeddings'] : 0,
        conversation: Math.max(0, Math.round(short.bytes + slope * (wanted - short.length))),
    };
}

/** Where the table of per-layer embeddings has to be. What does not fit even without it is refused. */
export function fitBudget(
    description: JsonObject,
    contextLength: number,
    conversations: number,
    budget: number | undefined,
    place: TablePlace = 'auto',
): TablePlace {
    const needs = budget === undefined ? undefined : memoryNeeds(description, contextLength);
    if (budget === undefined || !needs) return place;
    const total = needs.weights + needs.conversation * conversations;
    if (place !== 'source' && total <= budget) return place;
    if (place !== 'gpu' && total - needs.table <= budget) return 'source';
    const least = needs.weights - (place === 'gpu' ? 0 : needs.table);
    throw new LapidaryError(
        'out_of_memory',
        `the model needs ${megabytes(least)} and ${megabytes(needs.conversation * conversations)} for ` +
            `${conversations === 1 ? 'a conversation' : `${conversations} conversations`} of ${contextLength} tokens, ` +
            `but may take ${megabytes(budget)}: choose a smaller model or a shorter context`,
    );
}

function megabytes(bytes: number): string {
    return bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${Math.ceil(bytes / 1e6)} MB`;
}
