// The app in every browser that is installed, as far as people go in it: `make test-browsers`.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Site } from '../site.js';
import { tinyModel } from '../tiny-model.js';
import { chromium } from './chromium.js';
import { firefox, gpuIsMissing } from './firefox.js';
import { Person } from './person.js';
import { greedy, question, story } from './story.js';
import type { AnyBrowser, Kind, LaunchOptions } from './tab.js';
import { webkit } from './webkit.js';

let site: Site;
before(async () => void (site = await Site.start()));
after(() => site.stop());

async function visit(kind: Kind, options: LaunchOptions, work: (browser: AnyBrowser) => Promise<void>): Promise<void> {
    const browser = await kind.launch(options);
    try {
        await work(browser);
        assert.deepEqual(browser.complaints, []);
    } finally {
        await browser.close();
    }
}

const settings = { 'lapidary-settings': greedy };
const chipSays = (word: string) => document.querySelector('.chip')?.textContent?.includes(word) === true;

for (const kind of [chromium, firefox, webkit]) {
    const options = { skip: kind.missing };

    test(`${kind.name}: the built-in model tells its story, in two tabs that share it`, options, async () => {
        await visit(kind, {}, async (browser) => {
            const first = await Person.arrive(browser, site.url, settings);
            await first.say(question);
            assert.equal(await first.answer(), story);
            const second = await Person.arrive(browser, site.url);
            await second.untilReady();
            const locks = async () =>
                await second.inPage(async () => {
                    const { held = [], pending = [] } = await navigator.locks.query();
                    const ours = (all: LockInfo[]) => all.filter(({ name }) => name === 'lapidary-engine').length;
                    return [ours(held), ours(pending)];
                });
            assert.deepEqual(await locks(), [1, 1], 'one has the engine, the other waits for it');
            await second.say(question);
            assert.equal(await second.answer(), story);
            await first.close();
            await second.until('the engine to move', async () => {
                const { pending = [] } = await navigator.locks.query();
                return pending.every(({ name }) => name !== 'lapidary-engine');
            });
            await second.say(question);
            assert.ok((await second.answer(1)).length > 0);
        });
    });

    test(`${kind.name}: a model by its address, kept where there is a place for it`, options, async () => {
        await visit(kind, {}, async (browser) => {
            const url = `${site.url}/fixtures/${tinyModel}.gguf`;
            const stored = { ...settings, 'lapidary-model': { kind: 'url', url } };
            const person = await Person.arrive(browser, `${site.url}/?backend=cpu`, stored);
            await person.untilReady();
            assert.ok(await person.inPage(chipSays, tinyModel));
            await person.goto(`${site.url}/?backend=cpu#/models`);
            const has = await person.inPage(
                async () => await navigator.storage?.getDirectory?.().then(() => true, () => false),
            );
            // The list of what is kept, below the model that is loaded.
            await person.until('what is kept', () => /^Kept /m.test(document.body.innerText));
            if (has) await person.until('the file among it', (name) => document.body.innerText.split(/^Kept /m)[1]?.includes(name), `${tinyModel}.gguf`);
            // What the browser does not tell is not printed.
            const { usage } = await person.inPage(async () => await navigator.storage?.estimate?.() ?? {});
            const text = await person.inPage(() => document.body.innerText);
            if (usage === undefined) assert.doesNotMatch(text, /\b0 B\b/);
        });
    });

    test(`${kind.name}: what is taught is known afterwards, and survives the visit`, options, async () => {
        await visit(kind, {}, async (browser) => {
            const person = await Person.arrive(browser, `${site.url}/?backend=cpu#/finetune`, settings);
            await person.until('a model to teach', () => document.querySelector('.which .dot.ready'));
            await person.click('Paste text');
            await person.fill('Text, JSONL or CSV', '{"prompt": "What is the capital of Tarn?", "completion": "Velo is."}');
            await person.click('Read it');
            await person.until('the data', () => document.querySelector('.preview') !== null);
            await person.click('Advanced');
            await person.fill('Times through the data', '12');
            await person.fill('Learning rate', '0.01');
            await person.click('Start training');
            await person.until('the end of the training', () => /Finished:/.test(document.body.innerText));
            assert.doesNotMatch(await person.inPage(() => document.body.innerText), /could not be kept/);
            await person.click('Use in chat');
            await person.say('What is the capital of Tarn?');
            assert.match(await person.answer(), /Velo/);
            await person.goto(`${site.url}/?backend=cpu#/finetune`);
            await person.until('the training of before', () => /Finished:/.test(document.body.innerText));
        });
    });

    test(`${kind.name}: no page is wider than the window`, options, async () => {
        await visit(kind, {}, async (browser) => {
            const person = await Person.arrive(browser, site.url, settings);
            await person.untilReady();
            for (const page of ['models', 'finetune', 'bench', 'diagnostics', 'settings']) {
                await person.inPage((name) => void (location.hash = `#/${name}`), page);
                const width = await person.until(`the page ${page}`, (name) => {
                    if (location.hash !== `#/${name}` || !document.querySelector('.page h1')) return undefined;
                    return [document.documentElement.scrollWidth, innerWidth];
                }, page);
                assert.ok((width[0] ?? 0) <= (width[1] ?? 0), `${page}: ${width.join(' in ')}`);
            }
        });
    });
}

