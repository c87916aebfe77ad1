// The CPU's kernels in WebAssembly: every module, every number of threads, against the reference.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { promises as fs } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { loadEngine } from '../engine-file.js';
import { Model, type CpuAccuracy } from '../model.js';
import { FileSource } from '../sources/file.js';
import type { ByteSink } from '../sources/source.js';
import { openKernels, type CpuKernels, type CpuOptions, type HelpingThread, type ThreadStart } from './kernels.js';
import { openNodeKernels } from './node.js';

const fixture = (name: string) => fileURLToPath(new URL(`../../../../tests/data/fixtures/${name}.gguf`, import.meta.url));
const tokens = Int32Array.from([2, ...Array.from({ length: 79 }, (_, i) => (i * 37) % 200)]);

class MemorySink implements ByteSink {
    readonly bytes = new Uint8Array(2 ** 20);
    async write(offset: number, bytes: Uint8Array): Promise<void> {
        this.bytes.set(bytes, offset);
    }
    async close(): Promise<void> {}
}

/** Those of every position, and what computed them. */
async function logits(name: string, options: CpuOptions & { accuracy?: CpuAccuracy }) {
    const { accuracy, ...cpu } = options;
    const engine = await loadEngine({ cpu: async () => await openNodeKernels(cpu, {}) });
    try {
        const model = await Model.open(engine, [await FileSource.open(fixture(name))]);
        const loaded = await model.load('cpu', { accuracy });
        const session = await model.createSession({ context: tokens.length });
        const sink = new MemorySink();
        const { vocabulary } = await session.logits([...tokens], sink);
        const values = new Float32Array(sink.bytes.buffer, 0, tokens.length * vocabulary);
        await model.close();
        return { values, info: loaded.cpu };
    } finally {
        engine.close();
    }
}

function relativeError(got: Float32Array, want: Float32Array): number {
    let difference = 0;
    let size = 0;
    for (const [i, value] of want.entries()) {
        difference += ((got[i] ?? NaN) - value) ** 2;
        size += value ** 2;
    }
    return Math.sqrt(difference / size);
}

for (const name of ['tiny-e2b-q4km', 'tiny-moe-q4km']) {
    test(`${name}: exact with every module, the same bits with any number of threads`, async (t) => {
        const reference = await logits(name, { accuracy: 'reference' });
        assert.equal(reference.info?.accuracy, 'reference');
        for (const kernels of ['cpu-base', 'cpu-relaxed'] as const) {
            const alone = await logits(name, { kernels, threads: 1 }).catch((error: unknown) => error);
            if (alone instanceof Error) {
                t.diagnostic(`${kernels}: not here (${alone.message})`);
                continue;
            }
            const { values, info } = alone as Awaited<ReturnType<typeof logits>>;
            if (info?.kernels === undefined) {
                t.diagnostic(`${kernels}: relaxed SIMD is not known to ${process.version}`);
                continue;
            }
            const error = relativeError(values, reference.values);
            t.diagnostic(`${kernels}, ${info.digits}: ${error.toExponential(1)} from the reference`);
            assert.ok(error < 1e-5, `${error}`);
            for (const threads of [2, 4]) {
                const together = await logits(name, { kernels, threads });
                assert.equal(together.info?.threads, threads);
                assert.deepEqual(together.values, values, `${kernels}, ${threads} threads`);
            }
        }
    });
}

test('fast is near, and says so', async (t) => {
    const reference = await logits('tiny-e2b-q4km', { accuracy: 'reference' });
    const fast = await logits('tiny-e2b-q4km', { accuracy: 'fast', threads: 1 });
    assert.equal(fast.info?.accuracy, 'fast');
    const error = relativeError(fast.values, reference.values);
    t.diagnostic(`${fast.info?.digits}: ${error.toExponential(1)}`);
    assert.ok(error < 0.3);
});

