// Where the library runs. Kept small: a page whose engine has a worker needs nothing else of a runtime.
import type { Runtime } from './runtime.js';
import type { Log } from './wasi.js';

/** Node, Deno or Bun. */
export function isNode(): boolean {
    return typeof document === 'undefined' && typeof process === 'object' && typeof process.versions?.node === 'string';
}

/** Not a literal: a bundler for pages must not follow it to node:fs. */
const nodeModule: string = './node-runtime.js';

/** Undefined in a browser. */
export async function nodeRuntime(): Promise<Runtime | undefined> {
    if (!isNode()) return undefined;
    const module = (await import(/* @vite-ignore */ /* webpackIgnore: true */ nodeModule)) as { nodeRuntime: Runtime };
    return module.nodeRuntime;
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
