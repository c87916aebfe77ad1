// Talking to the built-in model in a real browser.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import { openApp } from './app.js';
import { Visitor, changeSettings, prepareSettings } from './browser.js';

const app = openApp();
const brief = { maxTokens: 24, seed: 7 };

test('the built-in model loads by itself and answers to the end', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 100, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
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

/**
 * An answer that can be interrupted on any machine: without the CPU's kernels the reference writes it, and with every token
 * as likely as another it seldom finds an end.
 */
async function answerSlowly(context: BrowserContext): Promise<void> {
    await prepareSettings(context, { maxTokens: 1500, temperature: 2, topK: 0, topP: 1, seed: 1 });
    await context.route(/cpu-(base|relaxed)/, async (route) => await route.abort());
}

/** In the page, because who asks for it from outside may come too late. */
async function stopWhenWriting(page: Page): Promise<void> {
    await page.evaluate(() => {
        const observer = new MutationObserver(() => {
            if (!document.querySelector('.message.assistant .markdown')?.textContent) return;
            observer.disconnect();
            document.querySelector<HTMLButtonElement>('button[aria-label="Stop"]')?.click();
        });
        observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    });
}

test('an answer can be stopped, asked for again, and its question edited; nothing is lost', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await answerSlowly(context);
        const person = await Visitor.arrive(context, app.site.url);
        const { page } = person;
        await stopWhenWriting(page);
        await person.say('Tell me a long story');
        const first = await person.answer();
        assert.match(first, /Stopped\./);
        await page.getByRole('button', { name: 'Send', exact: true }).waitFor();

        await changeSettings(page, { maxTokens: 12 });
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

        // The rest of it, where it is.
        const text = async () => await person.answers.first().locator('.markdown').innerText();
        const begun = await text();
        await page.getByRole('button', { name: 'Go on' }).click();
        await page.getByText('Stopped.').waitFor({ state: 'detached' });
        await person.answer();
        assert.ok((await text()).startsWith(begun), `${begun} … ${await text()}`);
        person.checkHarmless();
    });
});

test('a page that is closed in the middle of an answer keeps what was said', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await answerSlowly(context);
        const visitor = await Visitor.arrive(context, app.site.url);
        await visitor.say('Tell me a very long story');
        await visitor.page.waitForFunction(() => {
            const said = document.querySelector('.message.assistant .markdown')?.textContent ?? '';
            return said.length > 60;
        });
        await visitor.until(
            'what was said on the disk',
            async () => {
                const asked = indexedDB.open('lapidary');
                const open = await new Promise<IDBDatabase>((resolve) => (asked.onsuccess = () => resolve(asked.result)));
                const reading = open.transaction('messages').objectStore('messages').getAll();
                const messages = await new Promise<{ role: string; content: string }[]>(
                    (resolve) => (reading.onsuccess = () => resolve(reading.result as never)),
                );
                open.close();
                return messages.some(({ role, content }) => role === 'assistant' && content.length > 60);
            },
            undefined,
        );
        const address = visitor.page.url();
        await visitor.page.close({ runBeforeUnload: false });

        const again = await Visitor.arrive(context, address);
        // Not before the browser knows that the other page is gone.
        await again.answers.getByText('closed before this was finished').waitFor();
        const text = await again.answer();
        assert.ok(text.length > 60, text);
        await again.page.getByRole('button', { name: 'Try again' }).waitFor();
    });
});

test('a conversation that outgrows the context goes on without its beginning', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 8, contextLength: 128 });
        const visitor = await Visitor.arrive(context, app.site.url);
        for (let turn = 0; turn < 3; turn++) {
            await visitor.say(`Turn ${turn}: ${'one more thing that the fox did in the wood '.repeat(4)}`);
            await visitor.answer(turn);
        }
        // Two turns have 123 tokens, and of the 128 there must be room for 8.
        assert.match(await visitor.answer(2), /outgrown the model’s context: its first 4 messages were left out\./);
        assert.doesNotMatch(await visitor.answer(0), /outgrown/);
    });
});

