import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { LapidaryError } from '../error.js';
import type { ByteSource } from '../sources/source.js';
import { GpuDriver, binding, gpuForTests } from '../testing/gpu-driver.js';

const found = await gpuForTests();
const needsGpu = typeof found === 'string' ? { skip: found } : {};
const gpu = found as GPU; // tests that use it are skipped otherwise

const mebibyte = 1024 * 1024;
const soon = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

async function opened(t: TestContext): Promise<GpuDriver> {
    const driver = await GpuDriver.start(gpu);
    t.after(() => driver.engine.close());
    assert.equal(await driver.open(), undefined);
    return driver;
}

/** A file in which every word is its own number, and which keeps count of what is asked of it. */
class Counting implements ByteSource {
    readonly name = 'counting';
    reads = 0;
    reading = 0;
    mostReading = 0;
    largest = 0;

    constructor(
        readonly size: number,
        /** Called before every read but the first ones; may throw or wait. */
        private readonly before: (read: number, signal?: AbortSignal) => Promise<void> = soon,
    ) {}

    async read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array> {
        this.reads++;
        this.reading += length;
        this.largest = Math.max(this.largest, length);
        this.mostReading = Math.max(this.mostReading, this.reading);
        try {
            await this.before(this.reads, signal);
            return new Uint8Array(Uint32Array.from({ length: length / 4 }, (_, i) => offset / 4 + i).buffer);
        } finally {
            this.reading -= length;
        }
    }

    async close(): Promise<void> {}
}

/** How many words of the buffer, from `first` on, are not the ones of the source from `expected` on. */
async function wrongWords(
    driver: GpuDriver,
    buffer: number,
    first: number,
    words: number,
    expected: number,
): Promise<number> {
    const wgsl = `
        override kFirst: u32; override kWords: u32; override kExpected: u32;
        @group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> wrong: array<atomic<u32>>;
        @compute @workgroup_size(64)
        fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) n: vec3u) {
            for (var i = id.x; i < kWords; i += n.x * 64) {
                if (x[kFirst + i] != kExpected + i) { atomicAdd(&wrong[0], 1); }
            }
        }`;
    const constants = { kFirst: first, kWords: words, kExpected: expected };
    const pipeline = await driver.pipeline(wgsl, [binding.read, binding.write], constants);
    const result = driver.buffer(16);
    const group = driver.bindGroup(pipeline, [
        [buffer, 0, (first + words) * 4],
        [result, 0, 16],
    ]);
    driver.gpu.run(driver.program([[pipeline, group, 256, 1, 1]]));
    const [wrong = -1] = await driver.read(result, 1);
    return wrong;
}

test('a source much larger than what may be in flight arrives whole, in pieces that overlap', needsGpu, async (t) => {
    const driver = await opened(t);
    const bytes = 40 * mebibyte + 20;
    const source = new Counting(bytes + 400);
    const id = driver.engine.addSource(source);
    const buffer = driver.buffer(bytes + 256);
    await driver.done((op) => driver.gpu.load(op, id, 400, bytes, buffer, 256));
    assert.equal(await wrongWords(driver, buffer, 64, bytes / 4, 100), 0);
    assert.deepEqual(await driver.read(buffer, 2, 252), [0, 100], 'nothing before its place is touched');
    assert.ok(source.mostReading <= 16 * mebibyte, `${source.mostReading} bytes at a time`);
    assert.ok(source.mostReading > source.largest, 'reads overlap');
    assert.equal(await driver.sync(), undefined);
});

test('all loads together stay within the same room', needsGpu, async (t) => {
    const driver = await opened(t);
    const source = new Counting(12 * mebibyte);
    const id = driver.engine.addSource(source);
    const buffers = [1, 2, 3, 4].map(() => driver.buffer(12 * mebibyte));
    await Promise.all(
        buffers.map((buffer) => driver.done((op) => driver.gpu.load(op, id, 0, 12 * mebibyte, buffer, 0))),
    );
    for (const buffer of buffers) assert.equal(await wrongWords(driver, buffer, 0, 3 * mebibyte, 0), 0);
    assert.ok(source.mostReading <= 16 * mebibyte, `${source.mostReading} bytes at a time`);
});

