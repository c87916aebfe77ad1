// The app in a real browser, with the built-in model.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, BrowserContext } from 'playwright-core';
import { Visitor, chromiumIsThere, chromiumPath, launch, prepareSettings } from './browser.js';
import { Site, repository } from './site.js';

const skip = chromiumIsThere ? false : `${chromiumPath} is not there`;
let site: Site;
let browser: Browser;

before(async () => {
    if (skip) return;
    site = await Site.start();
    browser = await launch();
});
after(async () => {
    await browser?.close();
    site?.stop();
});

/** A fresh person: nothing stored, nothing cached. */
async function visiting<T>(work: (context: BrowserContext) => Promise<T>, options = {}): Promise<T> {
    const context = await browser.newContext(options);
    try {
        return await work(context);
    } finally {
        await context.close();
    }
}

const brief = { maxTokens: 24, seed: 7 };

test('the built-in model loads by itself and answers to the end', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 200, seed: 1 });
        const visitor = await Visitor.arrive(context, site.url);
        // At once: the message waits for the model.
        await visitor.say('Tell me a story about a fox');
        const answer = await visitor.answer();
        assert.ok(answer.length > 40, answer);
        assert.match(await visitor.answers.first().locator('.speed').innerText(), /tokens\/s/);
        assert.match(visitor.page.url(), /#\/c\//);
        assert.equal(await visitor.page.locator('.context meter').count(), 1);
        visitor.checkHarmless();
    });
});

test('the same on the GPU', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 2, temperature: 0 });
        const visitor = await Visitor.arrive(context, `${site.url}/?backend=gpu`);
        await visitor.say('Hi');
        assert.ok((await visitor.answer()).length > 0);
        assert.match(await visitor.page.locator('.chip').innerText(), /GPU/);
        visitor.checkHarmless();
    });
});

test('an answer can be stopped, asked for again, and its question edited; nothing is lost', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 1500 });
        const person = await Visitor.arrive(context, site.url);
        const { page } = person;
        await person.say('Tell me a long story');
        await person.untilWriting();
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        const first = await person.answer();
        assert.match(first, /Stopped\./);
        await page.getByRole('button', { name: 'Send', exact: true }).waitFor();

        await page.evaluate(() => {
            const stored = JSON.parse(localStorage.getItem('lapidary-settings') ?? '{}') as object;
            const text = JSON.stringify({ ...stored, maxTokens: 12 });
            localStorage.setItem('lapidary-settings', text);
            dispatchEvent(new StorageEvent('storage', { key: 'lapidary-settings', newValue: text }));
        });
        await page.getByRole('button', { name: 'Answer again' }).click();
        await page.getByText('2/2').waitFor();
        await person.answer();
        await page.getByRole('button', { name: 'Previous version' }).click();
        assert.match(await person.answer(), /Stopped\./);

        await page.locator('.message.user').hover();
        await page.getByRole('button', { name: 'Edit and ask again' }).click();
        await page.getByRole('textbox', { name: 'Edit message' }).fill('Say hello');
        await page.getByRole('button', { name: 'Ask again' }).click();
        await page.locator('.message.user .said', { hasText: 'Say hello' }).waitFor();
        await person.answer();
        await page.locator('.message.user').hover();
        await page.locator('.message.user').getByRole('button', { name: 'Previous version' }).click();
        await page.locator('.message.user .said', { hasText: 'Tell me a long story' }).waitFor();
        assert.match(await person.answer(), /Stopped\./);
        person.checkHarmless();
    });
});

test('a page that is closed in the middle of an answer keeps what was said', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 1500 });
        const visitor = await Visitor.arrive(context, site.url);
        await visitor.say('Tell me a very long story');
        await visitor.page.waitForFunction(() => (document.querySelector('.message.assistant .markdown')?.textContent ?? '').length > 60);
        // Saved twice a second: give it that.
        await visitor.page.waitForTimeout(700);
        const address = visitor.page.url();
        await visitor.page.close({ runBeforeUnload: false });

        const again = await Visitor.arrive(context, address);
        const text = await again.answer();
        assert.ok(text.length > 60, text);
        assert.match(text, /closed before this was finished/);
        await again.page.getByRole('button', { name: 'Try again' }).waitFor();
    });
});

test('a conversation that outgrows the context goes on without its beginning', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 8, contextLength: 128 });
        const visitor = await Visitor.arrive(context, site.url);
        for (let turn = 0; turn < 3; turn++) {
            await visitor.say(`Turn ${turn}: ${'one more thing that the fox did in the wood '.repeat(4)}`);
            await visitor.answer(turn);
        }
        assert.match(await visitor.answer(2), /outgrown the model’s context: its first 2 messages/);
    });
});

