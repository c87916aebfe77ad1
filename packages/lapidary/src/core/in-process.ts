// The engine in the thread that asked for it.
import type { CheckReport, CheckRequest } from '../gpu/check.js';
import type { LoadOptions } from '../options.js';
import { runtimeFor } from '../runtime.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { Log } from '../wasi.js';
import type { CheckOptions } from './check.js';
import type { Core } from './core.js';
import { checkHere } from './check-here.js';
import { LocalCore, type CoreOptions } from './local.js';

export async function startLocal(
    source: PreparedSource,
    core: CoreOptions,
    options: LoadOptions,
    log: Log,
): Promise<Core> {
    const { onProgress, onInfo, onOpened, signal } = options;
    const runtime = await runtimeFor(options);
    const told = { ...(onInfo ? { onInfo } : {}), ...(onOpened ? { onOpened } : {}) };
    return await LocalCore.start(source, core, { runtime, log, onProgress, signal, ...told });
}

export async function checkLocal(request: CheckRequest, options: CheckOptions, log: Log): Promise<CheckReport> {
    const { onProgress, signal } = options;
    return await checkHere(await runtimeFor({ ...options, workshop: true }), request, { log, onProgress, signal });
}
