// What is seen before any script of the app has run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor } from './browser.js';

const app = openApp({ gpu: false });
const title = 'A language model inside this tab';
const motto = 'Nothing you write leaves this device. It works without a network.';

/** Scripts come when they are let. */
async function holdScripts(context: BrowserContext): Promise<() => void> {
    let letGo = () => undefined as void;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    await context.route('**/assets/*.js', async (route) => {
        await held;
        await route.continue();
    });
    return letGo;
}

const places = (): Record<string, number[]> => {
    const found: Record<string, number[]> = {};
    for (const name of ['.welcome .gem', '.welcome .title', '.welcome .motto', '.field textarea']) {
        const { x, y, width } = document.querySelector(name)?.getBoundingClientRect() ?? new DOMRect();
        found[name] = [x, y, width];
    }
    return found;
};

for (const [width, height] of [[1440, 900], [360, 740]] as const) {
    test(`headline and composer are there before the scripts, where they stay, ${width} pixels wide`, { skip: app.skip }, async () => {
        await app.visit(
            async (context) => {
                const letGo = await holdScripts(context);
                const page = await context.newPage();
                await page.goto(app.site.url, { waitUntil: 'commit' });
                await page.getByText(title).waitFor();
                await page.getByText(motto).waitFor();
                assert.equal(await page.getByPlaceholder('Write already').isVisible(), true);
                // A busy machine has the page before its styles, and these before their font.
                await page.waitForFunction(() => document.styleSheets.length > 0 && [...document.fonts].some(({ status }) => status === 'loaded'));
                assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
                const before = await page.evaluate(places);
                // The model does not come either, so nothing else is there yet.
                app.site.stallAt = 1;
                letGo();
                await page.locator('.chip').waitFor();
                await page.locator('.under', { hasText: 'What you send now' }).waitFor();
                const after = await page.evaluate(places);
                for (const [name, from] of Object.entries(before)) {
                    const moved = from.map((edge, i) => Math.abs(edge - (after[name]?.[i] ?? 0)));
                    assert.ok(Math.max(...moved) < 3, `${name} moved by ${moved.join(', ')}`);
                }
                assert.equal(await page.locator('[inert]').count(), 0, 'and all of it is alive');
                assert.equal(await page.locator('main').count(), 1);
                const visitor = new Visitor(page);
                await visitor.say('Hello');
                app.site.goOn();
                await visitor.answer();
                assert.ok((await page.locator('.message.assistant .markdown').innerText()).length > 0);
            },
            { viewport: { width, height }, serviceWorkers: 'block' },
        );
    });
}

test('another page, and words that go elsewhere, are not begun with what is not true of them', { skip: app.skip }, async () => {
    const endpoint = { kind: 'openai', url: app.site.url, key: '', model: 'm' };
    for (const [address, settings] of [['#/models', {}], ['', { useEndpoint: true, endpoint }]] as const) {
        await app.visit(
            async (context) => {
                await context.addInitScript((text) => localStorage.setItem('lapidary-settings', text), JSON.stringify(settings));
                const letGo = await holdScripts(context);
                const page = await context.newPage();
                await page.goto(`${app.site.url}/${address}`, { waitUntil: 'commit' });
                await page.locator('.sidebar').waitFor({ state: 'attached' });
                await page.locator('.chat.empty[inert]').waitFor({ state: 'hidden' });
                assert.equal(await page.getByText(motto).isVisible(), false);
                letGo();
                await page.locator(address === '' ? '.chip' : '.page h1').waitFor();
                assert.equal(await page.getByText(motto).count(), 0);
            },
            { serviceWorkers: 'block' },
        );
    }
});
