// A download carried out by a worker, seen from the page.
import { Peer } from '../core/peer.js';
import { startWorker } from '../core/start.js';
import { downloadInto, type Downloader, type Outcome, type PullArgs } from './downloader.js';
import { KeptModels } from './kept.js';
import { problemOf } from './problem.js';

/** A worker for each download, which ends with it. In this thread where none can be started. */
export function downloadInWorker(make: () => Worker): Downloader {
    return async (model, { signal, onProgress }) => {
        const worker = await startWorker({ worker: make }, () => undefined);
        if (!worker) return await downloadInto(() => KeptModels.ofThisOrigin())(model, { signal, onProgress });
        try {
            const peer = new Peer(worker, {});
            const args: PullArgs = { model };
            return await peer.call<Outcome>('pull', args, { signal, onEvent: onProgress as (event: never) => void });
        } catch (error) {
            return { problem: problemOf(error) };
        } finally {
            worker.terminate();
        }
    };
}
