// What goes wrong on a GPU, and who hears about it.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { GpuDriver, binding, gpuForTests, usage, watched } from '../testing/gpu-driver.js';

const found = await gpuForTests();
const needsGpu = typeof found === 'string' ? { skip: found } : {};
const gpu = found as GPU; // tests that use it are skipped otherwise

async function opened(t: TestContext, which: GPU = gpu): Promise<GpuDriver> {
    const driver = await GpuDriver.start(which);
    t.after(() => driver.engine.close());
    assert.equal(await driver.open(), undefined);
    return driver;
}

const store = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn main() { x[0] = 42; }`;

const forEver = `
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn main() { for (var i = 0u; i < 3000000u; i++) { x[i % 8] += i; } }`;

test('a mistake in a kernel names the kernel and the line, and is nobody else’s error', needsGpu, async (t) => {
    const driver = await opened(t);
    const wrong = '@compute @workgroup_size(1)\nfn main() {\n    let x: u32 = 1.5;\n}\n';
    for (const label of ['first', 'second']) {
        const { id, ended } = driver.compile(wrong, [], undefined, label);
        assert.match((await ended) ?? '', new RegExp(`^kernel '${label}': line 3: .*u32`));
        assert.equal(driver.bindGroup(id, []), 0, 'what was not compiled is not there');
        assert.match((await driver.sync()) ?? '', /no pipeline/);
    }
    assert.equal(await driver.sync(), undefined);
});

test('mistakes that no line is to blame for still name the kernel', needsGpu, async (t) => {
    const driver = await opened(t);
    const cases: [wgsl: string, bindings: number[], constants: object | undefined, sentence: RegExp][] = [
        ['@compute @workgroup_size(1) fn other() {}', [], undefined, /main/],
        ['override k: u32; @compute @workgroup_size(k) fn main() {}', [], undefined, /k/],
        ['@compute @workgroup_size(1) fn main() {}', [], { unknown: 1 }, /unknown/],
        ['@compute @workgroup_size(1) fn main() {}', [], { k: 'text' }, /k that is not a number/],
        ['@compute @workgroup_size(1) fn main() {}', [], [1], /not a JSON object/],
        [store, [], undefined, /binding/],
        [store, [0], undefined, /unknown type 0/],
        [store, [9], undefined, /unknown type 9/],
        [store, new Array<number>(1000).fill(binding.read), undefined, /1000 storage buffers/],
    ];
    for (const [wgsl, bindings, constants, sentence] of cases) {
        const error = (await driver.compile(wgsl, bindings, constants, 'odd').ended) ?? '';
        assert.match(error, /^kernel 'odd'/);
        assert.match(error, sentence);
    }
    assert.equal(await driver.sync(), undefined);
});

test('a binding that does not fit is refused, and the next sync says why, once', needsGpu, async (t) => {
    const driver = await opened(t);
    const pipeline = await driver.pipeline(store, [binding.write]);
    const buffer = driver.buffer(1024, usage.storage, 'weights');
    const cases: [entries: [number, number, number][], sentence: RegExp][] = [
        [[[buffer, 0, 1028]], /^kernel 'kernel' binding 0, x \('weights'\), reaches to byte 1028, but the buffer has 1024/],
        [[[buffer, 768, 512]], /reaches to byte 1280/],
        [[[buffer, 3, 16]], /multiple of/],
        [[[buffer, -256, 16]], /multiple of/],
        [[[buffer, 0, 0]], /cannot have 0 bytes/],
        [[[buffer, 0, NaN]], /cannot have NaN bytes/],
        [[[9999, 0, 16]], /no buffer 9999/],
        [[[pipeline, 0, 16]], /no buffer/],
        [[], /has 1 bindings, but 0 buffers/],
    ];
    for (const [entries, sentence] of cases) {
        assert.equal(driver.bindGroup(pipeline, entries), 0);
        assert.match((await driver.sync()) ?? '', sentence);
        assert.equal(await driver.sync(), undefined);
    }
});

test('a program that could not run is refused when it is made', needsGpu, async (t) => {
    const driver = await opened(t);
    const pipeline = await driver.pipeline(store, [binding.write]);
    const empty = await driver.pipeline('@compute @workgroup_size(1) fn main() {}', []);
    const group = driver.bindGroup(pipeline, [[driver.buffer(16), 0, 16]]);
    const late = driver.compile(store + '\n', [binding.write]);
    const cases: [[number, number, number, number, number], RegExp][] = [
        [[999, group, 1, 1, 1], /no pipeline 999/],
        [[pipeline, 999, 1, 1, 1], /no bind group 999/],
        [[pipeline, pipeline, 1, 1, 1], /no bind group/],
        [[empty, group, 1, 1, 1], /other bindings/],
        [[pipeline, group, 70000000, 1, 1], /70000000 × 1 × 1 workgroups/],
        [[late.id, group, 1, 1, 1], /not compiled yet/],
    ];
    for (const [command, sentence] of cases) assert.equal(driver.program([command]), 0, String(sentence));
    assert.match((await driver.sync()) ?? '', /no pipeline 999 \(and 5 more after it\)/);
    for (const [command, sentence] of cases.slice(0, 5)) {
        driver.program([command]);
        assert.match((await driver.sync()) ?? '', sentence);
    }
    assert.equal(await late.ended, undefined);
    assert.notEqual(driver.program([[late.id, group, 1, 1, 1]]), 0);
});

test('what has nobody waiting for it is told by the next sync', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16, usage.storage, 'small');
    const cases: [() => void, RegExp][] = [
        [() => driver.write(buffer, [1, 2], 12), /'small' has 16 bytes, but bytes up to 20/],
        [() => driver.write(buffer, [1], 2), /not whole words/],
        [() => driver.gpu.write(buffer, 0, 0, 3), /not whole words/],
        [() => driver.write(4711, [1]), /no buffer 4711/],
        [() => driver.gpu.run(4711), /no program 4711/],
    ];
    for (const [mistake, sentence] of cases) {
        mistake();
        assert.match((await driver.sync()) ?? '', sentence);
    }
    const pointer = driver.fake.alloc(32);
    const read = await driver.operation((op) => driver.gpu.read(op, buffer, 0, pointer, 20));
    assert.match(read ?? '', /up to 20/);
    assert.equal(await driver.sync(), undefined, 'who waited has heard it already');
});

test('a buffer that cannot be is refused without spoiling what follows', needsGpu, async (t) => {
    const driver = await opened(t);
    assert.equal(driver.buffer(1e18), 0);
    assert.equal(driver.buffer(0), 0);
    assert.equal(driver.buffer(-4), 0);
    assert.equal(driver.buffer(NaN), 0);
    for (const unknown of [0, 2]) assert.equal(driver.buffer(16, unknown), 0);
    assert.equal(await driver.sync(), undefined);
});

test('memory that the GPU does not have is told with the name of what wanted it', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, watching.gpu);
    // Really using up the memory would take everybody's.
    const device = watching.device();
    const popErrorScope = device.popErrorScope.bind(device);
    device.popErrorScope = async () => (void (await popErrorScope()), { message: 'out of memory' } as GPUError);
    driver.buffer(4096, usage.storage, 'blk.7.ffn_down');
    device.popErrorScope = popErrorScope;
    assert.match((await driver.sync()) ?? '', /no 4096 bytes left for 'blk.7.ffn_down'/);
});

test('WebGPU’s own errors arrive with the label of the culprit', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16, usage.storage, 'released early');
    const pipeline = await driver.pipeline(store, [binding.write]);
    const program = driver.program([[pipeline, driver.bindGroup(pipeline, [[buffer, 0, 16]]), 1, 1, 1]]);
    driver.gpu.run(program);
    assert.equal(await driver.sync(), undefined);
    driver.gpu.release(buffer);
    driver.gpu.run(program);
    assert.match((await driver.sync()) ?? '', /^the GPU refused something: .*released early.*destroyed/);
    assert.equal(await driver.sync(), undefined);
});

test('releasing anything twice, or nothing, is harmless', needsGpu, async (t) => {
    const driver = await opened(t);
    const buffer = driver.buffer(16);
    driver.gpu.release(buffer);
    driver.gpu.release(buffer);
    driver.gpu.release(0);
    driver.gpu.release(12345);
    assert.equal(await driver.sync(), undefined);
    assert.notEqual(driver.buffer(16), buffer, 'numbers are not used again');
});

test('an engine that ends while its GPU is being opened leaves none behind', needsGpu, async () => {
    const watching = watched(gpu);
    const arrived = new Promise<GPUDevice>((resolve) => {
        const requestAdapter = watching.gpu.requestAdapter.bind(watching.gpu);
        watching.gpu.requestAdapter = async (options) => {
            const adapter = await requestAdapter(options);
            if (!adapter) return null;
            const requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (descriptor) => {
                const device = await requestDevice(descriptor);
                resolve(device);
                return device;
            };
            return adapter;
        };
    });
    const driver = await GpuDriver.start(watching.gpu);
    void driver.open();
    driver.engine.close();
    const { reason } = await (await arrived).lost;
    assert.equal(reason, 'destroyed');
});

test('opening twice at once opens once', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await GpuDriver.start(watching.gpu);
    t.after(() => driver.engine.close());
    const ends = [driver.open(), driver.open()];
    assert.deepEqual(await Promise.all(ends), [undefined, undefined]);
    const device = watching.device();
    assert.equal(await driver.open(), undefined);
    assert.equal(watching.device(), device);
});

test('a GPU that goes away is told to everybody who waits or asks, and can be opened anew', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, watching.gpu);
    const buffer = driver.buffer(32);
    const pipeline = await driver.pipeline(forEver, [binding.write]);
    const program = driver.program([[pipeline, driver.bindGroup(pipeline, [[buffer, 0, 32]]), 1, 1, 1]]);
    driver.gpu.run(program);
    const pointer = driver.fake.alloc(4);
    const read = driver.operation((op) => driver.gpu.read(op, buffer, 0, pointer, 4));
    const sync = driver.sync();
    watching.device().destroy();
    const lost = /^the GPU was lost: ./;
    assert.match((await read) ?? '', lost);
    assert.match((await sync) ?? '', lost);
    // From now on nothing works, and nothing crashes.
    assert.match((await driver.sync()) ?? '', lost);
    assert.match((await driver.operation((op) => driver.gpu.read(op, buffer, 0, pointer, 4))) ?? '', lost);
    assert.match((await driver.compile(store, [binding.write]).ended) ?? '', lost);
    assert.equal(driver.buffer(16), 0);
    driver.gpu.run(program);
    driver.write(buffer, [1]);
    assert.match((await driver.sync()) ?? '', lost);
    assert.equal(await driver.open(), undefined);
    const fresh = driver.buffer(16);
    assert.notEqual(fresh, buffer);
    driver.write(buffer, [1]);
    assert.match((await driver.sync()) ?? '', /no buffer/, 'it knows nothing of before');
    driver.write(fresh, [3]);
    assert.deepEqual(await driver.read(fresh, 1), [3]);
});

test('what fails because the GPU went away fails with a code of its own', needsGpu, async (t) => {
    const watching = watched(gpu);
    const driver = await opened(t, watching.gpu);
    const { fake, engine } = driver;
    // As the engine does it: whatever the host says about an operation becomes an error of the call.
    fake.onCall = ({ number, method }) => {
        if (method === 'refuse') return fake.fail(number, 'invalid_argument', 'no');
        void driver.sync().then((sentence) => (sentence === undefined ? fake.finish(number, {}) : fake.fail(number, 'io', sentence)));
    };
    await engine.call('work', {});
    watching.device().destroy();
    await assert.rejects(engine.call('work', {}), { code: 'device_lost', message: /^the GPU was lost: ./ });
    await assert.rejects(engine.call('refuse', {}), { code: 'invalid_argument' });
});

test('an engine that ends takes its GPU along', needsGpu, async () => {
    const watching = watched(gpu);
    const driver = await GpuDriver.start(watching.gpu);
    assert.equal(await driver.open(), undefined);
    driver.engine.close();
    const { reason } = await watching.device().lost;
    assert.equal(reason, 'destroyed');
    await assert.rejects(driver.engine.call('anything', {}), /the engine was closed/);
});
