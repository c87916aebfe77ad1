// The library as it is, without a bundler, in Chromium: a page with a strict policy, no isolation, an engine in a
// worker. Where Chromium is missing the tests are skipped.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `there is no ${executablePath}`;
const dist = new URL('./', import.meta.url);
const softwareGpu = JSON.parse(readFileSync(new URL('../../../tests/software-gpu.json', import.meta.url), 'utf8')) as { chromium: string[] };
const model = new URL('../../../models/storyteller-q4_k_m.gguf', import.meta.url);
const embeddings = new URL('../../../tests/data/fixtures/tiny-embedding-q8_0.gguf', import.meta.url);

// No inline scripts, no eval, nothing from elsewhere; WebAssembly must be allowed by name.
const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'";
const pageScript = "import * as lapidary from '/lapidary/index.js'; window.lapidary = lapidary;";

/** A worker that keeps the text it is sent in the tuning cache, and says what was there before. */
const tuningScript = `
    import { keep, recall } from '/lapidary/gpu/tuning-cache.js';
    import { pageTuningCache } from '/lapidary/gpu/tuning-cache-opfs.js';
    onmessage = async ({ data }) => {
        const known = await recall(pageTuningCache);
        await keep(pageTuningCache, known, data);
        postMessage(known);
    };`;

// How the vectors of 'sky' and 'T' begin, of 24 numbers each.
const unitVectors = [[0.006845, -0.051395, -0.112753, -0.363406], [0.050477, -0.220539, -0.004914, -0.367981]];

let server: Server;
let browser: Browser;
let page: Page;
let hideWorker = false;
let isolates = false;
/** What our own server sends (apps/cli): memory may be shared. */
const isolation = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'credentialless' };
const files = new Map<string, Uint8Array>();
const requested: string[] = [];
const complaints: string[] = [];

before(async () => {
    if (skip) return;
    server = createServer((request, response) => {
        void answer(request.url ?? '', request.headers.range).then(
            ([status, type, body, headers]) => {
                response.writeHead(status, { 'content-type': type, 'content-security-policy': policy, ...(isolates ? isolation : {}), ...headers }).end(body);
            },
            () => response.writeHead(404).end(),
        );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await chromium.launch({
        executablePath,
        args: [...softwareGpu.chromium, '--no-sandbox'],
    });
});
after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
});

type Answer = [status: number, type: string, body: Uint8Array | string, headers?: Record<string, string>];

async function answer(url: string, range: string | undefined): Promise<Answer> {
    requested.push(url);
    if (url === '/') return [200, 'text/html', '<!doctype html><title>Lapidary</title><script type="module" src="/page.js"></script>'];
    if (url === '/page.js') return [200, 'text/javascript', pageScript];
    if (url === '/memory.js') return [200, 'text/javascript', tuningScript];
    if (url === '/favicon.ico') return [200, 'image/x-icon', ''];
    if (url.endsWith('.gguf')) {
        const file = files.get(url) ?? (await readFile(url === '/embeddings.gguf' ? embeddings : model));
        files.set(url, file);
        const [, first = 0, last = file.length - 1] = (/(\d+)-(\d+)/.exec(range ?? '') ?? []).map(Number);
        const headers = { 'content-range': `bytes ${first}-${last}/${file.length}` };
        return [206, 'application/octet-stream', file.subarray(first, last + 1), headers];
    }
    if (hideWorker && url.endsWith('/worker.js')) return [404, 'text/plain', ''];
    const [, name = ''] = /^\/lapidary\/([\w./-]+)$/.exec(url) ?? [];
    const type = name.endsWith('.wasm') ? 'application/wasm' : 'text/javascript';
    return [200, type, await readFile(fileURLToPath(new URL(name, dist)))];
}

async function openPage(): Promise<void> {
    page = await browser.newPage();
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction(() => 'lapidary' in globalThis);
}

