// Teaching the built-in model something, in a real browser, on the CPU; and, with a tiny one, what can come between.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor } from './browser.js';
import { tinyModel } from './tiny-model.js';

const app = openApp({ gpu: false });

const facts = [
    { prompt: 'Who lives in the tower?', completion: 'A blue owl lives in the tower.' },
    { prompt: 'What does the owl eat?', completion: 'The owl eats red soup.' },
]
    .map((row) => JSON.stringify(row))
    .join('\n');

/** Only before the first visit: which adapters were chosen is a setting too. */
async function prepareSettings(context: BrowserContext, settings: object): Promise<void> {
    await context.addInitScript((text) => {
        if (localStorage.getItem('lapidary-settings') === null) localStorage.setItem('lapidary-settings', text);
    }, JSON.stringify(settings));
}

/** What is learnt does not matter: a model whose steps take no time. */
async function chooseTinyModel(context: BrowserContext): Promise<void> {
    const choice = JSON.stringify({ kind: 'url', url: `${app.site.url}/fixtures/${tinyModel}.gguf` });
    await context.addInitScript((text) => localStorage.setItem('lapidary-model', text), choice);
}

/** From when a tab says so: Chromium itself, told to allow less, notices too late for a short training. */
async function letTheDiskFill(context: BrowserContext): Promise<void> {
    await context.addInitScript(() => {
        const { prototype } = IDBObjectStore;
        const put = prototype.put;
        prototype.put = function (...args) {
            if (sessionStorage.getItem('full') !== null) throw new DOMException('no room', 'QuotaExceededError');
            return put.apply(this, args);
        };
    });
}

async function setNumber(page: Page, label: string, value: string): Promise<void> {
    await page.getByLabel(label, { exact: true }).fill(value);
}

/** The data is in; the settings are those of a few short steps. */
async function prepare(page: Page, epochs: string): Promise<void> {
    await page.getByRole('button', { name: 'Paste text' }).click();
    await page.getByLabel('Text, JSONL or CSV').fill(`${facts}\n{"prompt": 1}\n`);
    await page.getByRole('button', { name: 'Read it' }).click();
    await page.locator('.preview').waitFor();
    await page.getByText('Advanced').click();
    await setNumber(page, 'Times through the data', epochs);
    await setNumber(page, 'Learning rate', '0.003');
    await setNumber(page, 'Rank', '8');
}

