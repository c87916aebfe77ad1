// What differs between a browser and Node, Deno or Bun: where the engine's module is, where WebGPU comes from, and
// whether there is a disk.
import type { Engine, EngineOptions } from './engine.js';
import type { LoadOptions } from './options.js';
import type { OpenLocal } from './sources/open.js';
import type { Log } from './wasi.js';

export interface Runtime {
    /** Without a module given, the one that came with the library. */
    makeEngine(options: EngineOptions): Promise<Engine>;
    findGpu(log: Log): Promise<GPU | undefined>;
    openLocal?: OpenLocal;
    /** Bytes of the machine, where that can be known. */
    totalMemory?: () => number;
}

export function isNode(): boolean {
    return typeof document === 'undefined' && typeof process === 'object' && typeof process.versions?.node === 'string';
}

/** Not a literal: a bundler for pages must not follow it to node:fs. */
const nodeModule: string = './node-runtime.js';

async function thisRuntime(): Promise<Runtime> {
    if (!isNode()) return browserRuntime;
    const { nodeRuntime } = (await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeModule)) as {
        nodeRuntime: Runtime;
    };
    return nodeRuntime;
}

// Engine comes late: a page that has a worker for it asks this module for small things only, and need not load it.
const browserRuntime: Runtime = {
    makeEngine: async (options) => {
        const engine = await import('./engine.js');
        return await engine.Engine.load(new URL('./lapidary.wasm', import.meta.url), options);
    },
    findGpu: async () => (typeof navigator === 'object' ? (navigator.gpu as GPU | undefined) : undefined),
};

/** The same, with the caller's own module and WebGPU where there are any. The module is compiled once. */
export async function runtimeFor({ wasm, gpu }: Pick<LoadOptions, 'wasm' | 'gpu'>): Promise<Runtime> {
    const runtime = await thisRuntime();
    let compiled: Promise<WebAssembly.Module> | undefined;
    return {
        ...runtime,
        ...(wasm === undefined
            ? {}
            : {
                  makeEngine: async (options) => {
                      const { Engine, compile } = await import('./engine.js');
                      return await Engine.load(await (compiled ??= compile(wasm)), options);
                  },
              }),
        ...(gpu === undefined ? {} : { findGpu: async () => (typeof gpu === 'function' ? await gpu() : gpu) }),
    };
}