test('a load that is aborted ends at once and leaves its room to others', needsGpu, async (t) => {
    const driver = await opened(t);
    const stuck = new Counting(64 * mebibyte, async (read, signal) => {
        if (read < 3) return;
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('let go'))));
    });
    const id = driver.engine.addSource(stuck);
    const buffer = driver.buffer(64 * mebibyte);
    const load = driver.operation((op) => driver.gpu.load(op, id, 0, 64 * mebibyte, buffer, 0));
    while (stuck.reads < 5) await soon();
    driver.engine.removeSource(id);
    assert.match((await load) ?? '', /let go/);
    assert.equal(stuck.reading, 0);
    const reads = stuck.reads;
    const other = driver.engine.addSource(new Counting(32 * mebibyte));
    await driver.done((op) => driver.gpu.load(op, other, 0, 32 * mebibyte, buffer, 0));
    assert.equal(await wrongWords(driver, buffer, 0, 8 * mebibyte, 0), 0);
    assert.equal(stuck.reads, reads, 'nobody reads on');
});

test('a source that does not listen to an abort is not listened to either', needsGpu, async (t) => {
    const driver = await opened(t);
    let release = () => undefined as void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const id = driver.engine.addSource(new Counting(8 * mebibyte, () => held));
    const buffer = driver.buffer(8 * mebibyte);
    const load = driver.operation((op) => driver.gpu.load(op, id, 0, 8 * mebibyte, buffer, 0));
    await soon();
    driver.engine.removeSource(id);
    driver.gpu.release(buffer);
    release();
    assert.match((await load) ?? '', /stopped/);
    assert.equal(await driver.sync(), undefined, 'nothing was written to the buffer that is gone');
});

test('a source that fails ends the load with its sentence, and stops the other reads', needsGpu, async (t) => {
    const driver = await opened(t);
    let stopped = 0;
    const failing = new Counting(64 * mebibyte, async (read, signal) => {
        if (read === 3) throw new LapidaryError('io', 'the cable is out');
        if (read < 3) return await soon();
        await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        stopped++;
    });
    const id = driver.engine.addSource(failing);
    const buffer = driver.buffer(64 * mebibyte);
    const error = await driver.operation((op) => driver.gpu.load(op, id, 0, 64 * mebibyte, buffer, 0));
    assert.equal(error, 'the cable is out');
    assert.ok(failing.reads <= 6, `${failing.reads} reads`);
    assert.equal(failing.reading, 0);
    assert.equal(stopped, failing.reads - 3);
    const other = driver.engine.addSource(new Counting(32 * mebibyte));
    await driver.done((op) => driver.gpu.load(op, other, 0, 32 * mebibyte, buffer, 0));
});

test('a load that cannot be is refused before anything is read', needsGpu, async (t) => {
    const driver = await opened(t);
    const source = new Counting(1024);
    const id = driver.engine.addSource(source);
    const buffer = driver.buffer(1024);
    const cases: [Parameters<GpuDriver['gpu']['load']>, RegExp][] = [
        [[0, id, 0, 1028, buffer, 0], /up to 1028/],
        [[0, id, 0, 512, buffer, 768], /up to 1280/],
        [[0, id, 0, 6, buffer, 0], /whole words/],
        [[0, id, 0, NaN, buffer, 0], /whole words/],
        [[0, id, 0, 4, 77, 0], /no buffer 77/],
        [[0, 99, 0, 4, buffer, 0], /no source 99/],
    ];
    for (const [[, ...rest], sentence] of cases) {
        assert.match((await driver.operation((op) => driver.gpu.load(op, ...rest))) ?? '', sentence);
    }
    assert.equal(source.reads, 0);
    await driver.done((op) => driver.gpu.load(op, id, 0, 0, buffer, 0));
});

test('a source that gives too little is caught', needsGpu, async (t) => {
    const driver = await opened(t);
    const short: ByteSource = { size: 64, name: 'short', read: async () => new Uint8Array(8), close: async () => {} };
    const id = driver.engine.addSource(short);
    const buffer = driver.buffer(64);
    const error = await driver.operation((op) => driver.gpu.load(op, id, 0, 64, buffer, 0));
    assert.match(error ?? '', /'short' gave 8 bytes instead of 64/);
});

test('a load ends when the GPU is closed under it', needsGpu, async (t) => {
    const driver = await opened(t);
    const source = new Counting(256 * mebibyte);
    const id = driver.engine.addSource(source);
    const buffer = driver.buffer(256 * mebibyte);
    const load = driver.operation((op) => driver.gpu.load(op, id, 0, 256 * mebibyte, buffer, 0));
    while (source.reads < 6) await soon();
    driver.gpu.close();
    assert.match((await load) ?? '', /the GPU was closed/);
    assert.equal(source.reading, 0);
});
