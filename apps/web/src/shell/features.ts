// The features of the app. One that is not here does not exist for the rest.
import { bench } from '../features/bench/feature.js';
import { diagnostics } from '../features/diagnostics/feature.js';
import { everydayTools } from '../features/everyday-tools/feature.js';
import { fineTune } from '../features/finetune/feature.js';
import { media } from '../features/media/feature.js';
import { models } from '../features/models/feature.js';
import { settingsPage } from '../features/settings/feature.js';
import { textFiles } from '../features/text-files/feature.js';
import type { Attacher, Feature, Offered, Tool } from './feature.js';
import type { EngineInfo } from 'lapidary';

export const features: readonly Feature[] = [models, fineTune, bench, diagnostics, settingsPage, textFiles, media, everydayTools];

/** In the order of the sidebar. */
export const pages = features.flatMap(({ page }) => page ?? []);

export function attacherOf(file: Offered, answering: EngineInfo | undefined): Attacher | undefined {
    return features.flatMap(({ attach = [] }) => attach).find((attacher) => attacher.accepts(file, answering));
}

/** All there are. */
export async function allTools(): Promise<Tool[]> {
    return (await Promise.all(features.map(async ({ tools }) => (await tools?.()) ?? []))).flat();
}

/** Those that the person has chosen; nothing is loaded where that is none. */
export async function chosenTools(names: readonly string[]): Promise<Tool[]> {
    return names.length === 0 ? [] : (await allTools()).filter(({ name }) => names.includes(name));
}
