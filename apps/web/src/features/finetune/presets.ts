// What people choose between, and the numbers behind it.
import type { DataReport, TrainSettings } from 'lapidary';

export type PresetName = 'quick' | 'balanced' | 'thorough';

interface Preset {
    name: PresetName;
    label: string;
    words: string;
    rank: number;
    lr: number;
    /** Steps to aim at: few examples are seen more often. */
    steps: number;
    mostEpochs: number;
}

export const presets: readonly Preset[] = [
    { name: 'quick', label: 'Quick', words: 'A first look in a minute or so', rank: 8, lr: 1e-3, steps: 40, mostEpochs: 40 },
    { name: 'balanced', label: 'Balanced', words: 'Enough for most', rank: 16, lr: 5e-4, steps: 120, mostEpochs: 60 },
    { name: 'thorough', label: 'Thorough', words: 'Takes its time', rank: 32, lr: 3e-4, steps: 400, mostEpochs: 100 },
];

const smallestForValidation = 20;

/** All numbers, for a preset and the data it is for. */
export function settingsFor(name: PresetName, { examples, longest }: Pick<DataReport, 'examples' | 'longest'>): TrainSettings {
    const preset = presets.find((one) => one.name === name) ?? presets[0];
    if (!preset) throw new Error('there are no presets');
    const batch = Math.max(1, Math.min(4, Math.floor(examples / 2)));
    const a_round = Math.max(1, Math.ceil(examples / batch));
    return {
        rank: preset.rank,
        alpha: preset.rank * 2,
        lr: preset.lr,
        schedule: 'cosine',
        warmup: 0.05,
        epochs: Math.max(1, Math.min(preset.mostEpochs, Math.round(preset.steps / a_round))),
        batch,
        seq: Math.max(32, Math.ceil(longest / 32) * 32),
        validation: examples >= smallestForValidation ? 0.1 : 0,
        seed: 1,
    };
}
