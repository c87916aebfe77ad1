// Whether a file of this size would run here, before it is downloaded.
import type { Probe } from 'lapidary';

export interface Fit {
    verdict: 'fits' | 'tight' | 'too large';
    why: string;
}

// Conversations, the tokenizer and buffers of a moment's use, beside the weights.
const besidesWeights = 400e6;
// WebAssembly's memory, where the CPU backend keeps the weights.
const cpuLimit = 3.5e9;

export function fitOf(bytes: number, probe: Pick<Probe, 'backend' | 'estimatedMemory'>): Fit {
    const needs = bytes + besidesWeights;
    const where = probe.backend === 'gpu' ? 'the GPU' : 'the CPU';
    const limit = probe.backend === 'gpu' ? probe.estimatedMemory : Math.min(cpuLimit, probe.estimatedMemory);
    if (probe.backend === 'cpu' && bytes > cpuLimit) {
        return { verdict: 'too large', why: 'without WebGPU a model may have 3.5 GB at most' };
    }
    if (needs > limit) return { verdict: 'too large', why: `it needs more memory than ${where} seems to have here` };
    if (needs > limit * 0.75) return { verdict: 'tight', why: `it takes most of the memory ${where} seems to have here` };
    return { verdict: 'fits', why: `it should run on ${where}` };
}
