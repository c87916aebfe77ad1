// Where models come from and how tabs share one, in a real browser.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';
import { repository } from './site.js';

const app = openApp();
const brief = { maxTokens: 24, seed: 7 };

async function drop(page: Page, name: string, bytes: Buffer): Promise<void> {
    const transfer = await page.evaluateHandle(
        ([title, text]) => {
            const transfer = new DataTransfer();
            const data = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
            transfer.items.add(new File([data], title));
            return transfer;
        },
        [name, bytes.toString('base64')] as const,
    );
    for (const type of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent('body', type, { dataTransfer: transfer });
}

test('without a network the app opens and chats', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, app.site.url);
        await visitor.untilReady();
        await visitor.untilKept();
        await context.setOffline(true);
        await visitor.page.reload();
        await visitor.say('Are you still there?');
        assert.ok((await visitor.answer()).length > 0);
        await visitor.page.getByRole('link', { name: 'Settings' }).click();
        await visitor.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
        await context.setOffline(false);
    });
});

test('a second tab uses the model of the first, and takes over when the first is closed', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const first = await Visitor.arrive(context, app.site.url);
        await first.untilReady();
        await first.untilWorkers(1);
        const second = await Visitor.arrive(context, app.site.url);
        await second.untilReady();
        assert.equal(second.page.workers().length, 0, 'the second tab has no engine of its own');
        await second.say('Hello from the second tab');
        assert.ok((await second.answer()).length > 0);
        await first.page.locator('.conversations li', { hasText: 'Hello from the second tab' }).waitFor();

        // In the middle of an answer.
        await second.page.evaluate(() => {
            const text = JSON.stringify({ maxTokens: 240 });
            localStorage.setItem('lapidary-settings', text);
            dispatchEvent(new StorageEvent('storage', { key: 'lapidary-settings', newValue: text }));
        });
        await second.say('A long story, please');
        await second.untilWriting(1);
        await first.page.close();
        assert.ok((await second.answer(1)).length > 0);
        await second.untilWorkers(1);
        second.checkHarmless();
    });
});

test('a tab that loses the engine to another goes on from there, and is never heard as the one that has it', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 160, seed: 7, temperature: 0 });
        const first = await Visitor.arrive(context, app.site.url);
        await first.untilReady();
        const second = await Visitor.arrive(context, app.site.url);
        await second.untilReady();
        await first.say('A long story, please');
        await first.untilWriting();
        // As by a tab that waited in vain for one that was asleep.
        await second.page.evaluate(async () => await navigator.locks.request('lapidary-engine', { steal: true }, async () => undefined));
        const story = await first.answer();
        assert.ok(story.length > 0);
        await first.say('Another one');
        assert.ok((await first.answer(1)).length > 0);
        // The other one has it now.
        await first.untilWorkers(0);
        await second.untilWorkers(1);
        first.checkHarmless();
        second.checkHarmless();
    });
});

test('tabs of two versions of the app do not talk to each other, and say so', { skip: app.skip }, async () => {
    await app.visit(
        async (context) => {
            await prepareSettings(context, brief);
            const first = await Visitor.arrive(context, app.site.url);
            await first.untilReady();
            await context.route('**/assets/*.js', async (route) => {
                const response = await route.fetch();
                const body = (await response.text()).replace(/"[0-9a-f]{12}"/g, '"0123456789ab"');
                await route.fulfill({ response, body });
            });
            const second = await Visitor.arrive(context, app.site.url);
            await second.page.getByText(/Another tab runs another version of Lapidary/).first().waitFor();
            await first.say('Hello');
            assert.ok((await first.answer()).length > 0);
            // Alone, the other one is well.
            await first.page.close();
            await second.untilReady();
            await second.say('Hello');
            assert.ok((await second.answer()).length > 0);
        },
        { serviceWorkers: 'block' },
    );
});

