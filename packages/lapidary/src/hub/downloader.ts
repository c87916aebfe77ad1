// Who carries out a download: this thread, for itself or for a page that it is the worker of.
import type { Port } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import { KeptModels, type KeptModel, type PullOptions, type PullProgress } from './kept.js';
import { problemOf, type Problem } from './problem.js';
import type { ResolvedModel } from './resolve.js';

/** An error loses its class on the way out of a worker; a Problem is plain data and arrives as it is. */
export type Outcome = { kept: KeptModel } | { problem: Problem };

export type Downloader = (
    model: ResolvedModel,
    options: { signal: AbortSignal; onProgress: (progress: PullProgress) => void },
) => Promise<Outcome>;

/** Few, because Download (download.ts) starts a failed download again by itself. */
const few: Pick<PullOptions, 'retries'> = { retries: 2 };

export function downloadInto(find: () => Promise<KeptModels | undefined>): Downloader {
    return async (model, options) => {
        try {
            const models = await find();
            if (!models) return { problem: noPlace };
            return { kept: await models.pull(model, { ...few, ...options }) };
        } catch (error) {
            return { problem: problemOf(error) };
        }
    };
}

const noPlace: Problem = {
    kind: 'nowhere',
    sentence: 'This browser does not let the page store anything, so no model can be kept.',
    detail: 'there is no private file system here',
};

export interface DownloadCalls {
    pull: { args: { model: ResolvedModel }; event: PullProgress; result: Outcome };
}

export function serveDownloads(port: Port): void {
    const download = downloadInto(() => KeptModels.ofThisOrigin());
    new Rpc<Record<never, never>, DownloadCalls>(port, {
        pull: async ({ model }, { signal, emit }) => await download(model, { signal, onProgress: emit }),
    });
}