test('conversations are found again, renamed, searched, exported, deleted and brought back', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, site.url);
        const { page } = visitor;
        await visitor.say('The elephant question');
        const said = await visitor.answer();
        await page.getByRole('link', { name: 'New chat' }).click();
        await visitor.say('The walrus question');
        await visitor.answer();
        await page.reload();
        assert.equal(await page.locator('.conversations li').count(), 2);
        await page.getByRole('link', { name: 'The elephant question' }).click();
        assert.equal((await visitor.answer()).trim(), said.trim());

        await page.getByRole('searchbox', { name: 'Search conversations' }).fill('walrus');
        await page.locator('.conversations li').filter({ hasText: 'elephant' }).waitFor({ state: 'detached' });
        await page.getByRole('searchbox', { name: 'Search conversations' }).fill('');

        const choose = async (title: string, item: string) => {
            await page.locator('.conversations li', { hasText: title }).hover();
            await page.getByRole('button', { name: `More for ${title}` }).click();
            await page.getByRole('menuitem', { name: item }).click();
        };
        await choose('The elephant question', 'Rename');
        await page.getByRole('textbox', { name: 'New title' }).fill('Trunks');
        await page.keyboard.press('Enter');
        const download = page.waitForEvent('download');
        await choose('Trunks', 'Export as Markdown');
        const file = await download;
        assert.equal(file.suggestedFilename(), 'Trunks.md');
        assert.match(await readFile((await file.path()) ?? '', 'utf8'), /^# Trunks\n\n## You\n\nThe elephant question/);

        await choose('Trunks', 'Delete');
        await page.locator('.conversations li', { hasText: 'Trunks' }).waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Undo' }).click();
        await page.locator('.conversations li', { hasText: 'Trunks' }).waitFor();
        visitor.checkHarmless();
    });
});

test('without a network the app opens and chats', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, site.url);
        await visitor.untilReady();
        await visitor.page.evaluate(async () => void (await navigator.serviceWorker.ready));
        await context.setOffline(true);
        await visitor.page.reload();
        await visitor.say('Are you still there?');
        assert.ok((await visitor.answer()).length > 0);
        await visitor.page.getByRole('link', { name: 'Settings' }).click();
        await visitor.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
        await context.setOffline(false);
    });
});

test('a second tab uses the model of the first, and takes over when the first is closed', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, brief);
        const first = await Visitor.arrive(context, site.url);
        await first.untilReady();
        const workers = () => first.page.workers().length;
        assert.equal(workers(), 1);
        const second = await Visitor.arrive(context, site.url);
        await second.untilReady();
        assert.equal(second.page.workers().length, 0, 'the second tab has no engine of its own');
        await second.say('Hello from the second tab');
        assert.ok((await second.answer()).length > 0);
        await first.page.locator('.conversations li', { hasText: 'Hello from the second tab' }).waitFor();

        // In the middle of an answer.
        await second.page.evaluate(() => {
            const text = JSON.stringify({ maxTokens: 120 });
            localStorage.setItem('lapidary-settings', text);
            dispatchEvent(new StorageEvent('storage', { key: 'lapidary-settings', newValue: text }));
        });
        await second.say('A long story, please');
        await second.untilWriting(1);
        await first.page.close();
        assert.ok((await second.answer(1)).length > 0);
        assert.equal(second.page.workers().length, 1, 'now it has');
        second.checkHarmless();
    });
});

test('a dropped GGUF file is loaded; something else is refused with a sentence', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { ...brief, maxTokens: 4 });
        const visitor = await Visitor.arrive(context, `${site.url}/?backend=cpu`);
        await visitor.untilReady();
        const drop = async (name: string, bytes: Buffer) => {
            const transfer = await visitor.page.evaluateHandle(
                ([title, text]) => {
                    const transfer = new DataTransfer();
                    const data = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
                    transfer.items.add(new File([data], title));
                    return transfer;
                },
                [name, bytes.toString('base64')] as const,
            );
            for (const type of ['dragenter', 'dragover', 'drop']) {
                await visitor.page.dispatchEvent('body', type, { dataTransfer: transfer });
            }
        };
        await drop('notes.txt', Buffer.from('hello'));
        await visitor.page.getByText("'notes.txt' is not a model").waitFor();
        await drop('broken.gguf', Buffer.from('GGUFnonsense'));
        await visitor.page.locator('.chip .dot.failed').waitFor();
        assert.ok((await visitor.page.locator('.composer .problem').innerText()).length > 10);
        await drop('tiny.gguf', await readFile(path.join(repository, 'tests/data/fixtures/tiny-e2b-q4_0.gguf')));
        await visitor.page.locator('.chip', { hasText: 'tiny.gguf' }).waitFor();
        await visitor.untilReady();
        await visitor.say('Hi');
        await visitor.answer();
        visitor.checkHarmless();
    });
});