test('a bad file never costs the model that answers; a good one takes its place', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { ...brief, maxTokens: 4 });
        const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu`);
        const { page } = visitor;
        await visitor.untilReady();
        const tiny = await readFile(path.join(repository, 'tests/data/fixtures/tiny-e2b-q4_0.gguf'));
        const refusal = page.getByRole('alert');
        for (const [name, bytes, why] of [
            ['cut.gguf', tiny.subarray(0, tiny.length / 2), /not complete|cut short/],
            ['broken.gguf', Buffer.from('GGUFnonsense'), /./],
            ['letter.gguf', Buffer.from('Dear Sir or Madam'), /GGUF/],
        ] as const) {
            await drop(page, name, bytes);
            await refusal.filter({ hasText: `${name} cannot be used` }).waitFor();
            const said = await refusal.innerText();
            assert.match(said, why);
            assert.match(said, /Storyteller goes on answering\./);
            assert.equal(await page.locator('.chip .dot.ready').count(), 1);
        }
        await visitor.say('Hello');
        assert.ok((await visitor.answer()).length > 0, 'and it does');
        for (const width of [1280, 768, 360]) {
            await page.setViewportSize({ width, height: 800 });
            const edges = async (selector: string) => {
                const { x = 0, width = 0 } = (await page.locator(selector).boundingBox()) ?? {};
                return [Math.round(x), Math.round(x + width)];
            };
            assert.deepEqual(await edges('.before-composer [role=alert]'), await edges('.composer .field'), `${width} pixels wide`);
        }
        await refusal.getByRole('button', { name: 'Dismiss' }).click();
        await refusal.waitFor({ state: 'detached' });

        await drop(page, 'tiny.gguf', tiny);
        await page.locator('.chip .name', { hasText: 'tiny.gguf' }).waitFor();
        await visitor.untilReady();
        await visitor.say('Hi');
        await visitor.answer(1);
        // The next visit may not read it, and says so.
        await page.reload();
        await page.getByText('tiny.gguf was opened from a file').waitFor();
        await visitor.untilReady();
        await page.getByRole('button', { name: 'Not now' }).click();
        await page.reload();
        await visitor.untilReady();
        assert.equal(await page.getByText('tiny.gguf was opened from a file').count(), 0);
        visitor.checkHarmless();
    });
});

test('a file that was picked is opened again at the next visit, after a question where the browser wants one', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { ...brief, maxTokens: 4 });
        // A handle of the page's private files stands in for one of the disk, which only a person can pick.
        await context.addInitScript(() => {
            const pick = async () => {
                const folder = await navigator.storage.getDirectory();
                return [await folder.getFileHandle('mine.gguf')];
            };
            Object.defineProperty(globalThis, 'showOpenFilePicker', { value: pick });
            if (!sessionStorage.getItem('ask')) return;
            let answer = 'prompt';
            const permissions = { queryPermission: async () => answer, requestPermission: async () => (answer = 'granted') };
            Object.assign(FileSystemHandle.prototype, permissions);
        });
        const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu#/models`);
        const { page } = visitor;
        await page.evaluate(async (url) => {
            const handle = await (await navigator.storage.getDirectory()).getFileHandle('mine.gguf', { create: true });
            const file = await handle.createWritable();
            await file.write(await (await fetch(url)).arrayBuffer());
            await file.close();
        }, `${app.site.url}/fixtures/tiny-e2b-q4_0.gguf`);
        const answering = page.locator('.current .who b', { hasText: 'mine.gguf' }).locator('.dot.ready');
        await page.getByRole('button', { name: /^A file/ }).click();
        await answering.waitFor();
        await page.reload();
        await answering.waitFor();

        await page.evaluate(() => sessionStorage.setItem('ask', 'yes'));
        await page.reload();
        await page.getByText('mine.gguf was opened from a file.').waitFor();
        await page.locator('.current .who b', { hasText: 'Storyteller' }).waitFor();
        await page.getByRole('button', { name: 'Open it again' }).click();
        await answering.waitFor();
        assert.equal(await page.getByText('was opened from a file').count(), 0);
        visitor.checkHarmless();
    });
});

test('dropped text is attached to the message and read with it; pictures and unknown things are refused with a sentence', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu`);
        const { page } = visitor;
        await visitor.untilReady();
        await visitor.messageBox.fill('Please read this:');
        await drop(page, 'notes.txt', Buffer.from('The fox lives in the wood.'));
        const parts = page.locator('.composer .parts li');
        await parts.getByText('notes.txt').first().waitFor();
        assert.equal(await visitor.messageBox.inputValue(), 'Please read this:');
        await drop(page, 'photo.png', Buffer.from('89504e470d0a1a0a', 'hex'));
        await page.getByText('Storyteller cannot see pictures yet.').waitFor();
        await page.evaluate(() => {
            const clipboardData = new DataTransfer();
            clipboardData.items.add(new File(['ID3'], 'song.mp3', { type: 'audio/mpeg' }));
            document.querySelector('textarea')?.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
        });
        await page.getByText('Storyteller cannot hear sound yet.').waitFor();
        await drop(page, 'report.xyz', Buffer.from('d0cf11e0', 'hex'));
        await page.getByText('report.xyz is neither a model, an adapter nor something a model can read.').waitFor();
        // From another page it is on its way to the message too.
        await page.getByRole('link', { name: 'Models', exact: true }).click();
        await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
        await drop(page, 'more.md', Buffer.from('# More'));
        await parts.filter({ hasText: 'more.md' }).waitFor();
        // The file alone is a message, and comes back with the conversation.
        await page.getByRole('button', { name: 'Send' }).click();
        await visitor.answer();
        assert.equal(await parts.count(), 0);
        const shown = page.locator('.message.user .parts');
        await shown.getByText('more.md').waitFor();
        await page.reload();
        await shown.getByText('more.md').click();
        await shown.getByText('# More').waitFor();
        visitor.checkHarmless();
    });
});

test('a model behind an address is judged, downloaded, kept, used again without a network, and deleted', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4 });
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/models`);
        const { page } = visitor;
        await page.getByRole('button', { name: /^Hugging Face/ }).click();
        await page.getByRole('searchbox').fill(`${app.site.url}/fixtures/tiny-moe-q4km.gguf`);
        await page.getByRole('searchbox').press('Enter');
        const row = page.locator('.hub .model');
        await row.getByRole('button', { name: /^Get:/ }).click();
        await row.getByText('Its source names no licence').waitFor();
        await row.getByRole('button', { name: 'Agree and get' }).click();
        await row.getByRole('button', { name: /^Answer with it/ }).click();
        // By its name: one that only comes is told of in the same row.
        const loaded = page.locator('.current .who b', { hasText: 'tiny-moe-q4km' }).locator('.dot.ready');
        await loaded.waitFor();

        await visitor.untilKept();
        await context.setOffline(true);
        await page.reload();
        await loaded.waitFor();
        await context.setOffline(false);
        // A model in use is not deleted under its engine's hands.
        const remove = page.getByRole('button', { name: 'Delete tiny-moe-q4km' });
        await remove.click();
        await page.getByText('tiny-moe-q4km answers now; choose another model first.').waitFor();
        await page.getByRole('button', { name: 'Answer with it: Storyteller' }).click();
        await page.locator('.current .who b', { hasText: 'Storyteller' }).locator('.dot.ready').waitFor();
        await remove.click();
        await remove.waitFor({ state: 'detached' });
        visitor.checkHarmless();
    });
});

