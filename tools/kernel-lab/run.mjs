// What a decoded token would cost with other kernels: its dispatches are recorded, then repeated with kernels whose text or
// constants are changed, all in one process and in turns, because two runs of the same program differ more than most changes.
// What such a token says may be wrong; how long it takes is not.
//
//     node tools/kernel-lab/run.mjs MODEL VARIANTS.mjs [--kernels]
//
// VARIANTS.mjs exports `variants`, a list of { name, edit }. edit({ label, code, constants, grid, binding, bytes }) gets each
// kernel of the token and returns what changes of code, constants and grid, or nothing. binding(name) is the number of a
// binding, undefined where the kernel has none of that name; bytes[number] is how much is bound there. It may
// also export `rounds` (10), `tokens` a round (8), the `position` in the text (64) and the format `kv`. The first variant
// should change nothing.
// --kernels: also every kernel by itself, in the order of the layers, so that weights come from memory.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const root = path.resolve(here, '../..');
if (process.env.LAPIDARY_WEBGPU) process.env.LAPIDARY_LAB_WEBGPU = process.env.LAPIDARY_WEBGPU;
process.env.LAPIDARY_WEBGPU = path.join(here, 'webgpu.mjs');
const { Model } = await import(`${root}/packages/lapidary/dist/index.js`);
const { loadEngine, openFile } = await import(`${root}/packages/lapidary/dist/node.js`);

const [file, rules, kernels] = process.argv.slice(2);
if (!rules) {
    console.error('usage: node tools/kernel-lab/run.mjs MODEL VARIANTS.mjs [--kernels]');
    process.exit(2);
}
const {
    variants,
    rounds = 10,
    tokens = 8,
    position = 64,
    kv = 'i16',
} = await import(pathToFileURL(path.resolve(rules)).href);

const engine = await loadEngine();
const model = await Model.open(engine, await openFile(file));
await model.load('gpu');
const { lab } = await import('./webgpu.mjs'); // the one that the engine has loaded
const token = await recordToken(await model.createSession({ backend: 'gpu', kv, context: 2 * position + 256 }));
const { device } = lab;
const timed = timer(tokens);
console.log(`${token.length} dispatches of ${new Set(token.map(({ pipeline }) => pipeline)).size} pipelines`);

const tried = [];
for (const variant of variants) {
    const dispatches = await changed(token, variant);
    if (dispatches) tried.push({ name: variant.name, dispatches, times: [] });
}
await timed(token); // clocks go up
for (let round = 0; round < rounds; round++) {
    // The first token of each comes from caches that another variant has filled.
    for (const { dispatches, times } of tried) times.push(...(await timed(dispatches)).slice(tokens > 1 ? 1 : 0));
}
const usual = median(tried[0].times);
for (const { name, times } of tried) {
    const ms = median(times);
    console.log(`${ms.toFixed(4)} ms  ${ms < usual ? '' : '+'}${(ms - usual).toFixed(4)}  ${name}`);
}
if (kernels === '--kernels') {
    for (const [name, dispatches] of byKernel(token)) {
        const us = (1000 * median(await timed(dispatches))) / dispatches.length;
        console.log(`${us.toFixed(2).padStart(8)} us  ${dispatches.length} × ${name}`);
    }
}
process.exit(0);

/** The dispatches of a token: of all passes the most frequent length is that of decoding. */
async function recordToken(session) {
    lab.recording = true;
    await session.bench({ prompt: 8, decode: 24, depth: 0, runs: 1 });
    lab.recording = false;
    const counts = new Map();
    for (const { length } of lab.passes) counts.set(length, (counts.get(length) ?? 0) + 1);
    const [length] = [...counts].sort((a, b) => b[1] - a[1])[0];
    return lab.passes.findLast((pass) => pass.length === length);
}

/** The same with the variant's kernels, or nothing where one of them does not compile. */
async function changed(dispatches, { name, edit }) {
    const made = new Map();
    const out = [];
    for (const dispatch of dispatches) {
        const known = lab.pipelines.get(dispatch.pipeline);
        const { label, layout, code, constants, bindings } = known;
        const change = edit?.({
            label,
            code,
            constants: { ...constants },
            grid: [...dispatch.grid],
            binding: (wanted) => (bindings.includes(wanted) ? bindings.indexOf(wanted) : undefined),
            bytes: lab.groups.get(dispatch.group),
        });
        if (!change) {
            out.push(dispatch);
            continue;
        }
        const next = { ...known, ...change };
        const key = JSON.stringify([next.code, next.constants]);
        try {
            if (!made.has(key)) {
                const module = device.createShaderModule({ label, code: next.code });
                const compute = { module, entryPoint: 'main', constants: next.constants };
                made.set(key, await device.createComputePipelineAsync({ label, layout, compute }));
            }
        } catch (error) {
            console.log(`${name}: ${label}: ${String(error.message ?? error).slice(0, 500)}`);
            return undefined;
        }
        out.push({ pipeline: made.get(key), group: dispatch.group, grid: change.grid ?? dispatch.grid });
    }
    return out;
}

/** Milliseconds of each of `count` passes over dispatches. */
function timer(count) {
    const [resolve, copy, read, write] = [0x200, 0x4, 0x1, 0x8];
    const querySet = device.createQuerySet({ type: 'timestamp', count: 2 * count });
    const resolved = device.createBuffer({ size: 16 * count, usage: resolve | copy });
    const readable = device.createBuffer({ size: 16 * count, usage: read | write });
    return async (dispatches) => {
        for (const step of lab.steps) device.queue.writeBuffer(step, 0, new Uint32Array([position, 1, 0, 0]));
        const encoder = device.createCommandEncoder();
        for (let i = 0; i < count; i++) {
            const timestampWrites = { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
            const pass = encoder.beginComputePass({ timestampWrites });
            for (const { pipeline, group, grid } of dispatches) {
                pass.setPipeline(pipeline);
                pass.setBindGroup(0, group);
                pass.dispatchWorkgroups(...grid);
            }
            pass.end();
        }
        encoder.resolveQuerySet(querySet, 0, 2 * count, resolved, 0);
        encoder.copyBufferToBuffer(resolved, 0, readable, 0, 16 * count);
        device.queue.submit([encoder.finish()]);
        await readable.mapAsync(1);
        const nanoseconds = new BigUint64Array(readable.getMappedRange().slice(0));
        readable.unmap();
        return Array.from({ length: count }, (_, i) => Number(nanoseconds[2 * i + 1] - nanoseconds[2 * i]) / 1e6);
    };
}

function byKernel(dispatches) {
    const out = new Map();
    for (const dispatch of dispatches) {
        const name = `${lab.pipelines.get(dispatch.pipeline).label} [${dispatch.grid}]`;
        out.set(name, [...(out.get(name) ?? []), dispatch]);
    }
    return out;
}

function median(numbers) {
    return [...numbers].sort((a, b) => a - b)[numbers.length >> 1];
}
