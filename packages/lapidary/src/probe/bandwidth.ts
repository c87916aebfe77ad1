// How fast a GPU moves memory, from a copy: writing an answer is mostly reading weights, so this bounds its speed.

const bytes = 64 * 1024 * 1024;
// Long enough to drown the few milliseconds that a browser takes to tell that something is done.
const longEnoughMs = 40;
const mostCopies = 1024;

/** Bytes read and written a second. `now`: milliseconds since whenever. */
export async function copyBandwidth(adapter: GPUAdapter, now = () => performance.now()): Promise<number> {
    const device = await adapter.requestDevice({ label: 'lapidary probe' });
    try {
        const usage = 0x4 | 0x8; // COPY_SRC and COPY_DST; outside of browsers their names are missing
        const [from, to] = [device.createBuffer({ size: bytes, usage }), device.createBuffer({ size: bytes, usage })];
        const time = async (copies: number) => {
            const encoder = device.createCommandEncoder();
            for (let i = 0; i < copies; i++) encoder.copyBufferToBuffer(from, 0, to, 0, bytes);
            const started = now();
            device.queue.submit([encoder.finish()]);
            await device.queue.onSubmittedWorkDone();
            return now() - started;
        };
        const idle = await time(1).then(() => time(0)); // the first copy also makes the memory real
        for (let copies = 4; ; copies *= 4) {
            const took = (await time(copies)) - idle;
            if (took >= longEnoughMs || copies >= mostCopies) return (2 * bytes * copies * 1000) / Math.max(took, 0.1);
        }
    } finally {
        device.destroy();
    }
}
