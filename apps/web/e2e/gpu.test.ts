// WebGPU in a real browser, on Chromium's GPU in software.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp();

test('the built-in model answers on the GPU', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 2, temperature: 0 });
        const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=gpu`);
        await visitor.say('Hi');
        assert.ok((await visitor.answer()).length > 0);
        assert.match(await visitor.page.locator('.chip').innerText(), /GPU/);
        visitor.checkHarmless();
    });
});
