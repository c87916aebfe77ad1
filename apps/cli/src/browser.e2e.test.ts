// The same wasm in a browser: Chromium without a window, its software GPU, and the library as plain modules.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TestPage, needsBrowser } from './testing/browser.js';
import { relativeError } from './testing/floats.js';
import { expectedOf, fixtures } from './testing/gpu-model.js';
import { kernelNames } from './testing/kernels.js';
import { many, thorough } from './testing/thorough.js';

describe('in Chromium', needsBrowser(), () => {
    let page: TestPage;
    before(async () => {
        page = await TestPage.open();
    });
    after(() => page?.close());

    test('every kernel computes what its reference does', async () => {
        const { cases } = await page.check(thorough ? {} : { quick: true });
        assert.deepEqual(cases.filter(({ ok }) => !ok), []);
        const checked = new Set(cases.map(({ kernel }) => kernel));
        assert.deepEqual((await kernelNames()).filter((name) => !checked.has(name)), [], 'kernels without cases');
    });

    // Those of the others are computed by the same kernels, in Node every day; a tiny one answers and learns in the app.
    for (const fixture of thorough ? fixtures : (['tiny-e2b-q4km'] as const)) {
        test(`the logits of ${fixture} are those of the reference`, async (t) => {
            const { tokens, logits } = await expectedOf(fixture);
            const seen = Float32Array.from(
                // Two blocks, or all there are.
                await page.logits({ url: `/fixtures/${fixture}.gguf`, tokens: tokens.slice(0, many(17, 96)), kv: 'f32' }),
            );
            const error = relativeError(seen, logits.subarray(0, seen.length));
            t.diagnostic(`relative error ${error}`);
            assert.ok(error <= 1e-4, `relative error ${error}`);
        });
    }
});
