// The CPU's kernels in Node.
import { once } from 'node:events';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { LapidaryError } from '../error.js';
import { diskTuningCache } from '../gpu/tuning-cache-file.js';
import {
    mostThreads,
    openKernels,
    type CpuKernels,
    type CpuOptions,
    type CpuSurroundings,
    type Digits,
    type HelpingThread,
    type KernelModule,
    type ThreadStart,
} from './kernels.js';

const node: CpuSurroundings = {
    read: async (name) => {
        const file = fileURLToPath(new URL(`../${name}.wasm`, import.meta.url));
        try {
            return new Uint8Array(await fs.readFile(file));
        } catch (cause) {
            throw new LapidaryError('not_found', `run 'make build' first: the CPU's kernels are not at ${file}`, { cause });
        }
    },
    startThread,
    processors: () => os.availableParallelism(),
    choice: (digest) => diskTuningCache(process.env, 'cpu', `node ${process.version}, ${os.cpus()[0]?.model}, ${digest}`),
};

async function startThread(start: ThreadStart): Promise<HelpingThread> {
    const worker = new Worker(new URL('./node-thread.js', import.meta.url), { workerData: start, name: 'lapidary cpu' });
    await once(worker, 'message');
    worker.unref(); // a program may end while its threads wait for work
    let ended = false;
    return {
        end: () => {
            ended = true;
            void worker.terminate();
        },
        onLost: (listener) => {
            worker.on('error', (error) => listener(error.message));
            worker.on('exit', (code) => {
                if (!ended) listener(`exit ${code}`);
            });
        },
    };
}

/** LAPIDARY_THREADS, LAPIDARY_KERNELS and LAPIDARY_DIGITS say what options do not. */
export async function openNodeKernels(options: CpuOptions, env: Record<string, string | undefined> = process.env): Promise<CpuKernels> {
    const { LAPIDARY_THREADS: threads, LAPIDARY_KERNELS: kernels, LAPIDARY_DIGITS: digits } = env;
    return await openKernels(node, {
        ...options,
        threads: options.threads ?? (threads ? checkThreads(threads) : undefined),
        kernels: options.kernels ?? ((kernels || undefined) as KernelModule | undefined),
        digits: options.digits ?? ((digits || undefined) as Digits | undefined),
    });
}

function checkThreads(text: string): number {
    const threads = Number(text);
    if (Number.isInteger(threads) && threads >= 1 && threads <= mostThreads) return threads;
    throw new LapidaryError('invalid_argument', `LAPIDARY_THREADS must be a number from 1 to ${mostThreads}, not '${text}'`);
}
