// What differs between places, and what of it is known without an engine. Kept small: a page whose engine has a worker needs
// nothing else of a runtime.
import type { Engine, EngineOptions } from './engine.js';
import { LapidaryError } from './error.js';
import type { TuningCache } from './gpu/tuning-cache.js';
import type { ByteSource } from './sources/source.js';
import type { OpenLocal } from './sources/open.js';
import { isNode } from './surroundings.js';
import type { Log } from './wasi.js';

export interface Runtime {
    /** Without a module given, the one that came with the library. */
    makeEngine(options: EngineOptions & { workshop?: boolean }): Promise<Engine>;
    findGpu(log: Log): Promise<GPU | undefined>;
    /** Once `findGpu` found nothing. */
    whyNoGpu?: (() => string | undefined) | undefined;
    /** The CPU's kernels, where they are not fetched. */
    openCpu?: EngineOptions['cpu'];
    openLocal?: OpenLocal;
    /** By its path; only where there is a disk. */
    openFile?: (path: string) => Promise<ByteSource>;
    /** Bytes of the machine, where that can be known. */
    totalMemory?: () => number;
    /** Where to keep what was found out about the GPU, so that only the first load has to. */
    tuningCache?: TuningCache | undefined;
}

/** Not a literal: a bundler for pages must not follow it to node:fs. */
const nodeModule: string = './node-runtime.js';

/** Undefined in a browser. */
export async function nodeRuntime(): Promise<Runtime | undefined> {
    if (!isNode()) return undefined;
    try {
        const module: unknown = await import(/* @vite-ignore */ /* webpackIgnore: true */ /* turbopackIgnore: true */ nodeModule);
        return (module as { nodeRuntime: Runtime }).nodeRuntime;
    } catch (cause) {
        const bundled = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND';
        if (!bundled) throw cause;
        throw new LapidaryError(
            'unsupported',
            `for Node, Lapidary must stay out of the bundle: name 'lapidary' as an external package (docs/api.md, bundlers)`,
            { cause },
        );
    }
}

export type GpuChoice = GPU | (() => Promise<GPU | undefined>) | undefined;

/** The caller's own WebGPU, or the one that is here. */
export async function gpuFinder(choice: GpuChoice): Promise<(log: Log) => Promise<GPU | undefined>> {
    if (typeof choice === 'function') return choice;
    if (choice) return async () => choice;
    const node = await nodeRuntime();
    if (node) return node.findGpu;
    return async () => (typeof navigator === 'object' ? (navigator.gpu as GPU | undefined) : undefined);
}