test('a model behind an address is judged, downloaded, kept, used again without a network, and deleted', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 4 });
        const visitor = await Visitor.arrive(context, `${site.url}/#/models`);
        const { page } = visitor;
        await page.getByPlaceholder('model.gguf').fill(`${site.url}/fixtures/tiny-moe-q4km.gguf`);
        await page.getByRole('button', { name: 'Look' }).click();
        assert.match(await page.locator('form .fit').innerText(), /^fits/);
        await page.getByRole('button', { name: 'Load', exact: true }).click();
        const loaded = page.locator('.current', { hasText: 'tiny-moe-q4km.gguf' }).locator('.dot.ready');
        await loaded.waitFor();
        const kept = page.getByRole('button', { name: 'Delete tiny-moe-q4km.gguf' });
        await kept.waitFor();

        await page.evaluate(async () => void (await navigator.serviceWorker.ready));
        await context.setOffline(true);
        await page.reload();
        await loaded.waitFor();
        await context.setOffline(false);
        // A model in use cannot be deleted under its engine's hands.
        await page.getByRole('button', { name: 'Load', exact: true }).first().click();
        await page.locator('.current', { hasText: 'Storyteller' }).locator('.dot.ready').waitFor();
        await kept.click();
        await kept.waitFor({ state: 'detached' });
        visitor.checkHarmless();
    });
});

test('what a hostile model writes is harmless text', { skip }, async () => {
    await visiting(async (context) => {
        const endpoint = { kind: 'openai', url: site.url, key: '', model: 'evil' };
        await prepareSettings(context, { useEndpoint: true, endpoint });
        const evil = [
            '<script>window.hacked = 1</script>\n\n<img src=x onerror="window.hacked = 2">\n\n',
            '[a link](javascript:window.hacked=3) and [another](https://example.com "t")\n\n',
            '![pixel](http://127.0.0.1:1/pixel.png)\n\n<iframe src="https://example.com"></iframe>\n\n',
            '<style>body { display: none }</style>\n\n<a href="data:text/html,x" onclick="window.hacked = 4">x</a>\n\n',
            '<svg onload="window.hacked=5"><form action="https://example.com"><input name=q></form></svg>\n\n',
            '```html"onmouseover="window.hacked=6\n<b>code</b>\n```\n\n| a | b |\n|---|---|\n| **bold** | `x` |\n',
        ];
        site.remoteAnswers = [evil.map((content) => ({ content }))];
        const visitor = await Visitor.arrive(context, site.url);
        const requests: string[] = [];
        visitor.page.on('request', (request) => requests.push(request.url()));
        await visitor.say('Do your worst');
        const text = await visitor.answer();
        assert.match(text, /<script>window\.hacked = 1<\/script>/, 'HTML is shown, not obeyed');
        const body = visitor.answers.first().locator('.body');
        assert.equal(await visitor.page.evaluate(() => (window as { hacked?: number }).hacked), undefined);
        assert.equal(await body.locator('script, img, iframe, style, svg:not(.icon), form, input, [onclick], [onerror]').count(), 0);
        assert.equal(await body.locator('a[href^="javascript"], a[href^="data"]').count(), 0);
        const link = body.locator('a[href="https://example.com"]');
        assert.match((await link.first().getAttribute('rel')) ?? '', /noopener/);
        assert.equal(await body.locator('strong').innerText(), 'bold');
        assert.equal(await body.locator('.code pre').innerText(), '<b>code</b>');
        await context.grantPermissions(['clipboard-read', 'clipboard-write']);
        await body.getByRole('button', { name: 'Copy code' }).click();
        assert.equal(await visitor.page.evaluate(() => navigator.clipboard.readText()), '<b>code</b>');
        assert.ok(requests.every((url) => url.startsWith(site.url)), requests.join('\n'));
        visitor.checkHarmless();
    });
});