// What runs in the page is compiled here and knows only what the page has.
type InPage = { lapidary: typeof import('./index.js') };

test('in a page the engine has a worker, and answers stream out of it', { skip }, async () => {
    await openPage();
    const seen = await page.evaluate(async () => {
        const { lapidary } = globalThis as unknown as InPage;
        const engine = await lapidary.Lapidary.load('builtin', { backend: 'cpu', contextLength: 128 });
        const messages = [{ role: 'user', content: 'Tell me a story.' }] as const;
        const whole = await engine.chat.completions.create({ messages, max_tokens: 8, seed: 1 });
        let text = '';
        for await (const { choices } of await engine.chat.completions.create({ messages, max_tokens: 8, seed: 1, stream: true })) {
            text += choices[0]?.delta.content ?? '';
        }
        const stop = new AbortController();
        const endless = engine.chat.completions.create({ messages }, { signal: stop.signal });
        stop.abort();
        const code = await endless.catch((error: unknown) => (error as { code: string }).code);
        const { info } = engine;
        await engine.dispose();
        return { info, text, whole: whole.choices[0].message.content, code, isolated: crossOriginIsolated };
    });
    assert.equal(seen.info.worker, true);
    assert.equal(seen.info.model, 'Storyteller');
    assert.ok(seen.text.length > 10);
    assert.equal(seen.text, seen.whole);
    assert.equal(seen.code, 'cancelled');
    assert.equal(seen.isolated, false);
    assert.ok(requested.some((url) => url.endsWith('/worker.js')));
    assert.deepEqual(complaints, []);
    await page.close();
});

test('in an isolated page several threads write what one writes', { skip }, async () => {
    isolates = true;
    await openPage();
    const seen = await page.evaluate(async () => {
        const { lapidary } = globalThis as unknown as InPage;
        const told = [];
        for (const threads of [1, 3]) {
            const engine = await lapidary.Lapidary.load('builtin', { backend: 'cpu', contextLength: 256, threads });
            const text = await engine.complete('Once upon a time there was a small stone that', { max_tokens: 24, temperature: 0 });
            told.push({ text, threads: engine.info.cpu?.threads });
            await engine.dispose();
        }
        return { told, isolated: crossOriginIsolated };
    });
    isolates = false;
    assert.equal(seen.isolated, true);
    assert.deepEqual(seen.told.map(({ threads }) => threads), [1, 3]);
    assert.ok((seen.told[0]?.text.length ?? 0) > 10);
    assert.equal(seen.told[1]?.text, seen.told[0]?.text);
    assert.ok(requested.some((url) => url.endsWith('/page-thread.js')));
    assert.deepEqual(complaints, []);
    await page.close();
});

test('a page fetches the larger engine for a model of embeddings, and gets its vectors', { skip }, async () => {
    await openPage();
    const backends = process.env['LAPIDARY_THOROUGH'] === '1' ? (['cpu', 'gpu'] as const) : (['cpu'] as const);
    for (const backend of backends) {
        const seen = await page.evaluate(async (where) => {
            const { lapidary } = globalThis as unknown as InPage;
            const engine = await lapidary.Lapidary.load(new URL('/embeddings.gguf', location.href), { backend: where });
            const { data, usage } = await engine.embeddings.create({ input: ['sky', 'T'], dimensions: 24 });
            const refused = engine.chat.completions.create({ messages: [{ role: 'user', content: 'Hello' }] });
            const why = await refused.then(() => '', (error: unknown) => (error as Error).message);
            await engine.dispose();
            return { vectors: data.map(({ embedding }) => embedding as number[]), usage, why };
        }, backend);
        assert.deepEqual(seen.usage, { prompt_tokens: 8, total_tokens: 8 });
        for (const [i, vector] of seen.vectors.entries()) {
            assert.equal(vector.length, 24);
            const near = unitVectors[i]?.every((value, n) => Math.abs(value - (vector[n] ?? 0)) < 1e-5);
            assert.ok(near, `${backend}: ${String(vector)}`);
        }
        assert.match(seen.why, /this is a model of embeddings/);
    }
    assert.ok(requested.some((url) => url.endsWith('/lapidary-workshop.wasm')));
    assert.deepEqual(complaints, []);
    await page.close();
});

