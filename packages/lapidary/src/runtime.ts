// What differs between a browser and Node, Deno or Bun: where the engine's module is, where WebGPU comes from, and
// whether there is a disk.
import { openPageKernels } from './cpu/page.js';
import { Engine, compile, type EngineOptions } from './engine.js';
import { pageTuningCache } from './gpu/tuning-cache-opfs.js';
import type { LoadOptions } from './options.js';
import { gpuFinder, nodeRuntime, type Runtime } from './runtime-here.js';

export type { Runtime };

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
            return await Engine.load(await module, { cpu: node?.openCpu ?? openCpu, ...options });
        },
    };
}

/** Only where the CPU computes: a page with a GPU never fetches the kernels. */
const openCpu: EngineOptions['cpu'] = async (options) => {
    const addresses = { 'cpu-base': new URL('./cpu-base.wasm', import.meta.url), 'cpu-relaxed': new URL('./cpu-relaxed.wasm', import.meta.url) };
    return await openPageKernels(addresses, options);
};

/** All addresses are spelled out: that is how bundlers find the files. */
function ownModule(workshop: boolean): URL {
    if (workshop) return new URL('./lapidary-workshop.wasm', import.meta.url);
    return new URL('./lapidary.wasm', import.meta.url);
}
