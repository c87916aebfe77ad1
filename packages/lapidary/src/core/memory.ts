// Whether a model fits into the memory it may take.
import { LapidaryError } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import type { TablePlace } from '../model.js';

/**
 * Bytes of weights, towers among them, of the table among them that may stay in its source, and of one conversation's keys and values,
 * with those of its canvas if it has one, from what the engine says about the file.
 */
export function memoryNeeds(
    description: JsonObject,
    contextLength: number,
): { weights: number; table: number; conversation: number } | undefined {
    const { memory, towers, context_length: longest } = description;
    if (!isObject(memory) || typeof memory['weights'] !== 'number') return undefined;
    // Eyes and ears come when they are first needed; there has to be room for them.
    const senses = isObject(towers) && typeof towers['bytes'] === 'number' ? towers['bytes'] : 0;
    const points = Object.entries(memory).flatMap(([key, bytes]) => {
        const match = /^kv_cache_at_(\d+)$/.exec(key);
        return match && typeof bytes === 'number' ? [{ length: Number(match[1]), bytes }] : [];
    });
    points.sort((a, b) => a.length - b.length);
    const [short, long] = points;
    if (!short) return undefined;
    // Both lengths are beyond the sliding window, and from there on every token adds the same amount.
    const slope = long ? (long.bytes - short.bytes) / (long.length - short.length) : short.bytes / short.length;
    const wanted = Math.min(contextLength, typeof longest === 'number' ? longest : contextLength);
    const canvas = typeof memory['canvas'] === 'number' ? memory['canvas'] : 0;
    return {
        weights: memory['weights'] + senses,
        table: typeof memory['per_layer_embeddings'] === 'number' ? memory['per_layer_embeddings'] : 0,
        conversation: Math.max(0, Math.round(short.bytes + slope * (wanted - short.length))) + canvas,
    };
}

const usualContext = 4096;
const fewestConversations = 2;
const mostConversations = 8;
// What conversations may take beside small weights: no more than a page or a server is expected to take anyhow.
const roomForConversations = 128 * 2 ** 20;

/** A model holds only so many tokens, whatever is asked for. */
export function fittingContext({ context_length: longest }: JsonObject, wanted = usualContext): number {
    return typeof longest === 'number' && longest >= 1 ? Math.min(wanted, longest) : wanted;
}

const roomyContexts = [65_536, 32_768, 16_384, 8192];
const roomyConversations = 4;

/**
 * For coding agents and long documents: the longest of some contexts of which the room holds four. A server that
 * answers them gives conversations a quarter of what the weights take.
 */
export function roomyContext(description: JsonObject, budget?: number): number {
    const { context_length: longest } = description;
    const held = typeof longest === 'number' && longest >= 1 ? longest : usualContext;
    for (const length of roomyContexts) {
        if (length > held) continue;
        const needs = memoryNeeds(description, length);
        if (needs && roomyConversations * needs.conversation <= roomFor(needs.weights, budget, true)) return length;
    }
    return Math.min(usualContext, held);
}

function roomFor(weights: number, budget: number | undefined, roomy: boolean): number {
    const usual = Math.max(roomForConversations, weights / (roomy ? 4 : 8));
    return Math.min(usual, budget === undefined ? Infinity : budget - weights);
}

/**
 * How many conversations to remember where nobody says: as many as take an eighth of what the weights take, or of the
 * budget what the weights leave. Their memory is taken when they begin.
 */
export function fittingConversations(description: JsonObject, contextLength: number, budget?: number, roomy = false): number {
    const needs = memoryNeeds(description, contextLength);
    if (!needs || needs.conversation === 0) return fewestConversations;
    const room = roomFor(needs.weights, budget, roomy);
    return Math.max(fewestConversations, Math.min(mostConversations, Math.floor(room / needs.conversation)));
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