test('what was found out about a GPU is kept in private files that workers and pages share', { skip }, async () => {
    await openPage();
    const seen = await page.evaluate(async () => {
        const tell = async (line: string) => {
            const worker = new Worker('/memory.js', { type: 'module' });
            const known = await new Promise((resolve, reject) => {
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = ({ message }) => reject(new Error(message));
                worker.postMessage(line);
            });
            worker.terminate();
            return known;
        };
        return [await tell('a long first line'), await tell('another'), await tell('another')];
    });
    assert.deepEqual(seen, [[], ['a long first line'], ['another', 'a long first line']]);
    // Not in a worker, files are written in another way.
    const here = await page.evaluate(async () => {
        const load = async (name: string): Promise<unknown> => await import(`/lapidary/gpu/${name}.js`);
        const { keep, recall } = (await load('tuning-cache')) as typeof import('./gpu/tuning-cache.js');
        const { pageTuningCache } = (await load('tuning-cache-opfs')) as typeof import('./gpu/tuning-cache-opfs.js');
        await keep(pageTuningCache, await recall(pageTuningCache), 'of the page');
        return await recall(pageTuningCache);
    });
    assert.deepEqual(here, ['of the page', 'another', 'a long first line']);
    assert.deepEqual(complaints, []);
    await page.close();
});

test('the bytes of a File go to the worker and not through the page', { skip }, async () => {
    await openPage();
    const seen = await page.evaluate(async () => {
        const { lapidary } = globalThis as unknown as InPage;
        const bytes = await (await fetch('/a.gguf')).blob();
        let slices = 0;
        const slice = Blob.prototype.slice;
        Blob.prototype.slice = function (...args) {
            slices++;
            return slice.apply(this, args);
        };
        const file = new File([bytes], 'picked.gguf');
        const engine = await lapidary.Lapidary.load(file, { backend: 'cpu', contextLength: 64 });
        const { worker } = engine.info;
        const text = await engine.complete('Once', { max_tokens: 2 });
        await engine.dispose();
        return { worker, text, slices };
    });
    assert.equal(seen.worker, true);
    assert.ok(seen.text.length > 0);
    assert.equal(seen.slices, 0);
    await page.close();
});

test('without a worker the engine runs in the page, and says so', { skip }, async () => {
    hideWorker = true;
    await openPage();
    const seen = await page.evaluate(async () => {
        const { lapidary } = globalThis as unknown as InPage;
        const lines: string[] = [];
        const engine = await lapidary.Lapidary.load('builtin', {
            backend: 'cpu',
            contextLength: 64,
            log: (_, text) => void lines.push(text),
        });
        const text = await engine.complete('Once', { max_tokens: 2 });
        const { worker } = engine.info;
        await engine.dispose();
        return { worker, text, lines };
    });
    hideWorker = false;
    assert.equal(seen.worker, false);
    assert.ok(seen.text.length > 0);
    assert.ok(seen.lines.some((line) => line.includes('a worker could not be started')), seen.lines.join('\n'));
    await page.close();
});

test('probing a page tells what the browser has', { skip }, async () => {
    await openPage();
    const probe = await page.evaluate(async () => {
        const { lapidary } = globalThis as unknown as InPage;
        return await lapidary.Lapidary.probe();
    });
    assert.equal(probe.webgpu, true);
    assert.equal(probe.workers, true);
    assert.equal(probe.opfs, true);
    assert.equal(probe.gpu?.software, true, JSON.stringify(probe.gpu));
    assert.equal(probe.backend, 'cpu');
    assert.ok((probe.storage?.quota ?? 0) > 0);
    await page.close();
});
