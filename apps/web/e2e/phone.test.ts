// A small screen and a finger.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp({ gpu: false });
const phone = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true };

test('the menu takes the focus, closes by Escape, Back and a tap, and gives the focus back', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        const menu = page.getByRole('button', { name: 'Open the menu' });
        const drawer = page.getByRole('dialog', { name: 'Conversations and pages' });
        const closed = async () => {
            await drawer.waitFor({ state: 'detached' });
            await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Open the menu');
            await page.locator('main:not([inert])').waitFor();
            await page.waitForFunction(() => history.state === null);
        };
        await visitor.say('Hello');
        await visitor.answer();
        const address = page.url();
        const opened = async () => {
            await menu.click();
            await drawer.waitFor();
            await page.waitForFunction(() => document.activeElement?.closest('.sidebar'));
            await page.locator('main[inert]').waitFor({ state: 'attached' });
        };
        await opened();
        await page.keyboard.press('Escape');
        await closed();
        await opened();
        await page.goBack();
        await closed();
        assert.equal(page.url(), address, 'Back closed the menu and nothing else');
        await opened();
        await page.mouse.click(350, 400);
        await closed();

        // A page that is chosen takes the place of the menu: Back leads to the chat.
        await opened();
        await page.getByRole('link', { name: 'Settings' }).click();
        await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
        await drawer.waitFor({ state: 'detached' });
        await page.goBack();
        await page.locator('.message.user').waitFor();
        assert.equal(page.url(), address);
        visitor.checkHarmless();
    }, phone);
});

test('while the model comes one may write, and what is said about it has room', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        app.site.stallAt = 10_000_000;
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page, messageBox } = visitor;
        const promise = 'What you send now is answered as soon as it is here.';
        await page.locator('.composer .under', { hasText: `10 of 20 MB. ${promise}` }).waitFor();
        assert.match(await page.locator('.chip').innerText(), /^Storyteller\s+49 %$/);
        // A placeholder is cut off without a word where it is longer than a line.
        const room = await messageBox.evaluate((box: HTMLTextAreaElement) => {
            const pen = document.createElement('canvas').getContext('2d');
            if (!pen) throw new Error('there is no canvas');
            pen.font = getComputedStyle(box).font;
            return box.clientWidth - pen.measureText(box.placeholder).width;
        });
        assert.ok(room > 0, `${-room} pixels of ${await messageBox.getAttribute('placeholder')} are cut off`);
        await page.evaluate(() => void (location.hash = '#/models'));
        assert.match(await page.locator('.current .can').innerText(), /knows no facts\. Downloading 49 % of 20 MB/);
        await page.goBack();
        await visitor.say('Hello');
        app.site.goOn();
        assert.ok((await visitor.answer()).length > 0);
        visitor.checkHarmless();
    }, phone);
});

test('everything can be hit with a finger, and what matters is still said', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        await visitor.say('Hello');
        await visitor.answer();
        assert.match(await page.locator('.chip').innerText(), /on the CPU/);
        const meter = page.locator('.context');
        assert.match(await meter.innerText(), /\d %/);
        assert.ok(Number.parseFloat(await meter.evaluate((one) => getComputedStyle(one).fontSize)) >= 12);
        const small = async (within: string) =>
            await page.locator(`${within} :is(button, a, summary, input)`).evaluateAll((all) =>
                all
                    .filter((one) => one.checkVisibility() && !one.matches('[type=checkbox], .skip, .markdown a'))
                    .map((one) => ({ box: one.getBoundingClientRect(), name: one.outerHTML.slice(0, 120) }))
                    .filter(({ box }) => Math.min(box.width, box.height) < 43.5)
                    .map(({ box, name }) => `${Math.round(box.width)} × ${Math.round(box.height)} ${name}`),
            );
        assert.deepEqual(await small('main'), []);
        await page.getByRole('button', { name: 'Open the menu' }).click();
        await page.getByRole('dialog').waitFor();
        assert.deepEqual(await small('.sidebar'), []);
        await page.getByRole('button', { name: /^More for/ }).click();
        assert.deepEqual(await small('.sidebar'), []);
        await page.keyboard.press('Escape');
        for (const name of ['bench', 'diagnostics', 'settings']) {
            await page.goto(`${app.site.url}/#/${name}`);
            await page.locator('.page h1').waitFor();
            assert.deepEqual(await small('main'), [], name);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
            assert.equal(wide, false, `${name} does not scroll sideways`);
        }
        visitor.checkHarmless();
    }, phone);
});
