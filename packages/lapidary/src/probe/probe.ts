// What this device can do, told before anything is downloaded.
import type { WebGpu } from '../gpu/webgpu.js';
import { isSoftware } from '../gpu/software.js';
import { throwIfCancelled } from '../error.js';
import { gpuFinder, nodeRuntime } from '../runtime-here.js';
import type { Device } from '../catalogue/predict.js';
import { copyBandwidth } from './bandwidth.js';
import { judgeModels, type ProbedModel } from './family.js';

export interface ProbeOptions {
    /** WebGPU, or how to get it; `navigator.gpu` or, in Node, the package `webgpu` unless told. */
    gpu?: WebGpu | (() => Promise<WebGpu | undefined>);
    /** Measure how fast the GPU copies memory, which takes about a tenth of a second. True unless told. */
    measure?: boolean;
    signal?: AbortSignal;
}

export interface ProbedGpu {
    /** In words. */
    adapter: string;
    vendor: string;
    architecture: string;
    /** A GPU in software, slower than the CPU itself. */
    software: boolean;
    features: string[];
    limits: { maxBufferSize: number; maxStorageBufferBindingSize: number };
    /** Bytes a second read and written, measured with a copy; undefined when it was not measured. */
    bandwidth?: number;
}

export interface Probe {
    webgpu: boolean;
    /** Undefined without a usable GPU. */
    gpu?: ProbedGpu;
    /** Files of the page's own, where a model can be kept. Without them one from an address is fetched at every visit. */
    opfs: boolean;
    workers: boolean;
    /** Bytes a model may take, an ESTIMATE: nobody tells how much memory a GPU has. */
    estimatedMemory: number;
    /** Bytes the browser lets this page store, where it tells. */
    storage?: { quota: number; usage: number };
    /** What `auto` would choose. */
    backend: 'gpu' | 'cpu';
    models: ProbedModel[];
}

export async function probe({ gpu: option, measure = true, signal }: ProbeOptions = {}): Promise<Probe> {
    const findGpu = await gpuFinder(option);
    throwIfCancelled(signal);
    const webgpu = await findGpu(() => undefined);
    const adapter = await webgpu?.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
    const gpu = adapter ? await probeAdapter(adapter, measure) : undefined;
    throwIfCancelled(signal);
    const storage = await storageEstimate();
    const estimatedMemory = memoryEstimate((await nodeRuntime())?.totalMemory?.());
    const usable = gpu && !gpu.software ? gpu : undefined;
    const device: Device = {
        backend: usable ? 'gpu' : 'cpu',
        estimatedMemory,
        ...(usable ? { gpu: usable } : {}),
        ...(storage ? { storage } : {}),
    };
    return {
        webgpu: webgpu !== undefined,
        ...(gpu ? { gpu } : {}),
        opfs: await hasPrivateFiles(),
        workers: typeof Worker === 'function',
        estimatedMemory,
        ...(storage ? { storage } : {}),
        backend: device.backend,
        models: judgeModels(device),
    };
}

async function probeAdapter(adapter: GPUAdapter, measure: boolean): Promise<ProbedGpu> {
    const { vendor, architecture, device, description } = adapter.info;
    const software = isSoftware(adapter);
    const bandwidth = measure && !software ? await copyBandwidth(adapter).catch(() => undefined) : undefined;
    const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
    return {
        adapter: [vendor, architecture, device, description].filter((word) => word !== '').join(' ') || 'a GPU that does not tell its name',
        vendor,
        architecture,
        software,
        features: [...adapter.features].sort(),
        limits: { maxBufferSize, maxStorageBufferBindingSize },
        ...(bandwidth === undefined ? {} : { bandwidth }),
    };
}

/** Half of what the machine has: the rest is for the system, the browser and everything else that is open. */
function memoryEstimate(totalMemory: number | undefined): number {
    const gibibyte = 2 ** 30;
    const told = typeof navigator === 'object' ? (navigator as { deviceMemory?: unknown }).deviceMemory : undefined;
    const machine = totalMemory ?? (typeof told === 'number' ? told * gibibyte : 8 * gibibyte);
    return machine / 2;
}

/** Some browsers have the function and refuse the folder: in private windows, or where it is switched off. */
async function hasPrivateFiles(): Promise<boolean> {
    if (typeof navigator !== 'object' || typeof navigator.storage?.getDirectory !== 'function') return false;
    return await navigator.storage.getDirectory().then(
        () => true,
        () => false,
    );
}

async function storageEstimate(): Promise<{ quota: number; usage: number } | undefined> {
    if (typeof navigator !== 'object' || typeof navigator.storage?.estimate !== 'function') return undefined;
    try {
        const { quota, usage } = await navigator.storage.estimate();
        return quota === undefined || usage === undefined ? undefined : { quota, usage }; // WebKitGTK tells neither
    } catch {
        return undefined; // refused to pages without an origin, such as sandboxed frames
    }
}
