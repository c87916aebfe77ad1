#!/usr/bin/env node
// How fast the CPU backend is beside llama.cpp, in turns in one run, so that what else the machine does meets both alike.
//   node tools/bench-cpu.mjs [--model FILE] [--against DIR] [--rounds N] [--threads N] [--prompt N] [--decode N]
// DIR: a folder in which `npm install node-llama-cpp` was run, which carries llama.cpp ready-made; without it only our own kinds are
// compared with each other. A round measures everything once, every other round in the opposite order; rounds in which a fixed
// computation was more than a tenth slower than in the best one are dropped. Counts: the best, the median, and of ratios the
// median over rounds.
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const { values } = parseArgs({
    options: {
        model: { type: 'string', default: path.join(root, 'models/storyteller-q4_k_m.gguf') },
        against: { type: 'string' },
        rounds: { type: 'string', default: '8' },
        threads: { type: 'string', default: '1' },
        prompt: { type: 'string', default: '256' },
        decode: { type: 'string', default: '64' },
        reference: { type: 'boolean', default: false },
    },
});
const [rounds, threads, prompt, decode] = [values.rounds, values.threads, values.prompt, values.decode].map(Number);
const { Lapidary } = await import(pathToFileURL(path.join(root, 'packages/lapidary/dist/index.js')).href);

/** Each gives { prompt, decode }: tokens a second. */
const contestants = new Map();

async function add(name, options) {
    const engine = await Lapidary.load(values.model, { backend: 'cpu', threads, workshop: true, ...options });
    const { kernels, digits } = engine.info.cpu ?? {};
    const label = [name, kernels, digits].filter(Boolean).join(', ');
    contestants.set(label, async () => {
        const { prefill_tps, decode_tps } = await engine.bench({ prompt, decode, runs: 1 });
        return { prompt: prefill_tps, decode: decode_tps };
    });
}

await add('exact', {});
await add('fast', { accuracy: 'fast' });
process.env.LAPIDARY_KERNELS = 'cpu-base';
await add('exact', {});
delete process.env.LAPIDARY_KERNELS;
if (values.reference) await add('reference', { accuracy: 'reference' });

if (values.against !== undefined) {
    const entry = createRequire(path.join(path.resolve(values.against), 'index.js')).resolve('node-llama-cpp');
    const { getLlama } = await import(pathToFileURL(entry).href);
    const llama = await getLlama({ gpu: false, build: 'never', maxThreads: threads });
    const model = await llama.loadModel({ modelPath: values.model });
    const context = await model.createContext({ contextSize: prompt + 2 * decode + 8, batchSize: prompt, threads: { ideal: threads, min: threads } });
    const sequence = context.getSequence();
    const text = Array.from({ length: prompt }, (_, i) => (i === 0 ? model.tokens.bos : 300 + ((i * 37) % 4000)));
    contestants.set('llama.cpp', async () => {
        await sequence.clearHistory();
        let start = performance.now();
        await sequence.evaluateWithoutGeneratingNewTokens(text);
        const read = (performance.now() - start) / 1000;
        let count = 0;
        start = performance.now();
        for await (const _ of sequence.evaluate([305], { temperature: 0, yieldEogToken: true })) if (++count === decode) break;
        return { prompt: prompt / read, decode: decode / ((performance.now() - start) / 1000) };
    });
}

/** Iterations a millisecond of something that never changes. */
function thermometer() {
    let x = 1;
    const start = performance.now();
    for (let i = 0; i < 3e6; i++) x = (x * 1664525 + 1013904223) | 0;
    return 3e6 / (performance.now() - start) + (x & 0);
}

const results = [];
for (let round = 0; round < rounds; round++) {
    const order = [...contestants];
    if (round % 2 === 1) order.reverse();
    const one = { warmth: thermometer() };
    for (const [name, run] of order) {
        one[name] = await run();
        one.warmth = Math.min(one.warmth, thermometer());
    }
    if (round > 0) results.push(one); // the first one compiles
    process.stderr.write(`round ${round + 1} of ${rounds}\r`);
}
const best = Math.max(...results.map(({ warmth }) => warmth));
const counted = results.filter(({ warmth }) => warmth >= 0.9 * best);
const kept = counted.length >= 3 ? counted : results;
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const peer = contestants.has('llama.cpp') ? 'llama.cpp' : [...contestants.keys()][0];
console.log(`${os.cpus()[0]?.model}, Node ${process.version}, ${threads} thread(s), ${path.basename(values.model)}`);
console.log(`${kept.length} of ${results.length} rounds${counted.length >= 3 ? '' : ' (the machine was busy: none were dropped)'}; ratios to ${peer}`);
for (const what of ['prompt', 'decode']) {
    for (const name of contestants.keys()) {
        const all = kept.map((round) => round[name][what]);
        const ratio = median(kept.map((round) => round[name][what] / round[peer][what]));
        const cells = [Math.max(...all).toFixed(0), median(all).toFixed(0)].map((cell) => cell.padStart(7));
        console.log(`${what.padEnd(7)} ${name.padEnd(32)} best ${cells[0]}  median ${cells[1]} tokens/s  ratio ${ratio.toFixed(2)}`);
    }
}
process.exit(0);
