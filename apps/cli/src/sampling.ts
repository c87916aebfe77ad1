// Sampling options shared by the commands that generate. Only what the person gave is passed on: the rest is what the
// model recommends, which the engine knows.
import { type Command } from 'commander';
import type { JsonObject, Sampling } from 'lapidary';
import { parseInteger, parseNumber } from './numbers.js';

export interface SamplingFlags {
    temp?: number;
    topK?: number;
    topP?: number;
    minP?: number;
    repeatPenalty?: number;
    presencePenalty?: number;
    frequencyPenalty?: number;
    seed?: number;
    stop?: string[];
}

const largestSeed = Number.MAX_SAFE_INTEGER;

export function addSamplingOptions(command: Command): Command {
    return command
        .option('--temp <t>', 'temperature; 0 always takes the likeliest token', parseNumber({ min: 0, max: 2 }))
        .option('--top-k <k>', 'keep the k likeliest tokens; 0 keeps all', parseInteger({ min: 0, max: 2 ** 31 - 1 }))
        .option('--top-p <p>', 'keep the likeliest tokens that together reach p', parseNumber({ min: 0, max: 1 }))
        .option('--min-p <p>', 'drop tokens less likely than p times the best', parseNumber({ min: 0, max: 1 }))
        .option('--repeat-penalty <x>', 'above 1: repeat less', parseNumber({ min: 0.01, max: 100 }))
        .option('--presence-penalty <x>', 'above 0: prefer new tokens', parseNumber({ min: -100, max: 100 }))
        .option('--frequency-penalty <x>', 'above 0: avoid frequent tokens', parseNumber({ min: -100, max: 100 }))
        .option('--seed <n>', 'the same seed gives the same text', parseInteger({ min: 0, max: largestSeed }))
        .option('--stop <text>', 'end when this text appears; may be repeated', (text, list: string[] = []) => [
            ...list,
            text,
        ]);
}

const samplingNames: readonly [keyof SamplingFlags, Exclude<keyof Sampling, 'logit_bias'>][] = [
    ['temp', 'temperature'],
    ['topK', 'top_k'],
    ['topP', 'top_p'],
    ['minP', 'min_p'],
    ['repeatPenalty', 'repeat_penalty'],
    ['presencePenalty', 'presence_penalty'],
    ['frequencyPenalty', 'frequency_penalty'],
    ['seed', 'seed'],
];

/** Flags come before what an Ollama model brings in its parameters, which come before the engine's defaults. */
export function samplingFrom(flags: SamplingFlags, params: JsonObject = {}): { sampling: Sampling; stop: string[] } {
    const sampling: Sampling = {};
    for (const [flag, name] of samplingNames) {
        const value = flags[flag] ?? params[name];
        if (typeof value === 'number' && Number.isFinite(value)) sampling[name] = value;
    }
    const stops = flags.stop ?? params['stop'];
    const stop = (Array.isArray(stops) ? stops : [stops]).filter(
        (text): text is string => typeof text === 'string' && text !== '',
    );
    return { sampling, stop };
}
