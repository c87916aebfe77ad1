// Where the library runs. Kept small: a page whose engine has a worker needs nothing else of a runtime.
import { LapidaryError } from './error.js';
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
