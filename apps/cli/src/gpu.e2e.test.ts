// The GPU backend against the same expected values as the CPU's, on Dawn with Chromium's software GPU.
import assert from 'node:assert/strict';
import { existsSync, promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
/** Compiling kernels for a processor takes it a while. */
const slowly = { env: { LAPIDARY_GPU: 'swiftshader' }, timeoutMs: 1_800_000 };
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };

// A software GPU is slow: few tokens, but more than the smaller block, and keys and values as exact as they get. Other
// models and other formats of those are in kv.e2e.test.ts and ledger.e2e.test.ts.
test('on the GPU the logits of a mixture of experts are those of the reference', options, async (t) => {
    const [fixture, count] = [path.join(root, 'tests', 'data', 'fixtures', 'tiny-moe-q4km'), 17];
    const all = await readTensor(`${fixture}.safetensors`, 'tokens');
    const expected = await readTensor(`${fixture}.safetensors`, 'logits');
    const tokens = [...all.subarray(0, count)].join(',');
    const out = path.join(await temporaryFolder(t), 'logits');
    const args = ['logits', `${fixture}.gguf`, '--backend', 'gpu', '--kv', 'f32', '--tokens', tokens, '--out', out];
    const { status, stderr } = await lapidary(args, slowly);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    const error = relativeError(floats(await fs.readFile(out)), expected.subarray(0, (expected.length / all.length) * count));
    assert.ok(error <= 1e-4, `relative error ${error}`);
});

// Token by token from the first one on: for a prompt of several the software GPU would compile two minutes more, and
// that they are read as on the CPU is seen with small models (above, and in kv.e2e.test.ts).
test('the built-in model says the same on the GPU as on the CPU', options, async () => {
    const args = ['generate', 'builtin', '--prompt', '', '-n', '8', '--temp', '0'];
    const gpu = await lapidary([...args, '--backend', 'gpu'], slowly);
    assert.equal(gpu.stderr, '');
    assert.equal(gpu.stdout, (await lapidary(args)).stdout);
    assert.ok(gpu.stdout.trim().length > 10, gpu.stdout);
});
