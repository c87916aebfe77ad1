// A model that writes by canvases: one settles before one's eyes, and how is a matter of settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BrowserContext, BrowserContextOptions } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp({ gpu: false });

async function open(context: BrowserContext, settings: object): Promise<Visitor> {
    const url = `${app.site.url}/fixtures/tiny-diffusion-q4km.gguf`;
    await context.addInitScript((choice) => localStorage.setItem('lapidary-model', choice), JSON.stringify({ kind: 'url', url }));
    // A step is over before a test could look: what was to be seen is counted. The script that shows it comes with the first draft.
    await context.addInitScript(() => {
        const seen: Record<string, number> = {};
        Object.assign(globalThis, { seen });
        new MutationObserver(() => {
            for (const what of ['.settle-line', '.draft', '.draft .pale', '.draft .firm']) {
                if (document.querySelector(what)) seen[what] = (seen[what] ?? 0) + 1;
            }
            const step = Number(/step (\d+)/.exec(document.querySelector('.settle-line span')?.textContent ?? '')?.[1] ?? 0);
            seen['steps'] = Math.max(seen['steps'] ?? 0, step);
        }).observe(document, { childList: true, subtree: true, characterData: true });
    });
    await prepareSettings(context, { maxTokens: 160, seed: 4, contextLength: 512, ...settings });
    const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu`);
    await visitor.untilReady();
    return visitor;
}

const seenBy = async ({ page }: Visitor) => await page.evaluate(() => (globalThis as unknown as { seen: Record<string, number> }).seen);

async function answered(settings: object, options: BrowserContextOptions = {}) {
    return await app.visit(async (context) => {
        const visitor = await open(context, settings);
        await visitor.say('Hi');
        const text = await visitor.answer();
        assert.equal(await visitor.page.locator('.settle-line').count(), 0, 'what has settled is an answer like any other');
        visitor.checkHarmless();
        return { text, seen: await seenBy(visitor) };
    }, options);
}

test('a canvas settles before one’s eyes, in as many steps as the settings say', { skip: app.skip }, async () => {
    const { text, seen } = await answered({ diffusion: { steps: 30, stability_threshold: 30 } });
    assert.notEqual(text.trim(), '');
    for (const what of ['.settle-line', '.draft', '.draft .pale']) assert.ok(seen[what], `${what} was there`);
    assert.ok(seen['steps'] && seen['steps'] >= 2 && seen['steps'] <= 30, `${seen['steps']} steps`);
    const still = await answered({ diffusion: { steps: 30, stability_threshold: 30 } }, { reducedMotion: 'reduce' });
    assert.equal(still.text, text);
    assert.ok(still.seen['.settle-line'] && !still.seen['.draft'], 'nothing moves for who wants that');
});

test('the settings of canvases are kept, and what cannot be used is said', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/settings`);
        const { page } = visitor;
        await page.getByLabel('Steps of a canvas, at most').fill('12');
        await page.getByLabel('Entropy bound').fill('0.2');
        await page.getByLabel('Confidence threshold').fill('101');
        await page.getByText('Not used: a number from 0 to 100 is needed.').waitFor();
        await page.getByLabel('Hottest, at the first step').fill('0.3');
        await page.getByLabel('Coolest, towards the last').fill('0.5');
        await page.getByText('at the first step it must be 0.5 or more').waitFor();
        await page.getByLabel('Coolest, towards the last').fill('');
        await page.getByText('at the first step it must be').waitFor({ state: 'detached' });
        const stored = await page.evaluate(() => JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}') as { diffusion?: object });
        assert.deepEqual(stored.diffusion, { steps: 12, entropy_bound: 0.2, t_max: 0.3 });
        visitor.checkHarmless();
    });
});