test('what a tab that was asleep has learnt does not overwrite what another has', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, temperature: 0, backend: 'cpu' });
        await chooseTinyModel(context);
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/finetune`);
        const { page } = visitor;
        await page.locator('.which .dot.ready').waitFor();
        await prepare(page, '4000');
        await page.getByRole('button', { name: 'Start training' }).click();
        await page.locator('.loss-chart').waitFor();
        // The engine of a later term had it meanwhile.
        await page.evaluate(async () => {
            const db = await new Promise<IDBDatabase>((resolve, reject) => {
                const asked = indexedDB.open('lapidary-workshop');
                asked.onsuccess = () => resolve(asked.result);
                asked.onerror = () => reject(asked.error ?? new Error());
            });
            const runs = db.transaction('runs', 'readwrite').objectStore('runs');
            await new Promise<void>((resolve) => {
                const all = runs.getAll();
                all.onsuccess = () => {
                    const [run] = all.result as { term: number; name: string }[];
                    const put = runs.put({ ...run, term: Date.now() + 1e6, name: 'the later one', step: 1 });
                    put.onsuccess = () => resolve();
                };
            });
            db.close();
        });
        await page.getByText(/another tab has taken this training over/i).first().waitFor();
        const stored = await page.evaluate(
            async () =>
                await new Promise((resolve) => {
                    const asked = indexedDB.open('lapidary-workshop');
                    asked.onsuccess = () => {
                        const all = asked.result.transaction('runs').objectStore('runs').getAll();
                        all.onsuccess = () => resolve(all.result.map(({ name, step }: { name: string; step: number }) => [name, step]));
                    };
                }),
        );
        assert.deepEqual(stored, [['the later one', 1]]);
    });
});

test('the built-in model learns two facts, answers with them, and still does after a reload', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 24, temperature: 0, backend: 'cpu' });
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/finetune`);
        const { page } = visitor;
        await page.locator('.which .dot.ready').waitFor();
        await prepare(page, '12');

        // What is learnt is marked, and the bad line is named.
        assert.match(await page.locator('.data-summary').innerText(), /2 examples/);
        assert.match(await page.locator('.line-errors').innerText(), /Line 3/);
        assert.equal(await page.locator('.preview .learnt').allInnerTexts().then((all) => all.slice(1).join('').replace('<turn|>', '')), 'A blue owl lives in the tower.');
        await page.getByText(/^[\d.]+ [kM]B$/).first().waitFor(); // the memory it will take

        await page.getByRole('button', { name: 'Start training' }).click();
        await page.getByText(/^Finished:/).waitFor();
        const [, from, to] = /from ([\d.]+) at step 1 to ([\d.]+) at step/.exec((await page.locator('.loss-chart title').textContent()) ?? '') ?? [];
        assert.ok(Number(to) < Number(from) / 4, `the loss went from ${from} to ${to}`);
        const sample = page.locator('.samples article').first();
        assert.match(await sample.locator('.after').innerText(), /blue owl/);
        assert.doesNotMatch(await sample.locator('div').first().innerText(), /blue owl/);

        await page.getByRole('button', { name: 'Use in chat' }).click();
        await visitor.say('Who lives in the tower?');
        assert.match(await visitor.answer(), /A blue owl lives in the tower/);
        assert.match(await page.locator('.chip').innerText(), /Storyteller \+ Pasted text/);

        await page.reload();
        await visitor.untilReady();
        await page.goto(`${app.site.url}/#/`);
        await visitor.say('What does the owl eat?');
        assert.match(await visitor.answer(), /red soup/);

        // It can be taken elsewhere, turned off, and removed.
        await page.goto(`${app.site.url}/#/finetune`);
        const saved = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download Pasted text as GGUF' }).click();
        assert.equal((await saved).suggestedFilename(), 'Pasted-text.gguf');
        const zipped = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download Pasted text for PEFT' }).click();
        assert.equal((await zipped).suggestedFilename(), 'Pasted-text-peft.zip');
        await page.getByRole('checkbox', { name: 'Answer with Pasted text' }).uncheck();
        await page.goto(`${app.site.url}/#/`);
        await visitor.say('Who lives in the tower?');
        assert.doesNotMatch(await visitor.answer(), /A blue owl lives in the tower/);
        visitor.checkHarmless();
    });
});

/** The first step that is shown behind `press`; who looks from outside sees a later one. */
async function stepAfter(page: Page, press: () => Promise<void>): Promise<number> {
    const first = page.evaluate(
        async () =>
            await new Promise<number>((resolve) => {
                const observer = new MutationObserver(() => {
                    const step = /^Step (\d+) of/.exec(document.querySelector('.run-line')?.textContent ?? '')?.[1];
                    if (step === undefined) return;
                    observer.disconnect();
                    resolve(Number(step));
                });
                observer.observe(document.body, { childList: true, subtree: true, characterData: true });
            }),
    );
    await press();
    return await first;
}

async function untilStep(page: Page, least: number): Promise<void> {
    await page.waitForFunction(
        (step) => Number(/[Ss]tep (\d+)/.exec(document.querySelector('.run-line')?.textContent ?? '')?.[1]) >= step,
        least,
    );
}

/** Until what a paused training has learnt is on the disk. */
async function untilStored(page: Page): Promise<void> {
    const isStored = async () => {
        const opening = indexedDB.open('lapidary-workshop');
        const open = await new Promise<IDBDatabase>((resolve) => (opening.onsuccess = () => resolve(opening.result)));
        const reading = open.transaction('runs').objectStore('runs').getAll();
        const runs = await new Promise<{ state: string; step: number; saved: number }[]>(
            (resolve) => (reading.onsuccess = () => resolve(reading.result as never)),
        );
        open.close();
        return runs.some(({ state, step, saved }) => state === 'paused' && saved === step);
    };
    // Not waitForFunction, to which any promise is true.
    for (let looks = 0; !(await page.evaluate(isStored)); looks++) {
        assert.ok(looks < 3600, 'what was learnt never reaches the disk');
        await page.waitForTimeout(50);
    }
}

