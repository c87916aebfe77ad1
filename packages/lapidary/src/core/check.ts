// The self-test of a GPU where it does not disturb: in a worker of its own in a page, in this thread elsewhere.
import { LapidaryError } from '../error.js';
import type { CheckReport, CheckRequest } from '../gpu/check.js';
import type { Progress } from '../work.js';
import type { LoadOptions } from '../options.js';
import type { Log } from '../wasi.js';
import type { ClientCalls, EngineCalls } from '../engine/contract.js';
import { workerPort } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import { defined } from '../dialects/fields.js';
import { postable, startWorker, wantsWorker } from './start.js';

export interface CheckOptions extends Pick<LoadOptions, 'wasm' | 'gpu' | 'worker' | 'log' | 'signal'> {
    /** Cases. */
    onProgress?: (progress: Progress) => void;
}

export async function startCheck(request: CheckRequest, options: CheckOptions): Promise<CheckReport> {
    const log: Log = options.log ?? (() => undefined);
    const { signal, onProgress, wasm } = options;
    const worker = wantsWorker(options) ? await startWorker(options, log) : undefined;
    if (!worker) return await (await import('./in-process.js')).checkLocal(request, options, log);
    const rpc = new Rpc<EngineCalls, Pick<ClientCalls, 'log'>>(workerPort(worker), {
        log: async ({ level, text }) => log(level, text),
    });
    worker.addEventListener('error', (event) => {
        event.preventDefault();
        rpc.close(new LapidaryError('internal', `the worker stopped: ${event.message || 'no reason was given'}`));
    });
    try {
        const args = { request, ...defined({ wasm: postable(wasm) }) };
        return await rpc.call('check', args, { signal, onEvent: onProgress });
    } finally {
        worker.terminate();
    }
}
