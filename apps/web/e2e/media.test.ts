// Pictures and sound in the page, with the built-in model and a projector of noise: what is shown is that they arrive.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { tinyProjector } from 'lapidary/testing/tiny-projector';
import { openApp } from './app.js';
import { Visitor, launch, prepareSettings } from './browser.js';
import { repository } from './site.js';

const app = openApp({ gpu: false });
const brief = { maxTokens: 4, temperature: 0 };
const media = path.join(repository, 'tests/data/media');
/** LAPIDARY_SHOTS=docs/images writes the pictures of the documents. */
const shots = process.env['LAPIDARY_SHOTS'];

async function shoot(page: Page, name: string): Promise<void> {
    if (shots) await page.screenshot({ path: path.join(repository, shots, `${name}.png`) });
}

async function paste(page: Page, file: string, type: string): Promise<void> {
    const text = (await fs.readFile(path.join(media, file))).toString('base64');
    await page.evaluate(
        ([name, data, mime]) => {
            const clipboardData = new DataTransfer();
            const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
            clipboardData.items.add(new File([bytes], name, { type: mime }));
            document.querySelector('textarea')?.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
        },
        [path.basename(file), text, type] as const,
    );
}

async function arrive(context: Parameters<typeof Visitor.arrive>[0]): Promise<Visitor> {
    await prepareSettings(context, brief);
    const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu`);
    await visitor.untilReady();
    await openEyes(visitor);
    return visitor;
}

/** The projector of the model that answers, dropped on the page. */
async function openEyes({ page }: Visitor): Promise<void> {
    const transfer = await page.evaluateHandle((text) => {
        const made = new DataTransfer();
        made.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], 'mmproj-tiny.gguf'));
        return made;
    }, Buffer.from(tinyProjector()).toString('base64'));
    for (const type of ['dragenter', 'dragover', 'drop']) await page.dispatchEvent('body', type, { dataTransfer: transfer });
    await page.getByRole('button', { name: 'Record', exact: true }).waitFor();
}

test('a pasted picture shows what it costs, is asked about, and is there again after a reload', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const visitor = await arrive(context);
        const { page } = visitor;
        await paste(page, 'img/photo.jpg', 'image/jpeg');
        const tile = page.locator('.composer .media');
        await tile.getByRole('button', { name: 'Show photo.jpg' }).locator('img').waitFor();
        const cost = async () => Number(/([\d,]+) tokens/.exec(await tile.locator('.cost').innerText())?.[1]?.replace(',', ''));
        await tile.getByText(/\d tokens/).waitFor();
        const usual = await cost();
        assert.ok(usual > 200 && usual <= 280, `${usual}`);
        await tile.getByRole('combobox').selectOption('small');
        await page.waitForFunction((before) => !document.querySelector('.composer .cost')?.textContent?.includes(`${before} tokens`), usual);
        assert.ok((await cost()) <= 70);
        await shoot(page, 'media');
        await tile.getByRole('button', { name: 'Show photo.jpg' }).click();
        await page.getByRole('dialog', { name: 'photo.jpg' }).getByLabel('What it shows, for who cannot see it').fill('A test picture');
        await page.getByRole('button', { name: 'Close', exact: true }).click();
        await visitor.say('What is this?');
        await visitor.answer();
        const sent = page.locator('.message.user .media');
        await sent.getByRole('img', { name: 'A test picture' }).waitFor();
        assert.equal(await tile.count(), 0);
        await page.reload();
        await visitor.untilReady();
        await openEyes(visitor);
        await sent.getByRole('img', { name: 'A test picture' }).waitFor();
        await visitor.say('And what else?');
        await visitor.answer(1);
        visitor.checkHarmless();
    });
});

test('a broken picture says so in its place', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const visitor = await arrive(context);
        const { page } = visitor;
        await paste(page, 'coded/print.jpg', 'image/jpeg');
        await page.locator('.composer .media .problem').getByText(/print\.jpg has 4 colours/i).waitFor();
        await page.getByRole('button', { name: 'Remove print.jpg' }).click();
        await visitor.say('Hello');
        await visitor.answer();
        visitor.checkHarmless();
    });
});

test('the microphone records, and the recording is asked about', { skip: app.skip }, async () => {
    const browser = await launch({ gpu: false, args: ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'] });
    try {
        const context = await browser.newContext({ permissions: ['microphone'] });
        const visitor = await arrive(context);
        const { page } = visitor;
        await page.getByRole('button', { name: 'Record', exact: true }).click();
        const recording = page.getByRole('group', { name: 'Recording' });
        await recording.getByText('0:01').waitFor();
        await shoot(page, 'recording');
        await page.getByRole('button', { name: 'Stop recording' }).click();
        const tile = page.locator('.composer .media', { hasText: 'Recording.wav' });
        await tile.getByText(/0:0\d · \d+ tokens/).waitFor();
        await visitor.say('What do you hear?');
        await visitor.answer();
        await page.locator('.message.user .media audio').waitFor();
        visitor.checkHarmless();
    } finally {
        await browser.close();
    }
});

/** One page that says so. */
const pdf = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>endobj
4 0 obj<</Length 43>>stream
BT /F 18 Tf 20 40 Td (The fox is here.) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
`;

async function pasteText(page: Page, name: string, text: string): Promise<void> {
    await page.evaluate(
        ([title, data]) => {
            const clipboardData = new DataTransfer();
            clipboardData.items.add(new File([data], title, { type: 'application/pdf' }));
            document.querySelector('textarea')?.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
        },
        [name, text] as const,
    );
}

test('of a PDF file a model without eyes gets the text, one with eyes the pages', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await prepareSettings(context, brief);
        const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu`);
        const { page } = visitor;
        await visitor.untilReady();
        await pasteText(page, 'fox.pdf', pdf);
        const attached = page.locator('.composer .parts li', { hasText: 'fox.pdf' });
        await attached.locator('summary').click();
        await attached.getByText('The fox is here.').waitFor();
        await pasteText(page, 'broken.pdf', '%PDF-1.4 and nothing more');
        await page.getByText('broken.pdf is damaged or no PDF file.').waitFor();
        visitor.checkHarmless();
    });
    await app.visit(async (context) => {
        const visitor = await arrive(context);
        await pasteText(visitor.page, 'fox.pdf', pdf);
        await visitor.page.locator('.composer .media', { hasText: 'fox.pdf, page 1' }).getByText(/\d tokens/).waitFor();
        visitor.checkHarmless();
    });
});

test('on a phone', { skip: app.skip }, async () => {
    await app.visit(
        async (context) => {
            const visitor = await arrive(context);
            const { page } = visitor;
            await paste(page, 'img/photo.jpg', 'image/jpeg');
            await page.locator('.composer .media').getByText(/\d tokens/).waitFor();
            await page.getByRole('button', { name: 'Take a photograph' }).waitFor();
            await shoot(page, 'media-phone');
            const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
            assert.ok(wide! <= screen!, 'nothing reaches beyond the screen');
            visitor.checkHarmless();
        },
        { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true },
    );
});
