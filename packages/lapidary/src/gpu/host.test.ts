// Against the real thing: Dawn, on a GPU or on SwiftShader.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { GpuDriver, binding, gpuForTests, watched } from '../testing/gpu-driver.js';

const found = await gpuForTests();
const needsGpu = typeof found === 'string' ? { skip: found } : {};
const gpu = found as GPU; // tests that use it are skipped otherwise

async function opened(t: TestContext, options: object = {}, which: GPU = gpu): Promise<GpuDriver> {
    const driver = await GpuDriver.start(which);
    t.after(() => driver.engine.close());
    assert.equal(await driver.open(options), undefined);
    return driver;
}

// y[i] = x[i] · kFactor + p[0]
const scale = `
override kFactor: u32 = 2;
@group(0) @binding(0) var<storage, read> p: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = x[id.x] * kFactor + p[0]; }`;
const scaleBindings = [binding.read, binding.read, binding.write];

const increment = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn main() { x[0] += 1; }`;

/** A program that adds one to the first word of the buffer. */
async function incrementing(driver: GpuDriver, buffer: number): Promise<number> {
    const pipeline = await driver.pipeline(increment, [binding.write]);
    return driver.program([[pipeline, driver.bindGroup(pipeline, [[buffer, 0, 16]]), 1, 1, 1]]);
}

test('without WebGPU nothing is available and everything says so', async () => {
    const driver = await GpuDriver.start(undefined);
    assert.equal(driver.gpu.available(), 0);
    assert.match((await driver.open()) ?? '', /no WebGPU/);
    assert.match((await driver.sync()) ?? '', /not open/);
    assert.equal(driver.gpu.info(0, 0), 0);
    assert.equal(driver.buffer(16), 0);
    assert.equal(driver.bindGroup(1, []), 0);
    assert.equal(driver.program([]), 0);
    const { id, ended } = driver.compile(increment, [binding.write]);
    assert.equal(id, 0);
    assert.match((await ended) ?? '', /not open/);
    assert.match((await driver.operation((op) => driver.gpu.read(op, 1, 0, 0, 4))) ?? '', /not open/);
    assert.match((await driver.operation((op) => driver.gpu.time(op, 1, 1, 0))) ?? '', /not open/);
    driver.write(1, [1]);
    driver.gpu.run(1);
    driver.gpu.release(1);
});

test('a GPU is looked for when the engine opens it, and known to be missing afterwards', async () => {
    let asked = 0;
    const driver = await GpuDriver.start(async () => void asked++);
    assert.equal(driver.gpu.available(), 1);
    assert.equal(asked, 0);
    assert.match((await driver.open()) ?? '', /no WebGPU/);
    assert.equal(asked, 1);
    assert.equal(driver.gpu.available(), 0);
});

test('a computer without an adapter is told in a sentence', async () => {
    const driver = await GpuDriver.start({ requestAdapter: async () => null } as unknown as GPU);
    assert.match((await driver.open()) ?? '', /no GPU was found/);
});

test('an open GPU describes itself', needsGpu, async (t) => {
    const driver = await opened(t);
    const info = driver.info() as {
        adapter: Record<string, unknown>;
        features: string[];
        limits: Record<string, number>;
        subgroup_min: number;
        subgroup_max: number;
    };
    assert.equal(typeof info.adapter['vendor'], 'string');
    assert.ok((info.limits['maxStorageBufferBindingSize'] ?? 0) >= 128 * 1024 * 1024);
    assert.ok((info.limits['minStorageBufferOffsetAlignment'] ?? 0) > 0);
    assert.equal(Object.keys(info.limits).length, 7);
    assert.ok(info.subgroup_max >= info.subgroup_min);
    assert.equal(await driver.open(), undefined, 'opening what is open changes nothing');
    const pointer = driver.fake.alloc(8);
    assert.ok(driver.gpu.info(pointer, 8) > 8);
    assert.deepEqual([...driver.fake.bytes(pointer, 8)], [0, 0, 0, 0, 0, 0, 0, 0], 'what does not fit is not written');
});

test('limits are those of the adapter, and features can be left out', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, { features: ['subgroups', 'timestamp-query'] }, watching.gpu);
    const { features } = driver.info() as { features: string[] };
    assert.ok(!features.includes('subgroups') && !features.includes('timestamp-query'));
    const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
    assert.equal(watching.device().limits.maxBufferSize, adapter?.limits.maxBufferSize);
    const empty = driver.program([]);
    const error = await driver.operation((op) => driver.gpu.time(op, empty, 1, driver.fake.alloc(8)));
    assert.match(error ?? '', /timestamp-query/);
});

test('an experiment that cannot be had does not keep the GPU from opening', needsGpu, async (t) => {
    const asked: string[][] = [];
    const picky = {
        requestAdapter: async () => {
            const adapter = await gpu.requestAdapter();
            if (!adapter) return null;
            const requestDevice = adapter.requestDevice.bind(adapter);
            const experiment = 'chromium-experimental-subgroup-matrix';
            Object.defineProperty(adapter, 'features', { value: new Set([experiment]) });
            adapter.requestDevice = async (descriptor) => {
                const names = [...(descriptor?.requiredFeatures ?? [])] as string[];
                asked.push(names);
                if (names.includes(experiment)) throw new TypeError('a flag is missing');
                return await requestDevice(descriptor);
            };
            return adapter;
        },
    };
    await opened(t, {}, picky as unknown as GPU);
    assert.deepEqual(asked, [['chromium-experimental-subgroup-matrix'], []]);
});

test('bytes that are written can be read again', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(64);
    driver.write(buffer, [1, 2, 3, 4], 16);
    driver.fake.memory.grow(1);
    assert.deepEqual(await driver.read(buffer, 6, 12), [0, 1, 2, 3, 4, 0]);
    const pointer = driver.fake.alloc(8);
    await driver.done((op) => driver.gpu.read(op, buffer, 16, pointer, 5));
    assert.deepEqual([...driver.fake.bytes(pointer, 8)], [1, 0, 0, 0, 2, 0, 0, 0], 'not a byte more than asked for');
    assert.equal(await driver.sync(), undefined);
});

test('many reads at a time each get their own bytes', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(65536);
    driver.write(buffer, Array.from({ length: 16384 }, (_, i) => i));
    const reads = Array.from({ length: 40 }, (_, i) => driver.read(buffer, 1 + i * 100, i * 4));
    (await Promise.all(reads)).forEach((words, i) => {
        assert.deepEqual([words[0], words.at(-1)], [i, i + i * 100]);
    });
});

test('a kernel reads buffers and override constants, and dispatches follow one another', needsGpu, async (t) => {
    const driver = await opened(t);
    const [a, b, c] = [driver.buffer(32), driver.buffer(32), driver.buffer(32)];
    const p = driver.buffer(16);
    driver.write(p, [7, 0, 0, 0]);
    driver.write(a, [1, 2, 3, 4, 5, 6, 7, 8]);
    const double = await driver.pipeline(scale, scaleBindings);
    const tenfold = await driver.pipeline(scale, scaleBindings, { kFactor: 10 });
    const first = driver.bindGroup(double, [
        [p, 0, 16],
        [a, 0, 32],
        [b, 0, 32],
    ]);
    const second = driver.bindGroup(tenfold, [
        [p, 0, 16],
        [b, 0, 32],
        [c, 0, 32],
    ]);
    const program = driver.program([
        [double, first, 2, 1, 1],
        [tenfold, second, 2, 1, 1],
    ]);
    driver.gpu.run(program);
    assert.deepEqual(await driver.read(c, 8), [97, 117, 137, 157, 177, 197, 217, 237]);
    assert.equal(await driver.sync(), undefined);
});

test('grids of two and three dimensions are dispatched as such', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16);
    const count = `
        @group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
        @compute @workgroup_size(1) fn main() { atomicAdd(&n[0], 1); }`;
    const pipeline = await driver.pipeline(count, [binding.write]);
    const group = driver.bindGroup(pipeline, [[buffer, 0, 16]]);
    const program = driver.program([
        [pipeline, group, 5, 1, 1],
        [pipeline, group, 2, 3, 1],
        [pipeline, group, 2, 3, 4],
        [pipeline, group, 9, 0, 1],
    ]);
    driver.gpu.run(program);
    assert.deepEqual(await driver.read(buffer, 1), [35]);
});

test('a program runs as often as it is told to', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16);
    const program = await incrementing(driver, buffer);
    for (let i = 0; i < 100; i++) driver.gpu.run(program);
    assert.deepEqual(await driver.read(buffer, 1), [100]);
});

test('a read sees the moment it was asked for, not what is submitted afterwards', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16);
    const program = await incrementing(driver, buffer);
    const reads: Promise<number[]>[] = [];
    for (let i = 0; i < 4; i++) {
        driver.gpu.run(program);
        reads.push(driver.read(buffer, 1));
    }
    assert.deepEqual((await Promise.all(reads)).flat(), [1, 2, 3, 4]);
});

test('a run is one submit, and sets only what changes', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, {}, watching.gpu);
    const buffer = driver.buffer(16);
    const pipeline = await driver.pipeline(increment, [binding.write]);
    const groups = [0, 1].map(() => driver.bindGroup(pipeline, [[buffer, 0, 16]]));
    const order = [0, 0, 1, 1, 0];
    const program = driver.program(order.map((i) => [pipeline, groups[i] ?? 0, 1, 1, 1]));

    const calls: string[] = [];
    const device = watching.device();
    const counted = <Target extends object>(target: Target, names: (keyof Target & string)[]): Target => {
        for (const name of names) {
            const real = target[name] as (...args: unknown[]) => unknown;
            const wrapper = (...args: unknown[]) => {
                calls.push(name);
                const result = real.apply(target, args);
                return name === 'beginComputePass'
                    ? counted(result as GPUComputePassEncoder, ['setPipeline', 'setBindGroup', 'dispatchWorkgroups'])
                    : result;
            };
            Object.defineProperty(target, name, { value: wrapper });
        }
        return target;
    };
    const createCommandEncoder = device.createCommandEncoder.bind(device);
    device.createCommandEncoder = () => counted(createCommandEncoder(), ['beginComputePass']);
    counted(device.queue, ['submit']);
    driver.gpu.run(program);
    const times = (name: string) => calls.filter((call) => call === name).length;
    assert.deepEqual(
        ['beginComputePass', 'setPipeline', 'setBindGroup', 'dispatchWorkgroups', 'submit'].map(times),
        [1, 1, 3, 5, 1],
    );
});

test('time tells the nanoseconds of all repeats', needsGpu, async (t) => {
    const driver = await opened(t);
    if (!(driver.info() as { features: string[] }).features.includes('timestamp-query')) {
        return t.skip('this GPU has no timestamp-query');
    }
    const buffer = driver.buffer(16);
    const program = await incrementing(driver, buffer);
    const nanoseconds = await driver.time(program, 50);
    assert.ok(nanoseconds >= 0 && nanoseconds < 60e9, `${nanoseconds} ns`);
    assert.deepEqual(await driver.read(buffer, 1), [50]);
});

test('a layout is labelled with the names of the bindings', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, {}, watching.gpu);
    const labels: unknown[] = [];
    const device = watching.device();
    const createBindGroupLayout = device.createBindGroupLayout.bind(device);
    device.createBindGroupLayout = (descriptor) => (labels.push(descriptor.label), createBindGroupLayout(descriptor));
    await driver.pipeline(scale, scaleBindings);
    await driver.pipeline(increment, [binding.write]);
    await driver.pipeline(increment, [binding.write], undefined);
    assert.deepEqual(labels, ['p x y', 'x']);
});

test('equal kernels are compiled once', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, {}, watching.gpu);
    let modules = 0;
    const device = watching.device();
    const createShaderModule = device.createShaderModule.bind(device);
    device.createShaderModule = (descriptor) => (modules++, createShaderModule(descriptor));
    const first = await driver.pipeline(increment, [binding.write]);
    const again = await driver.pipeline(increment, [binding.write]);
    assert.notEqual(first, again);
    assert.equal(modules, 1);
    driver.gpu.release(first);
    const group = driver.bindGroup(again, [[driver.buffer(16), 0, 16]]);
    assert.notEqual(driver.program([[again, group, 1, 1, 1]]), 0, 'releasing one does not take the other away');
});
