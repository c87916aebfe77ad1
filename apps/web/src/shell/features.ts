// The features of the app. One that is not here does not exist for the rest.
import { textFiles } from '../features/text-files/feature.js';
import type { Attacher, Feature, Offered } from './feature.js';
import type { EngineInfo } from 'lapidary';

export const features: readonly Feature[] = [textFiles];

export function attacherOf(file: Offered, answering: EngineInfo | undefined): Attacher | undefined {
    return features.flatMap(({ attach = [] }) => attach).find((attacher) => attacher.accepts(file, answering));
}