test('conversations are found again, renamed, searched, exported, deleted and brought back', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        await visitor.say('The elephant question');
        const said = await visitor.answer();
        await page.getByRole('link', { name: 'New chat' }).click();
        await visitor.say('The walrus question');
        await visitor.answer();
        await page.reload();
        await page.locator('.conversations li').nth(1).waitFor(); // they are read from the disk
        await page.locator('.message.user .said', { hasText: 'The walrus question' }).waitFor();
        assert.equal(await page.locator('.conversations li').count(), 2);
        await page.getByRole('link', { name: 'The elephant question' }).click();
        await page.locator('.message.user .said', { hasText: 'The elephant question' }).waitFor();
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
        await page.waitForFunction(() => document.activeElement?.textContent === 'Trunks');
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

test('thoughts are folded, tool calls are shown and their results sent back', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const endpoint = { kind: 'openai', url: app.site.url, key: '', model: 'm' };
        await prepareSettings(context, { useEndpoint: true, endpoint });
        const call = { index: 0, id: 'call_1', function: { name: 'weather', arguments: '{"city":"Bern"}' } };
        app.site.remoteAnswers = [
            [{ reasoning_content: 'I should look outside.' }, { content: 'Let me see.' }, { tool_calls: [call] }],
            [{ content: 'It rains in Bern.' }],
        ];
        const visitor = await Visitor.arrive(context, app.site.url);
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

test('tools of the app are used by the model itself, each call for each result, until it is done', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const endpoint = { kind: 'openai', url: app.site.url, key: '', model: 'm' };
        await prepareSettings(context, { useEndpoint: true, endpoint, ownTools: ['calculate'] });
        const calls = ['6 * 7', 'nonsense'].map((expression, index) => ({
            index,
            id: `call_${index}`,
            function: { name: 'calculate', arguments: JSON.stringify({ expression }) },
        }));
        app.site.remoteAnswers = [[{ content: 'Let me see.' }, { tool_calls: calls }], [{ content: 'It is 42.' }]];
        const visitor = await Visitor.arrive(context, app.site.url);
        await visitor.say('What is six times seven?');
        assert.match(await visitor.answer(1), /It is 42/);
        const results = visitor.page.locator('.message.tool .tool-result');
        assert.deepEqual(await results.allInnerTexts(), ['42', "Error: 'nonsense' is neither a number nor a function"]);
        await visitor.page.goto(`${app.site.url}/#/settings`);
        assert.equal(await visitor.page.getByLabel(/^Calculator/).isChecked(), true);
        assert.equal(await visitor.page.getByLabel(/^Date and time/).isChecked(), false);
        visitor.checkHarmless();
    });
});

test('what a hostile model writes is harmless text', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const endpoint = { kind: 'openai', url: app.site.url, key: '', model: 'evil' };
        await prepareSettings(context, { useEndpoint: true, endpoint });
        const evil = [
            '<script>window.hacked = 1</script>\n\n<img src=x onerror="window.hacked = 2">\n\n',
            '[a link](javascript:window.hacked=3) and [another](https://example.com "t")\n\n',
            '![pixel](http://127.0.0.1:1/pixel.png)\n\n<iframe src="https://example.com"></iframe>\n\n',
            '<style>body { display: none }</style>\n\n<a href="data:text/html,x" onclick="window.hacked = 4">x</a>\n\n',
            '<svg onload="window.hacked=5"><form action="https://example.com"><input name=q></form></svg>\n\n',
            '```html"onmouseover="window.hacked=6\n<b>code</b>\n```\n\n| a | b |\n|---|---|\n| **bold** | `x` |\n',
        ];
        app.site.remoteAnswers = [evil.map((content) => ({ content }))];
        const visitor = await Visitor.arrive(context, app.site.url);
        const requests: string[] = [];
        visitor.page.on('request', (request) => requests.push(request.url()));
        await visitor.say('Do your worst');
        const text = await visitor.answer();
        assert.match(text, /<script>window\.hacked = 1<\/script>/, 'HTML is shown, not obeyed');
        const body = visitor.answers.first().locator('.body');
        assert.equal(await visitor.page.evaluate(() => (window as { hacked?: number }).hacked), undefined);
        const forbidden = 'script, img, iframe, style, svg:not(.icon), form, input, [onclick], [onerror]';
        assert.equal(await body.locator(forbidden).count(), 0);
        assert.equal(await body.locator('a[href^="javascript"], a[href^="data"]').count(), 0);
        const link = body.locator('a[href="https://example.com"]');
        assert.match((await link.first().getAttribute('rel')) ?? '', /noopener/);
        assert.equal(await body.locator('strong').innerText(), 'bold');
        assert.equal(await body.locator('.code pre').innerText(), '<b>code</b>');
        await context.grantPermissions(['clipboard-read', 'clipboard-write']);
        await body.getByRole('button', { name: 'Copy code' }).click();
        await visitor.until('the copy', async () => (await navigator.clipboard.readText()) === '<b>code</b>', undefined);
        assert.ok(requests.every((url) => url.startsWith(app.site.url)), requests.join('\n'));
        visitor.checkHarmless();
    });
});

test('the whole chat works with the keyboard alone, and an answer is spoken in sentences', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 60, seed: 3 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
        await visitor.untilFocused('Message'); // the box is ready to type in
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
        await page.getByRole('button', { name: 'Answer again' }).waitFor();
        assert.equal(await focused(), 'Message', 'one is still where one was');
        for (let presses = 0; presses < 8 && (await focused()) !== 'Answer again'; presses++) {
            await page.keyboard.press('Shift+Tab');
        }
        assert.equal(await focused(), 'Answer again');
        const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle);
        assert.equal(outline, 'solid', 'one sees where one is');
        await page.keyboard.press('Enter');
        await page.getByText('2/2').waitFor();
        await visitor.answer();

        for (const landmark of ['main', '[role=complementary]', 'nav', 'header', 'h1']) {
            assert.ok((await page.locator(landmark).count()) > 0, landmark);
        }
        const unnamed = await page.locator('button, a, input, textarea').evaluateAll((all) =>
            all
                .filter((one) => !one.textContent?.trim() && !one.getAttribute('aria-label'))
                .filter((one) => !(one as HTMLInputElement).labels?.length)
                .map((one) => one.outerHTML),
        );
        assert.deepEqual(unnamed, []);
    });
});
