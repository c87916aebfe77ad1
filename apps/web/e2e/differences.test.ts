// What languages, browsers and computers differ in: the direction of writing, how folders are opened, a GPU that is only promised.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';
import { repository } from './site.js';

const app = openApp({ gpu: false });

test('every text has the direction of its own language', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const endpoint = { kind: 'openai', url: app.site.url, key: '', model: 'm' };
        await prepareSettings(context, { useEndpoint: true, endpoint });
        app.site.remoteAnswers = [[{ content: 'مرحبا بك\n\nThis is English.\n\n- تفاح\n- pears\n\n```\nlet x = 1;\n```\n' }]];
        const visitor = await Visitor.arrive(context, app.site.url);
        const { page, messageBox } = visitor;
        const direction = async (selector: string) =>
            await page.locator(selector).first().evaluate((one) => getComputedStyle(one).direction);
        await messageBox.fill('سؤال');
        assert.equal(await direction('.composer textarea'), 'rtl');
        await visitor.say('سؤال');
        await visitor.answer();
        assert.equal(await direction('.message.user .said'), 'rtl');
        assert.equal(await direction('header h1'), 'rtl');
        const block = (text: string) => `.message.assistant .markdown :is(p, ul, code):has-text("${text}")`;
        assert.equal(await direction(block('مرحبا')), 'rtl');
        assert.equal(await direction(block('English')), 'ltr');
        assert.equal(await direction(block('تفاح')), 'rtl');
        assert.equal(await direction(block('let x')), 'ltr');
        visitor.checkHarmless();
    });
});

/** A store with one model, as Ollama keeps it. */
async function ollamaStore(): Promise<string> {
    const root = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-ollama-'));
    await fs.mkdir(path.join(root, 'blobs'));
    const keep = async (bytes: Buffer, mediaType: string) => {
        const sha256 = createHash('sha256').update(bytes).digest('hex');
        await fs.writeFile(path.join(root, 'blobs', `sha256-${sha256}`), bytes);
        return { mediaType, digest: `sha256:${sha256}`, size: bytes.length };
    };
    const model = await fs.readFile(path.join(repository, 'tests/data/fixtures/tiny-e2b-q4_0.gguf'));
    const layers = [await keep(model, 'application/vnd.ollama.image.model')];
    const config = await keep(Buffer.from('{"model_type":"7M","file_type":"Q4_0"}'), 'application/vnd.docker.container.image.v1+json');
    const manifests = path.join(root, 'manifests/registry.ollama.ai/library/tiny');
    await fs.mkdir(manifests, { recursive: true });
    await fs.writeFile(path.join(manifests, '7m'), JSON.stringify({ schemaVersion: 2, config, layers }));
    return root;
}

test('Ollama’s folder is opened where a browser only has lists of files', { skip: app.skip }, async () => {
    const store = await ollamaStore();
    try {
        await app.visit(async (context) => {
            await prepareSettings(context, { maxTokens: 4 });
            await context.addInitScript(() => Reflect.deleteProperty(globalThis, 'showDirectoryPicker'));
            const visitor = await Visitor.arrive(context, `${app.site.url}/?backend=cpu#/models`);
            const { page } = visitor;
            await page.getByRole('button', { name: /^Ollama’s folder/ }).click();
            await page.getByText('The browser speaks of uploading; nothing is sent anywhere.').waitFor();
            await page.locator('input[webkitdirectory]').setInputFiles(store);
            await page.getByRole('button', { name: 'Load tiny:7m' }).click();
            await page.locator('.current .who b', { hasText: 'tiny:7m' }).locator('.dot.ready').waitFor();
            visitor.checkHarmless();
        });
    } finally {
        await fs.rm(store, { recursive: true });
    }
});

test('a browser with WebGPU and without a GPU says so, and why its kernels cannot be checked', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        await context.addInitScript(() =>
            Object.defineProperty(navigator, 'gpu', { value: { requestAdapter: async () => null, wgslLanguageFeatures: new Set() } }),
        );
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/diagnostics`);
        const { page } = visitor;
        await page.getByRole('definition').getByText('there, but no GPU behind it').waitFor();
        const check = page.getByRole('button', { name: 'Check every kernel' });
        assert.equal(await check.isDisabled(), true);
        const reasons = await check.getAttribute('aria-describedby');
        assert.match(await page.locator(`[id="${reasons}"]`).innerText(), /GPU/);
        visitor.checkHarmless();
    });
});

test('a key is asked for in a form, as browsers want it, and a newer version of the page gets the tables it wants', { skip: app.skip }, async () => {
    await app.visit(async (context) => {
        const visitor = await Visitor.arrive(context, `${app.site.url}/#/settings`);
        const { page } = visitor;
        const key = page.locator('input[type=password]');
        await key.waitFor();
        assert.equal(await key.evaluate((input: HTMLInputElement) => input.form !== null), true);

        await page.goto(`${app.site.url}/#/finetune`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        // It has them open by now, and waits for nothing.
        await visitor.until('the tables', async () => (await indexedDB.databases()).some(({ name }) => name === 'lapidary-workshop'), undefined);
        const version = await page.evaluate(
            async () =>
                await new Promise<number>((resolve, reject) => {
                    const asked = indexedDB.open('lapidary-workshop', 2);
                    asked.onsuccess = () => {
                        resolve(asked.result.version);
                        asked.result.close();
                    };
                    asked.onblocked = () => reject(new Error('an open page keeps the tables as they are'));
                    asked.onerror = () => reject(new Error('the tables cannot be had'));
                }),
        );
        assert.equal(version, 2);
    });
});
