// The same wasm in a browser: Chromium without a window, its software GPU, and the library as plain modules.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { needsBrowser, openPage } from './testing/browser.js';
import { relativeError } from './testing/floats.js';
import { kernelNames } from './testing/kernels.js';
import { root } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const options = needsBrowser();

test('in Chromium every kernel computes what its reference does', options, async (t) => {
    const page = await openPage(t);
    const { cases } = await page.check({});
    assert.deepEqual(cases.filter(({ ok }) => !ok), []);
    t.diagnostic(`${cases.length} cases`);
    const checked = new Set(cases.map(({ kernel }) => kernel));
    assert.deepEqual((await kernelNames()).filter((name) => !checked.has(name)), [], 'kernels without cases');
});

for (const fixture of ['tiny-e2b-q4km', 'tiny-e2b-q4_0', 'tiny-31b-q4km', 'tiny-moe-q4km']) {
    test(`in Chromium the logits of ${fixture} are those of the reference`, options, async (t) => {
        const expected = path.join(root, 'tests', 'data', 'fixtures', `${fixture}.safetensors`);
        const tokens = await readTensor(expected, 'tokens');
        const wanted = await readTensor(expected, 'logits');
        const page = await openPage(t);
        const logits = await page.logits({ url: `/fixtures/${fixture}.gguf`, tokens: [...tokens], kv: 'f32' });
        const error = relativeError(Float32Array.from(logits), wanted);
        t.diagnostic(`relative error ${error}`);
        assert.ok(error <= 1e-4, `relative error ${error}`);
    });
}