const gpuOptions = { skip: firefox.missing || gpuIsMissing };

test('Firefox: on a GPU in software the story is the same, and every kernel is right', gpuOptions, async () => {
    await visit(firefox, { gpu: true }, async (browser) => {
        const few = { ...greedy, maxTokens: 8 };
        const person = await Person.arrive(browser, `${site.url}/?backend=gpu`, { 'lapidary-settings': few });
        await person.untilReady();
        assert.ok(await person.inPage(chipSays, 'GPU'));
        await person.say(question);
        const answer = await person.answer();
        assert.ok(answer.length > 10 && story.startsWith(answer), answer);
        await person.inPage(() => void (location.hash = '#/diagnostics'));
        await person.click('Check every kernel');
        for (let patience = 5; ; patience--) {
            try {
                const [result = ''] = await person.until('the kernels', () => /All \d+ cases are right.*|\d+ of \d+ cases are wrong.*/.exec(document.body.innerText));
                assert.match(result, /^All [23]\d\d cases are right on a GPU that does not tell its name/);
                break;
            } catch (error) {
                if (patience === 0 || !/not seen/.test(String(error))) throw error;
            }
        }
    });
});

test('Firefox: a browser that ended while it loaded on the GPU takes the CPU next time, and says so', gpuOptions, async () => {
    const profile = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-firefox-'));
    const { url } = site;
    try {
        const first = await firefox.launch({ gpu: true, profile });
        const person = await Person.arrive(first, `${url}/?backend=gpu`, settings);
        await person.until('a load on the GPU', async () => {
            // To open what is not there would make it.
            if (!(await indexedDB.databases()).some(({ name }) => name === 'lapidary-attempts')) return false;
            const opened = await new Promise<IDBDatabase>((resolve, reject) => {
                const asked = indexedDB.open('lapidary-attempts');
                asked.onsuccess = () => resolve(asked.result);
                asked.onerror = () => reject(new Error('no database'));
            });
            try {
                if (!opened.objectStoreNames.contains('attempts')) return false;
                return await new Promise<boolean>((resolve) => {
                    const asked = opened.transaction('attempts').objectStore('attempts').count();
                    asked.onsuccess = () => resolve(asked.result > 0);
                    asked.onerror = () => resolve(false);
                });
            } finally {
                opened.close();
            }
        });
        await first.kill();
        await visit(firefox, { gpu: true, profile }, async (browser) => {
            const again = await Person.arrive(browser, `${url}/?backend=gpu`);
            await again.untilReady();
            assert.ok(await again.inPage(chipSays, 'CPU'));
            await again.untilText('The last load on the GPU never finished');
            await again.click('Try the GPU again');
            await again.until('the GPU', chipSays, 'GPU');
            await again.untilReady();
        });
    } finally {
        await fs.rm(profile, { recursive: true, force: true });
    }
});
