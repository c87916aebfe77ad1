// A program that uses the GPU and ends in the way it is told to; node.test.ts looks at how that went.
import { GpuDriver, binding, gpuForTests } from './gpu-driver.js';

const way = process.argv[2];
const gpu = await gpuForTests();
if (typeof gpu === 'string') throw new Error(gpu);
const driver = await GpuDriver.start(gpu);
await driver.open();
const busy = `
    @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1)
    fn main() { for (var i = 0u; i < 3000000u; i++) { x[i % 8] += i; } }`;
const pipeline = await driver.pipeline(busy, [binding.write]);
const buffer = driver.buffer(32);
const program = driver.program([[pipeline, driver.bindGroup(pipeline, [[buffer, 0, 32]]), 1, 1, 1]]);
driver.gpu.run(program);
const reading = driver.read(buffer, 1);
process.exitCode = 7;
if (way === 'close when done') {
    await reading;
    driver.engine.close();
} else if (way === 'close while busy') driver.engine.close();
else if (way === 'just end') await reading;
