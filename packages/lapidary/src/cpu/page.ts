// The CPU's kernels in a page.
import { LapidaryError } from '../error.js';
import { openKernels, type CpuKernels, type CpuOptions, type CpuSurroundings, type HelpingThread, type ThreadStart } from './kernels.js';

export type KernelAddresses = Record<Parameters<CpuSurroundings['read']>[0], URL>;

const surroundings = (addresses: KernelAddresses): CpuSurroundings => ({
    read: async (name) => {
        const url = addresses[name];
        const response = await fetch(url);
        const bytes = new Uint8Array(await response.arrayBuffer());
        if (!response.ok || bytes[0] !== 0) throw new LapidaryError('not_found', `the CPU's kernels are not at ${url.href}`);
        return bytes;
    },
    // A page itself may not wait for others, its workers may; and memory is shared only where the page is isolated.
    startThread: typeof document === 'undefined' && globalThis.crossOriginIsolated ? startThread : undefined,
    processors: () => navigator.hardwareConcurrency,
});

async function startThread(start: ThreadStart): Promise<HelpingThread> {
    const worker = new Worker(new URL('./page-thread.js', import.meta.url), { type: 'module', name: 'lapidary cpu' });
    await new Promise((resolve, reject) => {
        worker.addEventListener('message', resolve, { once: true });
        worker.addEventListener('error', (event) => reject(new Error(event.message || 'its script could not be loaded')));
        worker.postMessage(start);
    });
    return {
        end: () => worker.terminate(),
        onLost: (listener) => worker.addEventListener('error', (event) => listener(event.message)),
    };
}

export async function openPageKernels(addresses: KernelAddresses, options: CpuOptions): Promise<CpuKernels> {
    return await openKernels(surroundings(addresses), options);
}
