// WebGPU in a real browser, on Chromium's GPU in software. It is slow, so the model is a tiny one of noise; that the
// answer is right shows in the CPU giving the same. What larger ones compute there is browser.e2e.test.ts's in apps/cli.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';
import { tinyModel } from './tiny-model.js';

const app = openApp();

/** Opens the app with a tiny model. */
async function open(context: BrowserContext, backend: 'cpu' | 'gpu', maxTokens: number, page = ''): Promise<Visitor> {
    const url = `${app.site.url}/fixtures/${tinyModel}.gguf`;
    await context.addInitScript((choice) => localStorage.setItem('lapidary-model', choice), JSON.stringify({ kind: 'url', url }));
    // The penalty: noise would repeat itself.
    await prepareSettings(context, { maxTokens, temperature: 0, repeatPenalty: 30, contextLength: 128 });
    return await Visitor.arrive(context, `${app.site.url}/?backend=${backend}${page}`);
}

/** The same, and asks it something: for so many tokens that the first one is seen long before the last one is there. */
async function ask(context: BrowserContext, backend: 'cpu' | 'gpu'): Promise<Visitor> {
    const visitor = await open(context, backend, 64);
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
        assert.match(await visitor.answers.first().locator('.speed').innerText(), /64 tokens/);
        // Not on the CPU: on another device.
        assert.match(await visitor.page.locator('.chip').innerText(), /GPU/);
        await visitor.page.getByRole('link', { name: 'Diagnostics' }).click();
        await visitor.page.getByRole('definition').getByText('gpu: WebGPU gave a new device after the GPU was lost').waitFor();
        await visitor.page.getByLabel('Log').getByText('the GPU was lost').waitFor();
        visitor.checkHarmless();
    });
});

/** The losses of the first and the last step of a short training. */
async function train(context: BrowserContext, backend: 'cpu' | 'gpu'): Promise<number[]> {
    const visitor = await open(context, backend, 2, '#/finetune');
    const { page } = visitor;
    await page.locator('.which .dot.ready').waitFor();
    await page.getByRole('button', { name: 'Paste text' }).click();
    await page.getByLabel('Text, JSONL or CSV').fill('{"text": "abc"}');
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.locator('.preview').waitFor();
    await page.getByText('Advanced').click();
    await page.getByLabel('Times through the data', { exact: true }).fill('2');
    await page.getByLabel('Learning rate', { exact: true }).fill('0.01');
    await page.getByRole('button', { name: 'Start training' }).click();
    await page.getByText(/^Finished:/).waitFor();
    const title = (await page.locator('.loss-chart title').textContent()) ?? '';
    const [, from, to] = /from ([\d.]+) at step 1 to ([\d.]+) at step/.exec(title) ?? [];
    // What it became, on the same device.
    await page.getByRole('button', { name: 'Use in chat' }).click();
    await visitor.say('Hi');
    await visitor.answer();
    assert.match(await page.locator('.chip').innerText(), backend === 'gpu' ? /GPU/ : /CPU/);
    visitor.checkHarmless();
    return [Number(from), Number(to)];
}

test('a training on the GPU learns what one on the CPU learns', { skip: app.skip }, async () => {
    const [first = 0, last = 0] = await app.visit(async (context) => await train(context, 'cpu'));
    assert.ok(last < first, `the loss went from ${first} to ${last}`);
    const onGpu = await app.visit(async (context) => await train(context, 'gpu'));
    for (const [i, expected] of [first, last].entries()) {
        assert.ok(Math.abs((onGpu[i] ?? 0) / expected - 1) < 2e-3, `${onGpu.join(', ')} instead of ${first}, ${last}`);
    }
});