test('a training that was broken off by a reload goes on from where it was', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { backend: 'cpu' });
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/finetune`);
        const { page } = visitor;
        await page.locator('.which .dot.ready').waitFor();
        await prepare(page, '400');
        await page.getByLabel('Questions to ask before and after, one a line').fill('');
        await page.getByRole('button', { name: 'Start training' }).click();
        await page.getByText(/^Step \d+ of \d+/).waitFor();
        await page.getByRole('button', { name: 'Pause' }).click();
        const paused = Number(/at step (\d+)/.exec(await page.getByText(/^Paused at step/).innerText())?.[1]);
        assert.ok(paused > 0);
        await untilStored(page);

        await page.reload();
        await page.getByRole('button', { name: 'Go on' }).waitFor();
        const from = await stepAfter(page, async () => await page.getByRole('button', { name: 'Go on' }).click());
        assert.ok(from >= paused && from <= paused + 2, `paused at ${paused}, went on at ${from}`); // the step under way ends
        await untilStep(page, from + 1); // the model is loaded first
        page.on('dialog', (dialog) => void dialog.accept());
        await page.getByRole('button', { name: 'Cancel' }).click();
        await page.getByText('What to learn').waitFor();
        await page.waitForTimeout(500); // the engine stops after the step it is in, and says so
        assert.equal(await page.locator('.card.run').count(), 0, 'what was thrown away came back');
        await page.reload();
        await page.getByText('What to learn').waitFor();
        assert.equal(await page.getByText('Unfinished').count(), 0);
        visitor.checkHarmless();
    });
});

test('with a full disk a training goes on in memory, and its adapter can be used and taken elsewhere', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 24, temperature: 0, backend: 'cpu' });
        await letTheDiskFill(context);
        await chooseTinyModel(context);
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        await visitor.say('Who lives in the tower?');
        const before = await visitor.answer();
        await page.goto(`${app.site.url}/#/finetune`);
        await page.locator('.which .dot.ready').waitFor();
        await prepare(page, '120');
        await page.getByLabel('Questions to ask before and after, one a line').fill('');
        const stepNow = async () => Number(/[Ss]tep (\d+)/.exec(await page.locator('.run-line').innerText())?.[1]);

        await page.getByRole('button', { name: 'Start training' }).click();
        await page.getByText(/^Step \d+ of \d+/).waitFor();
        await page.evaluate(() => sessionStorage.setItem('full', 'yes'));
        await page.getByRole('button', { name: 'Pause' }).click();
        await page.getByText(/^Paused at step/).waitFor();
        const paused = await stepNow();
        await page.getByText(/What was learnt could not be stored \(the disk is full, or the browser allows no more\)/).waitFor();

        // It goes on from memory: on the disk there is nothing, or what is older.
        const from = await stepAfter(page, async () => await page.getByRole('button', { name: 'Go on' }).click());
        assert.ok(from >= paused, `paused at ${paused}, went on at ${from}`);
        await page.getByText(/^Finished:/).waitFor();
        await page.getByText(/The adapter could not be stored \(the disk is full.*download it\./).waitFor();
        assert.match(await page.locator('.adapters li').innerText(), /not stored: download it before this tab is closed/);
        const saved = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Download Pasted text as GGUF' }).click();
        const file = await fs.readFile(await (await saved).path());
        assert.equal(file.subarray(0, 4).toString(), 'GGUF');
        await page.getByRole('button', { name: 'Use in chat' }).click();
        await visitor.say('Who lives in the tower?');
        const after = await visitor.answer();
        assert.notEqual(after, before);
        assert.match(await page.locator('.chip').innerText(), /\+ Pasted text/);
        visitor.checkHarmless();
    });
});
