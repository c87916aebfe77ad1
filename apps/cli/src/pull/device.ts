// What this computer can run, asked once and only where somebody wants to know.
import { Lapidary, formatBytes } from 'lapidary';
import { describeSpeed, predict, type Device, type Prediction, type Weight } from 'lapidary/hub';

export async function thisDevice(env: Record<string, string | undefined> = process.env): Promise<Device> {
    // Who computes on the CPU anyway need not wait for a GPU to be found and measured.
    return await Lapidary.probe(env['LAPIDARY_BACKEND'] === 'cpu' ? { gpu: async () => undefined } : {});
}

/** "it should fit: about 3.7 GB of 16 GB; ≈ 38 tokens/s, faster than you read" */
export function describeFit(weight: Weight, device: Device): { fits: boolean; text: string } {
    const prediction = predict(weight, device);
    const { fits, why, memory, available, backend } = prediction;
    if (!fits) return { fits, text: backend === 'cpu' ? why : `too large for this computer: ${why}` };
    const speed = describeSpeed(prediction);
    const parts = [`${why}: about ${formatBytes(memory)} of ${formatBytes(available)}`, ...(speed === '' ? [] : [speed])];
    return { fits, text: parts.join('; ') };
}

/** In a column: it fits, or why not. Without a GPU it is not the computer's memory that is too small, but a page's. */
export function verdictOf({ verdict, fits, backend }: Prediction): string {
    return !fits && backend === 'cpu' ? 'needs a GPU' : verdict;
}
