// How a diffusion model settles its canvases, as options of commands. What is not given is as the model's file says.
import type { Command } from 'commander';
import type { DiffusionSettings } from 'lapidary';
import { parseInteger, parseNumber } from '../numbers.js';

export interface DiffusionFlags {
    steps?: number;
    entropyBound?: number;
    tMin?: number;
    tMax?: number;
    stabilityThreshold?: number;
    confidenceThreshold?: number;
}

export function addDiffusionOptions(command: Command): Command {
    return command
        .option('--steps <n>', 'of a diffusion model: steps of a canvas, at most', parseInteger({ min: 1, max: 1024 }))
        .option('--entropy-bound <nats>', '… how much doubt a step accepts', parseNumber({ min: 0, max: 1e6 }))
        .option('--t-min <t>', '… the temperature falls towards this', parseNumber({ min: 1e-6, max: 100 }))
        .option('--t-max <t>', '… from this', parseNumber({ min: 1e-6, max: 100 }))
        .option('--stability-threshold <n>', '… it may end after so many equal steps', parseInteger({ min: 0, max: 1024 }))
        .option('--confidence-threshold <nats>', '… when the mean entropy is below this', parseNumber({ min: 0, max: 100 }));
}

export function diffusionFrom(flags: DiffusionFlags): { diffusion?: DiffusionSettings } {
    const all = {
        steps: flags.steps,
        entropy_bound: flags.entropyBound,
        t_min: flags.tMin,
        t_max: flags.tMax,
        stability_threshold: flags.stabilityThreshold,
        confidence_threshold: flags.confidenceThreshold,
    };
    return Object.values(all).some((value) => value !== undefined) ? { diffusion: all } : {};
}
