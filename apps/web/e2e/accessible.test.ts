// Every page as axe sees it, in both themes, on a desk and on a phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp({ gpu: false });
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Found {
    violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** What axe has to complain about, in both themes. */
async function complaints(page: Page, place: string): Promise<string[]> {
    const all: string[] = [];
    for (const theme of ['light', 'dark']) {
        // Colours on their way are not looked at.
        const { violations } = await page.evaluate(async (theme): Promise<Found> => {
            document.documentElement.dataset['theme'] = theme;
            await Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined)));
            return await (globalThis as unknown as { axe: { run: () => Promise<Found> } }).axe.run();
        }, theme);
        for (const { id, nodes } of violations) {
            for (const { html, failureSummary } of nodes) {
                all.push(`${place}, ${theme}: ${id} ${html.slice(0, 160)} ${failureSummary ?? ''}`);
            }
        }
    }
    return all;
}

test('colours that people choose leave shapes their edges, and one line begins where the other does', { skip: app.skip }, async () => {
    await app.visit(
        async (context) => {
            await prepareSettings(context, { maxTokens: 4, seed: 1 });
            const visitor = await Visitor.arrive(context, app.site.url);
            const { page } = visitor;
            await visitor.say('Hello');
            await visitor.answer();
            const style = (selector: string, name: 'borderTopStyle' | 'outlineStyle' | 'opacity', part?: string) =>
                page.locator(selector).evaluate((one, [name, part]) => getComputedStyle(one, part)[name], [name, part] as const);
            assert.equal(await style('.message.user .body', 'borderTopStyle'), 'solid');
            assert.equal(await style('.conversations li.current', 'outlineStyle'), 'solid');
            assert.equal(await style('.context meter', 'borderTopStyle'), 'solid');
            assert.equal(await style('.sidebar input', 'opacity', '::placeholder'), '1', 'browsers make it paler');
            const left = async (selector: string) => (await page.locator(selector).boundingBox())?.x ?? 0;
            assert.ok(Math.abs((await left('header h1')) - (await left('.messages'))) < 1);
            await page.getByRole('link', { name: 'Settings' }).click();
            assert.equal(await style('.pages a[aria-current]', 'outlineStyle'), 'solid');
            visitor.checkHarmless();
        },
        { viewport: { width: 1440, height: 900 }, forcedColors: 'active' },
    );
});

for (const width of [1280, 360]) {
    test(`nobody is kept out, ${width} pixels wide`, { skip: app.skip }, async () => {
        const small = width < 800;
        const options = { viewport: { width, height: 800 }, hasTouch: small, isMobile: small, reducedMotion: 'reduce' as const };
        await app.visit(async (context) => {
            await prepareSettings(context, { maxTokens: 6, seed: 1, temperature: 0.5 });
            const visitor = await Visitor.arrive(context, app.site.url);
            const { page } = visitor;
            const found: string[] = [];
            const look = async (place: string) => {
                await page.evaluate(axe);
                found.push(...(await complaints(page, place)));
            };
            await visitor.untilReady();
            await look('welcome');
            await visitor.say(Array.from({ length: 30 }, (_, i) => `line ${i}`).join('\n'));
            await visitor.answer();
            await look('chat');
            await page.getByRole('button', { name: 'Edit and ask again' }).click();
            await look('editing');
            await page.keyboard.press('Escape');
            if (small) {
                await page.getByRole('button', { name: 'Open the menu' }).click();
                await look('menu');
                await page.keyboard.press('Escape');
                await page.getByRole('dialog').waitFor({ state: 'detached' });
            }
            for (const name of ['models', 'finetune', 'bench', 'diagnostics', 'settings']) {
                await page.goto(`${app.site.url}/#/${name}`);
                await page.locator('.page h1').waitFor();
                if (name === 'settings') await page.getByLabel('Temperature').fill('99');
                if (name === 'diagnostics') await page.getByText('WebGPU', { exact: true }).waitFor();
                await look(name);
            }
            assert.deepEqual(found, []);
            visitor.checkHarmless();
        }, options);
    });
}
