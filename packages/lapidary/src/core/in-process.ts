// The engine in the thread that asked for it.
import type { LoadOptions } from '../options.js';
import { runtimeFor } from '../runtime.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { Log } from '../wasi.js';
import type { Core } from './core.js';
import { LocalCore, type CoreOptions } from './local.js';

export async function startLocal(
    source: PreparedSource,
    core: CoreOptions,
    options: LoadOptions,
    log: Log,
): Promise<Core> {
    const { onProgress, signal } = options;
    return await LocalCore.start(source, core, { runtime: await runtimeFor(options), log, onProgress, signal });
}