test('thoughts are folded, tool calls are shown and their results sent back', { skip }, async () => {
    await visiting(async (context) => {
        const endpoint = { kind: 'openai', url: site.url, key: '', model: 'm' };
        await prepareSettings(context, { useEndpoint: true, endpoint });
        const call = { index: 0, id: 'call_1', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
        site.remoteAnswers = [
            [{ reasoning_content: 'I should look outside.' }, { content: 'Let me see.' }, { tool_calls: [call] }],
            [{ content: 'It rains in Bern.' }],
        ];
        const visitor = await Visitor.arrive(context, site.url);
        const { page } = visitor;
        await visitor.say('How is the weather?');
        await visitor.answer();
        const thoughts = page.getByText('I should look outside.');
        assert.equal(await thoughts.isVisible(), false);
        await page.getByText('Thoughts').click();
        await thoughts.waitFor();
        assert.match(await page.locator('.tool-call pre').innerText(), /"city": "Bern"/);
        await page.getByRole('textbox', { name: 'Result of weather' }).fill('rain');
        await page.getByRole('button', { name: 'Send the result' }).click();
        assert.match(await visitor.answer(1), /It rains in Bern/);
        assert.equal(await page.locator('.message.tool').innerText().then((text) => text.includes('rain')), true);
        visitor.checkHarmless();
    });
});

test('the whole chat works with the keyboard alone, and an answer is spoken in sentences', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, { maxTokens: 60, seed: 3 });
        const visitor = await Visitor.arrive(context, site.url);
        const { page } = visitor;
        await visitor.messageBox.waitFor();
        const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent);
        assert.equal(await focused(), 'Message', 'the box is ready to type in');
        await page.keyboard.type('Tell me a story');
        await page.keyboard.press('Shift+Enter');
        await page.keyboard.type('about a hen');
        await page.keyboard.press('Enter');
        await visitor.untilWriting();
        await page.keyboard.press('Escape');
        await visitor.answer();
        assert.equal(await visitor.page.locator('.message.user .said').innerText(), 'Tell me a story\nabout a hen');
        await page.waitForFunction(() => (document.querySelector('[aria-live].only-spoken')?.textContent ?? '') !== '');

        // Backwards out of the box to the buttons of the answer.
        for (let presses = 0; presses < 8 && (await focused()) !== 'Answer again'; presses++) await page.keyboard.press('Shift+Tab');
        assert.equal(await focused(), 'Answer again');
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle);
        assert.equal(outline, 'solid', 'one sees where one is');
        await page.keyboard.press('Enter');
        await page.getByText('2/2').waitFor();
        await visitor.answer();

        const landmarks = await page.evaluate(() => ['main', 'aside', 'nav', 'header', 'h1'].map((name) => document.querySelectorAll(name).length));
        assert.ok(landmarks.every((count) => count >= 1), String(landmarks));
        const unnamed = await page.locator('button, a, input, textarea').evaluateAll((all) =>
            all.filter((one) => !(one.textContent ?? '').trim() && !one.getAttribute('aria-label') && !(one as HTMLInputElement).labels?.length).map((one) => one.outerHTML),
        );
        assert.deepEqual(unnamed, []);
    });
});

test('pages: models, bench, diagnostics and settings', { skip }, async () => {
    await visiting(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, site.url);
        const { page } = visitor;
        await visitor.untilReady();
        await page.getByRole('link', { name: 'Models' }).click();
        await page.getByText('gemma4:e2b').waitFor();
        assert.match(await page.locator('.model-list .fit').first().innerText(), /too large/);
        await page.getByText('storyteller-q4_k_m.gguf').waitFor();

        await page.getByRole('link', { name: 'Bench' }).click();
        await page.getByLabel('Tokens to read').fill('32');
        await page.getByLabel('Tokens to write').fill('8');
        await page.getByLabel('Runs').fill('1');
        await page.getByRole('button', { name: 'Measure' }).click();
        await page.getByText('"decode_tokens_per_second"').waitFor();

        await page.getByRole('link', { name: 'Diagnostics' }).click();
        await page.getByRole('button', { name: 'Run the self-test' }).click();
        await page.locator('.self-test .passed').nth(2).waitFor();
        assert.equal(await page.locator('.self-test .problem').count(), 0);

        await page.getByRole('link', { name: 'Settings' }).click();
        await page.getByLabel('System prompt').fill('You are a hen.');
        await page.getByRole('button', { name: /Theme/ }).click();
        await page.getByRole('button', { name: /Theme/ }).click();
        assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
        visitor.checkHarmless();
    });
});

test('without WebGPU the app says so and computes on the CPU', { skip }, async () => {
    const plain = await launch({ gpu: false });
    try {
        const context = await plain.newContext();
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, site.url);
        await visitor.untilReady();
        assert.match(await visitor.page.locator('.composer .under').innerText(), /WebGPU|GPU/);
        assert.match(await visitor.page.locator('.chip').innerText(), /CPU/);
        await visitor.say('Hello');
        assert.ok((await visitor.answer()).length > 0);
    } finally {
        await plain.close();
    }
});
