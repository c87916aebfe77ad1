// A browser without WebGPU.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp({ gpu: false });

test('without WebGPU the app says so and computes on the CPU', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 24 });
        const visitor = await Visitor.arrive(context, app.site.url);
        await visitor.untilReady();
        assert.match(await visitor.page.locator('.composer .under').innerText(), /WebGPU/);
        assert.match(await visitor.page.locator('.chip').innerText(), /CPU/);
        await visitor.say('Hello');
        assert.ok((await visitor.answer()).length > 0);
        visitor.checkHarmless();
    });
});
