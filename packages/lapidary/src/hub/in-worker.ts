// A download carried out by a worker, seen from the page.
import { workerPort } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import { startWorker } from '../core/start.js';
import { downloadInto, type DownloadCalls, type Downloader } from './downloader.js';
import { KeptModels } from './kept.js';
import { problemOf } from './problem.js';

/** A worker for each download, which ends with it. In this thread where none can be started. */
export function downloadInWorker(make: () => Worker): Downloader {
    return async (model, { signal, onProgress }) => {
        const worker = await startWorker({ worker: make }, () => undefined);
        if (!worker) return await downloadInto(() => KeptModels.ofThisOrigin())(model, { signal, onProgress });
        try {
            const rpc = new Rpc<DownloadCalls>(workerPort(worker), {});
            return await rpc.call('pull', { model }, { signal, onEvent: onProgress });
        } catch (error) {
            return { problem: problemOf(error) };
        } finally {
            worker.terminate();
        }
    };
}
