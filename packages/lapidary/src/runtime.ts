// What differs between a browser and Node, Deno or Bun: where the engine's module is, where WebGPU comes from, and
// whether there is a disk.
import { Engine, compile, type EngineOptions } from './engine.js';
import type { TuningCache } from './gpu/tuning-cache.js';
import { pageTuningCache } from './gpu/tuning-cache-opfs.js';
import type { LoadOptions } from './options.js';
import type { OpenLocal } from './sources/open.js';
import type { ByteSource } from './sources/source.js';
import { gpuFinder, nodeRuntime } from './surroundings.js';
import type { Log } from './wasi.js';

export interface Runtime {
    /** Without a module given, the one that came with the library. */
    makeEngine(options: EngineOptions & { workshop?: boolean }): Promise<Engine>;
    findGpu(log: Log): Promise<GPU | undefined>;
    /** Once `findGpu` found nothing. */
    whyNoGpu?: (() => string | undefined) | undefined;
    openLocal?: OpenLocal;
    /** By its path; only where there is a disk. */
    openFile?: (path: string) => Promise<ByteSource>;
    /** Bytes of the machine, where that can be known. */
    totalMemory?: () => number;
    /** Where to keep what was found out about the GPU, so that only the first load has to. */
    tuningCache?: TuningCache | undefined;
}

/** With the caller's own module and WebGPU where there are any. */
export async function runtimeFor({
    wasm,
    gpu,
    workshop = false,
    rememberGpu = true,
}: Pick<LoadOptions, 'wasm' | 'gpu' | 'workshop' | 'rememberGpu'>): Promise<Runtime> {
    const node = await nodeRuntime();
    // A GPU of the caller's own may be anything, whatever it calls itself.
    const remembers = rememberGpu && gpu === undefined;
    const tuningCache = remembers ? (node ? node.tuningCache : pageTuningCache) : undefined;
    const runtime = { ...node, findGpu: await gpuFinder(gpu), tuningCache, whyNoGpu: gpu === undefined ? node?.whyNoGpu : undefined };
    if (node && wasm === undefined) {
        return { ...runtime, makeEngine: async (options) => await node.makeEngine({ workshop, ...options }) };
    }
    // Each once, however often an engine has to be made anew.
    const compiled = new Map<boolean, Promise<WebAssembly.Module>>();
    return {
        ...runtime,
        makeEngine: async ({ workshop: wanted = workshop, ...options }) => {
            const module = compiled.get(wanted) ?? compile(wasm ?? ownModule(wanted));
            compiled.set(wanted, module);
            return await Engine.load(await module, options);
        },
    };
}

/** Both addresses are spelled out: that is how bundlers find the files. */
function ownModule(workshop: boolean): URL {
    if (workshop) return new URL('./lapidary-workshop.wasm', import.meta.url);
    return new URL('./lapidary.wasm', import.meta.url);
}
