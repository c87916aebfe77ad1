// The GPU backend against the same expected values as the CPU's, on Dawn with Chromium's software GPU.
import assert from 'node:assert/strict';
import { existsSync, promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
/** Compiling kernels for a processor takes it a while. */
const slowly = { env: { LAPIDARY_GPU: 'swiftshader' }, timeoutMs: 600_000 };
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };

/** How far the first `count` rows of logits are from the expected ones. */
async function logitsError(fixture: string, count: number, kv: string, folder: string): Promise<number> {
    const expected = path.join(fixtures, `${fixture}.safetensors`);
    const all = await readTensor(expected, 'tokens');
    const wanted = await readTensor(expected, 'logits');
    const tokens = [...all.subarray(0, count)].join(',');
    const out = path.join(folder, 'logits');
    const args = ['logits', path.join(fixtures, `${fixture}.gguf`), '--backend', 'gpu', '--kv', kv, '--tokens', tokens];
    const { status, stderr } = await lapidary([...args, '--out', out], slowly);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    return relativeError(floats(await fs.readFile(out)), wanted.subarray(0, (wanted.length / all.length) * count));
}

// A software GPU is slow: few tokens, but more than one block of them, so that every kernel runs.
const tokens = 17;

for (const [fixture, kv, least, most] of [
    ['tiny-moe-q4km', 'f32', 0, 1e-4],
    // tiny-e2b is in kv.e2e.test.ts. Half floats must show, and not too much.
    ['tiny-31b-q4km', 'f16', 1e-5, 2e-3],
] as const) {
    test(`on the GPU, with ${kv} keys and values, the logits of ${fixture} are those of the reference`, options, async (t) => {
        const error = await logitsError(fixture, tokens, kv, await temporaryFolder(t));
        assert.ok(error >= least && error <= most, `relative error ${error}`);
    });
}

test('the built-in model says the same on the GPU as on the CPU', options, async () => {
    const args = ['generate', 'builtin', '--prompt', 'Once upon a time, a fox', '-n', '3', '--temp', '0'];
    const gpu = await lapidary([...args, '--backend', 'gpu'], slowly);
    assert.equal(gpu.stderr, '');
    assert.equal(gpu.stdout, (await lapidary(args)).stdout);
});
