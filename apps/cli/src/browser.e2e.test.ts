// The same wasm in a browser: Chromium without a window, its software GPU, and the library as plain modules.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { needsBrowser, openPage } from './testing/browser.js';
import { relativeError } from './testing/floats.js';
import { root } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const options = needsBrowser();

// The shaders are the same as under Node, where all of them are checked: here it is about the browser's own part. Those
// that take long to compile are seen at work below, and in the app's own test (apps/web/e2e/gpu.test.ts).
const kernels = [
    ...['argmax', 'attention_merge', 'combine', 'gather', 'heads', 'per_layer', 'residual_norm', 'route'],
    ...['sample_adjust', 'sample_collect', 'sample_count', 'sample_pick', 'to_planes'],
];

test('in Chromium the kernels compute what their references do', options, async (t) => {
    const page = await openPage(t);
    const { cases } = await page.check({ quick: true, formats: ['q4_k'], kernels });
    assert.deepEqual(cases.filter(({ ok }) => !ok), []);
    assert.deepEqual(new Set(cases.map(({ kernel }) => kernel)), new Set(kernels));
});

test('in Chromium the logits of a fixture are those of the reference', options, async (t) => {
    const fixture = 'tiny-e2b-q4_0';
    const expected = path.join(root, 'tests', 'data', 'fixtures', `${fixture}.safetensors`);
    const all = await readTensor(expected, 'tokens');
    const wanted = await readTensor(expected, 'logits');
    const count = 8;
    const page = await openPage(t);
    const tokens = [...all.subarray(0, count)];
    // One after the other, as answers are written: compiling the kernels for blocks of tokens would take a minute more.
    const logits = await page.logits({ url: `/fixtures/${fixture}.gguf`, tokens, kv: 'f32', atOnce: 1 });
    const error = relativeError(Float32Array.from(logits), wanted.subarray(0, (wanted.length / all.length) * count));
    assert.ok(error <= 1e-4, `relative error ${error}`);
});
