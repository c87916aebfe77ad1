// A model whose load takes the page with it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor } from './browser.js';

const app = openApp({ gpu: false });

test('an address that took the page along is not loaded again by itself, and is when somebody says so', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const url = `${app.site.url}/fixtures/tiny-moe-q4km.gguf`;
        const first = await Visitor.arrive(context, app.site.url);
        await first.untilReady();
        await first.page.evaluate((text) => localStorage.setItem('lapidary-model', text), JSON.stringify({ kind: 'url', url }));

        // The next visit begins to load it, and its page ends before the server says a word.
        app.site.silent = true;
        const second = await context.newPage();
        await first.page.close();
        const asking = second.waitForRequest(url);
        await second.goto(app.site.url);
        await asking;
        const session = await context.newCDPSession(second);
        const crashed = new Promise((resolve) => second.on('crash', resolve));
        void session.send('Page.crash').catch(() => undefined);
        await crashed;
        await second.close();
        app.site.silent = false;

        app.site.asked.length = 0;
        const third = await Visitor.arrive(context, app.site.url);
        await third.page.getByText('the page ended while it was loaded the last time').waitFor();
        await third.untilReady();
        assert.match(await third.page.locator('.chip').innerText(), /Storyteller/);
        assert.ok(!app.site.asked.some((path) => path.startsWith('/fixtures/')), 'nothing was asked of that address');

        await third.page.getByRole('button', { name: 'Load it again' }).click();
        await third.page.locator('.chip', { hasText: 'tiny-moe' }).waitFor();
        await third.untilReady();
        third.checkHarmless();

        // That went well, so from now on it is loaded at once.
        await third.page.close();
        const fourth = await Visitor.arrive(context, app.site.url);
        await fourth.page.locator('.chip', { hasText: 'tiny-moe' }).waitFor();
        await fourth.untilReady();
    });
});
