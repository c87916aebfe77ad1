// The real Gemma 3 270M through the command line: prose and a step of training on the software GPU, and an answer on the
// CPU. `make test-real` fetches the file and sets LAPIDARY_REAL_MODEL.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { needsSoftwareGpu } from './testing/gpu-model.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';
import { many } from './testing/thorough.js';

const real = process.env['LAPIDARY_REAL_MODEL'];
const model = path.resolve(root, real ?? '');
const missing = { skip: 'make test-real tries the real Gemma 3 270M' };
const gpu = real === undefined ? missing : needsSoftwareGpu();
const cpu = real === undefined ? missing : needsEngine();
const onSoftware = { env: { LAPIDARY_GPU: 'swiftshader' }, timeoutMs: 1_200_000 };
const expected = path.join(root, 'tests', 'data', 'gemma3-270m');

test('64 tokens of prose have the expected likelihoods on the software GPU', gpu, async (t) => {
    const texts = path.join(expected, 'texts.safetensors');
    const count = 64;
    const tokens = [...(await readTensor(texts, 'prose.tokens'))].slice(0, count);
    const nll = await readTensor(texts, 'prose.nll');
    const places = [...(await readTensor(texts, 'prose.positions'))];
    const strided = await readTensor(texts, 'prose.strided');
    const out = path.join(await temporaryFolder(t), 'logits');
    const args = ['logits', model, '--backend', 'gpu', '--kv', 'f32', '--tokens', tokens.join(','), '--out', out];
    const { status, stderr } = await lapidary(args, onSoftware);
    assert.equal(status, 0, stderr);
    const logits = floats(await fs.readFile(out));
    const vocabulary = logits.length / count;
    const wrong: number[] = [];
    for (let at = 0; at + 1 < count; at++) {
        const row = logits.subarray(at * vocabulary, (at + 1) * vocabulary);
        const most = row.reduce((a, b) => Math.max(a, b), -Infinity);
        const sum = row.reduce((a, b) => a + Math.exp(b - most), 0);
        wrong.push(Math.abs(Math.log(sum) + most - row[tokens[at + 1]!]! - nll[at]!));
        const place = places.indexOf(at);
        if (place < 0) continue;
        const some = Float32Array.from({ length: 2000 }, (_, i) => row[i * 131]!);
        assert.ok(relativeError(some, strided.subarray(place * 2000, (place + 1) * 2000)) <= 2e-3, `logits at ${at}`);
    }
    assert.ok(Math.max(...wrong) <= 0.05, `worst ${Math.max(...wrong)}`);
    assert.ok(wrong.reduce((a, b) => a + b) / wrong.length <= 3e-3, 'on average');
});

test('a step of training has the expected loss, and leads where the CPU is led', gpu, async (t) => {
    const folder = await temporaryFolder(t);
    const run = JSON.parse(await fs.readFile(path.join(expected, 'lora.json'), 'utf8')) as {
        losses: number[];
        examples: { user: string; model: string }[];
    };
    const [example] = run.examples;
    assert.ok(example);
    const data = path.join(folder, 'data.jsonl');
    const messages = [{ role: 'user', content: example.user }, { role: 'assistant', content: example.model }];
    await fs.writeFile(data, JSON.stringify({ messages }));
    const steps = many(1, 2); // the second shows where the first has led
    const losses = async (backend: string) => {
        const args = ['train', model, '--backend', backend, '--data', data, '--out', path.join(folder, backend), '--rank', '8', '--batch', '1'];
        const { status, stderr } = await lapidary([...args, '--epochs', String(steps), '--lr', '5e-4', '--schedule', 'constant'], onSoftware);
        assert.equal(status, 0, stderr);
        return [...stderr.matchAll(/step \d+\/\d +loss ([\d.]+)/g)].map(([, loss]) => Number(loss));
    };
    const [there, here] = [await losses('gpu'), await losses('cpu')];
    assert.ok(Math.abs(there[0]! - run.losses[0]!) < 2e-3, `${there[0]} instead of ${run.losses[0]}`);
    assert.equal(there.length, steps);
    there.forEach((loss, i) => assert.ok(Math.abs(loss / here[i]! - 1) < 0.01, `${loss} on the GPU, ${here[i]} on the CPU`));
});

test('it goes on with a sentence', cpu, async () => {
    const args = ['generate', model, '--backend', 'cpu', '--prompt', 'The capital of France is', '-n', '12', '--temp', '0'];
    const { status, stdout, stderr } = await lapidary(args);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /the capital of the country of France/);
});