test('a thread that ends stops the run with a sentence, and the next one goes on', async () => {
    let breaks = false;
    const engine = await loadEngine({
        cpu: async (options) => {
            const kernels = await openNodeKernels({ ...options, threads: 2 }, {});
            const run = kernels.run.bind(kernels);
            kernels.run = (...args: Parameters<CpuKernels['run']>) => (breaks ? false : run(...args));
            return kernels;
        },
    });
    try {
        const model = await Model.open(engine, [await FileSource.open(fixture('tiny-e2b-q4km'))]);
        await model.load('cpu');
        const session = await model.createSession({ context: 64 });
        breaks = true;
        await assert.rejects(session.embed([2, 3, 4]), /a thread of the CPU backend ended/);
        breaks = false;
        assert.equal((await session.embed([2, 3, 4])).length > 0, true);
        await model.close();
    } finally {
        engine.close();
    }
});

test('a thread that is killed while it helps: the same bits or a sentence, and the next run goes on with one thread', async (t) => {
    const workers: Worker[] = [];
    const read = async (name: string) => new Uint8Array(await fs.readFile(new URL(`../${name}.wasm`, import.meta.url)));
    const startThread = async (workerData: ThreadStart): Promise<HelpingThread> => {
        const worker = new Worker(new URL('./node-thread.js', import.meta.url), { workerData });
        await once(worker, 'message');
        workers.push(worker);
        return { end: () => void worker.terminate(), onLost: (listener) => void worker.on('exit', (code) => listener(`exit ${code}`)) };
    };
    let info: CpuKernels['info'] | undefined;
    const engine = await loadEngine({
        cpu: async () => {
            const kernels = await openKernels({ read, startThread, processors: () => 2 }, { threads: 3 });
            info = kernels.info;
            return kernels;
        },
    });
    try {
        const model = await Model.open(engine, [await FileSource.open(fixture('tiny-e2b-q4km'))]);
        await model.load('cpu');
        const session = await model.createSession({ context: tokens.length });
        const expected = await session.embed([...tokens]);
        assert.equal(info?.threads, 3);
        // Both end at a moment that nobody chooses, most likely in the middle of what follows.
        const ends = workers.map(async (worker) => await worker.terminate());
        const during = await session.embed([...tokens]).catch((error: unknown) => error);
        if (during instanceof Error) {
            t.diagnostic(during.message);
            assert.match(during.message, /a thread of the CPU backend ended/);
        } else {
            assert.deepEqual(during, expected);
        }
        await Promise.all(ends);
        assert.deepEqual(await session.embed([...tokens]), expected);
        assert.equal(info.threads, 1);
        await model.close();
    } finally {
        engine.close();
    }
});

test('what is fastest is measured once and kept', async (t) => {
    const read = async (name: string) => new Uint8Array(await fs.readFile(new URL(`../${name}.wasm`, import.meta.url)));
    const kept: string[] = [];
    let text: string | undefined;
    const surroundings = {
        read,
        startThread: undefined,
        processors: () => 1,
        choice: (digest: string) => ({
            surroundings: digest,
            read: async () => text,
            write: async (written: string) => void kept.push((text = written)),
        }),
    };
    const first = await openKernels(surroundings);
    if (first.info.kernels === 'cpu-base') return t.diagnostic('there is nothing to choose');
    assert.equal(kept.length, 1);
    assert.match(kept[0] ?? '', new RegExp(`^[0-9a-f]{16}\\n${first.info.digits}$`));
    for (const digits of ['two_i16', 'three_i8']) {
        text = (text ?? '').replace(/\n.*/, `\n${digits}`);
        assert.equal((await openKernels(surroundings)).info.digits, digits);
    }
    text = 'of another module\ntwo_i16';
    await openKernels(surroundings);
    assert.equal(kept.length, 2);
});

test('without kernels the reference computes', async () => {
    const lines: string[] = [];
    const engine = await loadEngine({
        log: (_, text) => lines.push(text),
        cpu: async () => await Promise.reject(new Error('they are gone')),
    });
    try {
        const model = await Model.open(engine, [await FileSource.open(fixture('tiny-e2b-q4km'))]);
        assert.equal((await model.load('cpu')).cpu?.accuracy, 'reference');
        assert.match(lines.join('\n'), /they are gone/);
        await model.close();
    } finally {
        engine.close();
    }
});