test('pages: models, bench, diagnostics and settings', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        await visitor.untilReady();
        await page.getByRole('link', { name: 'Models', exact: true }).click();
        await page.getByText('gemma4:e2b').waitFor();
        await page.locator('.model-list .fit').first().filter({ hasText: 'too large' }).waitFor();
        await page.getByText('comes with the page, works without a network').waitFor();

        await page.getByRole('link', { name: 'Bench' }).click();
        await page.getByLabel('Tokens to read').fill('32');
        await page.getByLabel('Tokens to write').fill('8');
        await page.getByLabel('Runs').fill('1');
        await page.getByRole('button', { name: 'Measure' }).click();
        // The names are those of `lapidary bench --json`: it is the same measurement.
        const measured = JSON.parse((await page.locator('pre.json').textContent()) ?? '') as Record<string, unknown>;
        assert.deepEqual([measured['prompt_tokens'], measured['decode_tokens'], measured['backend']], [32, 8, 'cpu']);
        for (const name of ['prefill_tps', 'decode_tps', 'weight_bytes_per_token', 'bytes_per_second']) {
            assert.ok(Number(measured[name]) > 0, name);
        }

        const rates = await page.locator('.results').innerText();
        await page.getByRole('button', { name: 'Measure' }).click();
        await page.locator('.benches li').waitFor();

        await page.getByRole('link', { name: 'Diagnostics' }).click();
        await page.getByRole('button', { name: 'Run the self-test' }).click();
        await page.locator('.self-test .passed').nth(2).waitFor();
        assert.equal(await page.locator('.self-test .problem').count(), 0);
        const facts = await page.locator('.page').innerText();
        assert.doesNotMatch(facts, /kv cache|per layer|backend auto|\(a guess\)/i, 'words for people');

        // What was measured is still there, also after a reload.
        await page.goBack();
        await page.locator('.benches li').waitFor();
        await page.reload();
        await page.locator('.benches li').waitFor();
        const earlier = rates.split('\n').filter((part) => /\d/.test(part));
        for (const rate of earlier) assert.ok((await page.locator('.benches').innerText()).includes(rate), rate);

        await page.getByRole('link', { name: 'Settings' }).click();
        await page.getByLabel('System prompt').fill('You are a hen.');
        const stored = async () =>
            await page.evaluate(() => JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}') as Record<string, unknown>);
        await page.getByLabel('Temperature').fill('99');
        await page.getByText('Not used: a number from 0 to 2 is needed.').waitFor();
        assert.equal((await stored())['temperature'], undefined);
        await page.getByLabel('Temperature').fill('0.5');
        await page.getByText('Not used:').waitFor({ state: 'detached' });
        assert.equal((await stored())['temperature'], 0.5);
        // An address as one finds it in a log; the models are asked for with Enter.
        await page.getByLabel('Address').fill(`${app.site.url}/v1/chat/completions`);
        await page.getByLabel('Key').press('Enter');
        await page.getByText('2 models: first-model, second-model').waitFor();
        const endpoint = { kind: 'openai', url: `${app.site.url}/v1`, key: '', model: 'first-model' };
        assert.deepEqual((await stored())['endpoint'], endpoint);
        await page.getByRole('button', { name: /Theme/ }).click();
        await page.getByRole('button', { name: /Theme/ }).click();
        assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
        visitor.checkHarmless();
    });
});
