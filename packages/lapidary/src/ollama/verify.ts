// Whether a blob is what its name says. Apart from the store: it alone needs the library that computes digests.
import { LapidaryError } from '../error.js';
import type { WorkOptions } from '../work.js';
import { sha256 } from '../cache/sha256.js';
import { blobName, type Layer } from './manifest.js';
import type { OllamaStore } from './store.js';

/** Reads every byte of the layer and compares its SHA-256 with its name. */
export async function verifyLayer(store: OllamaStore, layer: Layer, options: WorkOptions = {}): Promise<void> {
    for (const source of await store.openLayers([layer])) {
        try {
            const actual = `sha256:${await sha256(source, options)}`;
            if (actual === layer.digest) continue;
            throw new LapidaryError(
                'bad_file',
                `the blob ${blobName(layer)} is damaged: its contents have the digest ${actual}; pull the model again`,
            );
        } finally {
            await source.close();
        }
    }
}
