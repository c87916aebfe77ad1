// Getting a model in a real Chromium: a worker downloads from other origins into the page's private files.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { noise } from '../testing/fake-remote.js';
import { HubServer } from '../testing/hub-server.js';
import { RangeServer } from '../testing/range-server.js';
import type { DownloadState } from './download.js';

const executablePath = process.env['LAPIDARY_CHROMIUM'] ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `there is no Chromium at ${executablePath}`;

// No bundler and no import map: what downloads needs nothing but its own modules.
const page = `<!doctype html><title>hub</title><script type="module">
import { KeptModels, findEntry, resolveModel, searchHub, startDownload } from '/dist/hub/index.js';
const states = [];
let download;
window.hub = {
    states,
    search: async (huggingface) => (await searchHub('e2b', { endpoints: { huggingface } })).map(({ models }) => models[0].bytes),
    begin: async (huggingface) => {
        download = startDownload(await resolveModel('e2b', { endpoints: { huggingface } }));
        download.subscribe((state) => states.push(state));
        await download.kept;
    },
    kept: async () => {
        const models = await KeptModels.ofThisOrigin();
        const [model] = await models.list();
        const checks = await models.verify(model);
        const [source] = await models.open(model);
        const begins = new TextDecoder().decode(await source.read(0, 4));
        await source.close();
        return { name: model.name, state: model.state, ok: checks.every(({ ok }) => ok), begins };
    },
    clear: async () => {
        const models = await KeptModels.ofThisOrigin();
        await models.remove(await models.find('e2b', findEntry('e2b').id));
        let folder = await navigator.storage.getDirectory();
        for (const part of ['lapidary', 'models']) folder = await folder.getDirectoryHandle(part);
        return (await Array.fromAsync(folder.keys())).length;
    },
};
</script>`;

interface Hub {
    states: DownloadState[];
    search(endpoint: string): Promise<number[]>;
    begin(endpoint: string): Promise<void>;
    kept(): Promise<{ name: string; state: string; ok: boolean; begins: string }>;
    clear(): Promise<number>;
}
declare const hub: Hub;

test('a worker brings a model from other origins, whatever happens on the way, and it stays', { skip }, async (t) => {
    const bytes = noise(6_000_000);
    bytes.set(new TextEncoder().encode('GGUF'));
    const files = { 'gemma-4-E2B_q4_0-it.gguf': bytes };
    const source = await HubServer.start({ 'google/gemma-4-E2B-it-qat-q4_0-gguf': { files, architecture: 'gemma4' } });
    const site = await RangeServer.start(new Uint8Array(), { '/': page });
    const browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'] });
    t.after(async () => {
        await browser.close();
        await site.stop();
        await source.stop();
    });
    const tab = await (await browser.newContext()).newPage();
    const open = async () => {
        await tab.goto(`${site.origin}/`);
        await tab.waitForFunction('window.hub !== undefined', undefined, { timeout: 120_000 });
    };
    await open();
    assert.deepEqual(await tab.evaluate(async (endpoint) => await hub.search(endpoint), source.endpoint), [bytes.length]);
    source.faults.cut = { answers: 1, after: 4_500_000 };
    source.faults.wrong = { answers: 1, at: 5_500_000 };
    await tab.evaluate(async (endpoint) => await hub.begin(endpoint), source.endpoint);
    const states = await tab.evaluate(() => hub.states);
    assert.equal(states.at(-1)?.phase, 'kept');
    assert.ok(states.some(({ phase, total }) => phase === 'downloading' && total === bytes.length));
    const first = await tab.evaluate(async () => await hub.kept());
    assert.deepEqual(first, { name: 'gemma-4-e2b', state: 'complete', ok: true, begins: 'GGUF' });
    await source.stop();
    await open();
    assert.equal((await tab.evaluate(async () => await hub.kept())).state, 'complete', 'also without a network');
    assert.equal(await tab.evaluate(async () => await hub.clear()), 0);
});
