// Finding the engine's module on disk, for Node.
import { promises as fs } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openNodeKernels } from './cpu/node.js';
import { Engine, type EngineOptions } from './engine.js';
import { LapidaryError } from './error.js';
import { nodeGpu } from './gpu/node.js';
import { systemCode } from './sources/file.js';

/** LAPIDARY_WASM, or the module that the build puts beside the compiled library. */
export function engineFile(workshop = true, env: Record<string, string | undefined> = process.env): string {
    const name = workshop ? './lapidary-workshop.wasm' : './lapidary.wasm';
    return env['LAPIDARY_WASM'] || fileURLToPath(new URL(name, import.meta.url));
}

/**
 * The engine with everything in it, since on a disk its size is nobody's concern; `workshop: false` is the one that
 * pages download. With this computer's GPU unless `options` say otherwise; it is looked for when the engine first wants it.
 */
export async function loadEngine(options: EngineOptions & { workshop?: boolean } = {}): Promise<Engine> {
    const file = engineFile(options.workshop ?? true);
    let bytes: Uint8Array<ArrayBuffer>;
    try {
        bytes = new Uint8Array(await fs.readFile(file));
    } catch (cause) {
        const why = systemCode(cause) === 'ENOENT' ? 'is missing' : 'cannot be read';
        throw new LapidaryError('not_found', `run 'make build' first: the engine ${file} ${why}`, { cause });
    }
    try {
        return await Engine.load(bytes, { gpu: () => nodeGpu(options.log), cpu: openNodeKernels, ...options });
    } catch (cause) {
        if (cause instanceof LapidaryError) throw cause;
        throw new LapidaryError('bad_file', `${file} is not an engine this version can use; run 'make build' again`, {
            cause,
        });
    }
}
