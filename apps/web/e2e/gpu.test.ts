// WebGPU in a real browser, on Chromium's GPU in software. It is slow, so the model is a tiny one of noise; that the
// answer is right shows in the CPU giving the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp();

/** Opens the app with the tiny model, and asks it something. */
async function ask(context: BrowserContext, backend: 'cpu' | 'gpu'): Promise<Visitor> {
    const url = `${app.site.url}/fixtures/tiny-31b-q4km.gguf`;
    await context.addInitScript((choice) => localStorage.setItem('lapidary-model', choice), JSON.stringify({ kind: 'url', url }));
    await prepareSettings(context, { maxTokens: 8, temperature: 0, contextLength: 128 });
    const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=${backend}`);
    await visitor.untilReady();
    await visitor.say('Hi');
    return visitor;
}

/** Noise may be invisible, but is text. */
function written(visitor: Visitor) {
    return visitor.answers.first().locator('.markdown');
}

test('an answer on the GPU goes on when the GPU is lost, and is the right one', { skip: app.skip }, async () => {
    const expected = await app.visit(async (context) => {
        const visitor = await ask(context, 'cpu');
        await visitor.answer();
        return await written(visitor).textContent();
    });
    await app.visit(async (context) => {
        const visitor = await ask(context, 'gpu');
        assert.match(await visitor.page.locator('.chip').innerText(), /GPU/);
        await written(visitor).waitFor({ state: 'attached' });
        await app.crashGpu();
        await visitor.answer();
        assert.equal(await written(visitor).textContent(), expected);
        assert.match(await visitor.answers.first().locator('.speed').innerText(), /8 tokens/);
        // Not on the CPU: on another device.
        assert.match(await visitor.page.locator('.chip').innerText(), /GPU/);
        await visitor.page.getByRole('link', { name: 'Diagnostics' }).click();
        await visitor.page.getByRole('definition').getByText('gpu: WebGPU gave a new device after the GPU was lost').waitFor();
        await visitor.page.getByLabel('Log').getByText('the GPU was lost').waitFor();
        visitor.checkHarmless();
    });
});
