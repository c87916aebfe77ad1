// What this computer can run, asked once and only where somebody wants to know.
import { Lapidary, formatBytes } from 'lapidary';
import { describeSpeed, predict, type Device, type Weight } from 'lapidary/hub';

export async function thisDevice(env: Record<string, string | undefined> = process.env): Promise<Device> {
    // Who computes on the CPU anyway need not wait for a GPU to be found and measured.
    return await Lapidary.probe(env['LAPIDARY_BACKEND'] === 'cpu' ? { gpu: async () => undefined } : {});
}

/** "it should fit: about 3.7 GB of 16 GB; ≈ 38 tokens/s, faster than you read" */
export function describeFit(weight: Weight, device: Device): { fits: boolean; text: string } {
    const prediction = predict(weight, device);
    const { fits, why, memory, available } = prediction;
    if (!fits) return { fits, text: `too large for this computer: ${why}` };
    const speed = describeSpeed(prediction);
    const parts = [`${why}: about ${formatBytes(memory)} of ${formatBytes(available)}`, ...(speed === '' ? [] : [speed])];
    return { fits, text: parts.join('; ') };
}
