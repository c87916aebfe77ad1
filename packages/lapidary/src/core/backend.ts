// GPU or CPU: what was asked for, or what is there.
import { LapidaryError, messageOf } from '../error.js';
import type { WebGpu } from '../gpu/webgpu.js';
import { isSoftware } from '../gpu/software.js';
import type { Backend } from '../model.js';

export interface Chosen {
    backend: Backend;
    /** In a sentence. */
    why: string;
}

/** Why `findGpu` found nothing, where the surroundings know. */
export type WhyNoGpu = () => string | undefined;

export async function chooseBackend(
    wanted: Backend | 'auto',
    findGpu: () => Promise<WebGpu | undefined>,
    whyNone?: WhyNoGpu,
): Promise<Chosen> {
    if (wanted === 'cpu') return { backend: 'cpu', why: 'the CPU was asked for' };
    const problem = await problemOf(findGpu, wanted === 'gpu', whyNone);
    if (wanted === 'auto') {
        if (problem === undefined) return { backend: 'gpu', why: 'WebGPU has an adapter' };
        return { backend: 'cpu', why: `${problem}, so the CPU computes` };
    }
    if (problem !== undefined) throw new LapidaryError('unsupported', `the GPU cannot be used: ${problem}`);
    return { backend: 'gpu', why: 'the GPU was asked for' };
}

/** The same after a GPU was lost: another GPU, or an error that says why there is none. */
export async function chooseNewGpu(
    wanted: Backend | 'auto',
    findGpu: () => Promise<WebGpu | undefined>,
    lost: string,
    whyNone?: WhyNoGpu,
): Promise<Chosen> {
    const problem = await problemOf(findGpu, wanted === 'gpu', whyNone);
    if (problem !== undefined) throw new LapidaryError('unsupported', problem);
    return { backend: 'gpu', why: `WebGPU gave a new device after ${lost}` };
}

async function problemOf(
    findGpu: () => Promise<WebGpu | undefined>,
    software: boolean,
    whyNone: WhyNoGpu = () => undefined,
): Promise<string | undefined> {
    try {
        const gpu = await findGpu();
        if (!gpu) return whyNone() ?? 'there is no WebGPU here';
        const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
        if (!adapter) return 'WebGPU found no GPU';
        // Software pretending to be a GPU is slower than the CPU backend; who asks for it by name still gets it.
        if (isSoftware(adapter) && !software) return 'the only GPU is one in software';
        return undefined;
    } catch (error) {
        return `WebGPU failed (${messageOf(error)})`;
    }
}
