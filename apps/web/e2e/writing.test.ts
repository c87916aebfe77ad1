// Writing to the model: drafts, pastes, edits, and answers that were broken off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';

const app = openApp({ gpu: false });

test('a broken-off answer goes on as if it had never stopped', { skip: app.skip }, async () => {
    const question = 'Tell me a story about a fox';
    const whole = await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 24, seed: 11 });
        const visitor = await Visitor.arrive(context, app.site.url);
        await visitor.say(question);
        await visitor.answer();
        return await visitor.answers.first().locator('.markdown').innerText();
    });
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 8, seed: 11 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        const text = async () => await visitor.answers.first().locator('.markdown').innerText();
        await visitor.say(question);
        assert.match(await visitor.answer(), /reached its length limit/);
        assert.ok(whole.startsWith(await text()), await text());
        // Kept where a reload finds it.
        await page.reload();
        for (const tokens of [16, 24]) {
            await page.getByRole('button', { name: 'Go on' }).click();
            await page.locator('.speed', { hasText: `${tokens} tokens` }).waitFor();
        }
        assert.equal(await text(), whole);
        assert.equal(await visitor.answers.count(), 1, 'it grew where it was');
        visitor.checkHarmless();
    });
});

test('drafts stay with their conversation, and a reload does not lose them', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page, messageBox } = visitor;
        const draft = async (text: string) =>
            await page.waitForFunction(
                (wanted) => document.querySelector<HTMLTextAreaElement>('.composer textarea')?.value === wanted,
                text,
            );
        await visitor.say('# The **elephant** question\n\nwith more');
        await visitor.answer();
        const title = 'The elephant question with more';
        assert.equal(await page.locator('header h1').innerText(), title, 'no Markdown in titles');
        await messageBox.fill('half a question');
        await page.getByRole('link', { name: 'New chat' }).click();
        await draft('');
        await messageBox.fill('something else');
        await page.getByRole('link', { name: title }).click();
        await draft('half a question');
        await page.getByRole('link', { name: 'Settings' }).click();
        await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
        await page.goBack();
        await draft('half a question');
        await page.reload();
        await draft('half a question');
        await messageBox.press('Enter');
        await visitor.answer(1);
        await page.reload();
        await page.locator('.message').nth(3).waitFor();
        await draft('');
        await page.getByRole('link', { name: 'New chat' }).click();
        await draft('something else');

        await page.goto(`${app.site.url}/#/c/nobody`);
        await page.getByText('That conversation is not in this browser. Here is a new one.').waitFor();
        visitor.checkHarmless();
    });
});

test('a long title gives way to what says which model answers', { skip: app.skip }, async () => {
    await app.visit(
        async (context) => {
            await prepareSettings(context, { maxTokens: 4, seed: 1 });
            const visitor = await Visitor.arrive(context, app.site.url);
            const { page } = visitor;
            await visitor.say('Tell me a story about a girl who finds a shiny stone in the wood behind her house');
            await visitor.answer();
            await page.locator('.context meter').waitFor();
            // By less than a pixel is cut off too.
            const missing = async (selector: string) =>
                await page.locator(selector).evaluate((one) => {
                    const text = document.createRange();
                    text.selectNodeContents(one);
                    return text.getBoundingClientRect().width - one.getBoundingClientRect().width;
                });
            for (const part of ['name', 'detail']) assert.ok((await missing(`.chip .${part}`)) < 0.02, `the ${part} is cut off`);
            assert.ok((await missing('header h1')) > 10, 'the title is longer than there is room for');
            visitor.checkHarmless();
        },
        { viewport: { width: 1280, height: 800 } },
    );
});

test('a pasted picture is refused in a sentence, text goes in, and what is long is folded', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page, messageBox } = visitor;
        await visitor.untilReady();
        const paste = async (files: [name: string, type: string][], text?: string) =>
            await messageBox.evaluate(
                (box, [files, text]) => {
                    const clipboardData = new DataTransfer();
                    for (const [name, type] of files) clipboardData.items.add(new File(['x'], name, { type }));
                    if (text !== undefined) clipboardData.setData('text/plain', text);
                    const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
                    return box.dispatchEvent(event);
                },
                [files, text] as const,
            );
        assert.equal(await paste([['photo.png', 'image/png']]), false);
        await page.getByText('Storyteller cannot see pictures yet.').waitFor();
        assert.equal(await messageBox.inputValue(), '');
        assert.equal(await paste([['cells.png', 'image/png']], 'a\tb'), true, 'a table brings a picture of itself');

        await visitor.say(Array.from({ length: 412 }, (_, i) => `line ${i}`).join('\n'));
        const said = page.locator('.message.user .said');
        const unfold = page.getByRole('button', { name: 'Show all 412 lines' });
        await unfold.waitFor();
        assert.equal((await said.innerText()).includes('line 12'), false);
        await unfold.click();
        assert.match(await said.innerText(), /line 411$/);
        await page.getByRole('button', { name: 'Show less' }).click();
        await unfold.waitFor();
        visitor.checkHarmless();
    });
});

test('a message is edited with the keyboard, and one is never lost on the way', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, { maxTokens: 4, seed: 1 });
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page } = visitor;
        await visitor.say('First words');
        await visitor.answer();
        const edit = page.getByRole('button', { name: 'Edit and ask again' });
        const box = page.getByRole('textbox', { name: 'Edit message' });
        const focused = async (label: string) => await visitor.untilFocused(label);
        await edit.focus();
        await page.keyboard.press('Enter');
        await focused('Edit message');
        await page.keyboard.press('Escape');
        await focused('Edit and ask again');
        await page.keyboard.press('Enter');
        await focused('Edit message');
        await page.keyboard.press('Shift+Enter');
        await page.keyboard.type('and second');
        await page.keyboard.press('Enter');
        await box.waitFor({ state: 'detached' });
        assert.equal(await page.locator('.message.user .said').innerText(), 'First words\nand second');
        await focused('Message');
        await visitor.answer();
        await page.getByText('2/2').waitFor();
        visitor.checkHarmless();
    });
});
