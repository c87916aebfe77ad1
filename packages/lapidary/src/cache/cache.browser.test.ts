// The cache where it lives: OPFS, Web Locks, BroadcastChannel and quota of a real Chromium.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { chromium, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import { RangeServer } from '../testing/range-server.js';
import type { CachedFile } from './entries.js';
import type { CacheProgress } from './progress.js';
import type { Shortage } from './quota.js';
import type { Verdict } from './verify.js';

const executablePath = process.env['LAPIDARY_CHROMIUM'] ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `there is no Chromium at ${executablePath}`;
const MiB = 1024 * 1024;

/** What a page or a worker of the test can be asked for. */
interface Outcome {
    /** Of the bytes that the opened source gave. */
    sha256?: string;
    error?: { code: string; message: string; shortage?: Shortage };
}

interface Harness {
    open(name: string, options?: { sha256?: string; check?: string }): Promise<Outcome>;
    list(): Promise<CachedFile[]>;
    verify(name: string): Promise<Verdict>;
    remove(name: string): Promise<boolean>;
    corrupt(key: string, at: number): Promise<void>;
    progress: CacheProgress[];
}

// No bundler and no import map: the cache needs nothing but its own modules. Runs in a worker, where files are written
// in place, or, with the same calls, in the page itself.
const harness = `
import { ModelCache } from '/dist/cache/cache.js';
import { OpfsFs } from '/dist/cache/opfs.js';
export function makeHarness(report) {
    const ready = OpfsFs.open().then((fs) => new ModelCache({ fs }));
    const describe = ({ code, message, shortage }) => ({ error: { code, message, shortage } });
    return {
        open: async (name, options) => {
            const cache = await ready;
            try {
                const url = location.origin + '/m/' + name;
                const source = await cache.open(url, { ...options, onProgress: report, retryDelayMs: 50 });
                const bytes = new Uint8Array(source.size);
                const step = 3_000_000; // not a multiple of anything, as in real life
                for (let at = 0; at < bytes.length; at += step) {
                    bytes.set(await source.read(at, Math.min(step, bytes.length - at)), at);
                }
                await source.close();
                const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
                return { sha256: [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('') };
            } catch (error) { return describe(error); }
        },
        list: async () => await (await ready).list(),
        verify: async (name) => await (await ready).verify(name),
        remove: async (name) => await (await ready).remove(name),
        corrupt: async (key, at) => {
            let folder = await navigator.storage.getDirectory();
            for (const part of ['lapidary', 'models']) folder = await folder.getDirectoryHandle(part);
            const file = await folder.getFileHandle(key + '.data');
            const stream = await file.createWritable({ keepExistingData: true });
            await stream.write({ type: 'write', position: at, data: new Uint8Array([1, 2, 3, 4]) });
            await stream.close();
        },
    };
}`;
const worker = `
import { makeHarness } from '/harness.js';
const harness = makeHarness((progress) => postMessage({ progress }));
onmessage = async ({ data: { id, method, args } }) => {
    try { postMessage({ id, value: await harness[method](...args) }); }
    catch (error) { postMessage({ id, failure: String(error.stack) }); }
};
postMessage({ hello: true });`;
const inWorker = `<!doctype html><title>cache</title><script>
const calls = new Map();
const progress = [];
const worker = new Worker('/worker.js', { type: 'module' });
const call = (method) => (...args) => new Promise((resolve, reject) => {
    calls.set(calls.size, { resolve, reject });
    worker.postMessage({ id: calls.size - 1, method, args });
});
worker.onerror = (event) => document.title = 'broken: ' + event.message;
worker.onmessage = ({ data }) => {
    const methods = ['open', 'list', 'verify', 'remove', 'corrupt'];
    if (data.hello) window.harness = { progress, ...Object.fromEntries(methods.map((m) => [m, call(m)])) };
    else if (data.progress) progress.push(data.progress);
    else if ('failure' in data) calls.get(data.id).reject(new Error(data.failure));
    else calls.get(data.id).resolve(data.value);
};
</script>`;
const inPage = `<!doctype html><title>cache</title><script type="module">
import { makeHarness } from '/harness.js';
const progress = [];
window.harness = { progress, ...makeHarness((report) => progress.push(report)) };
</script>`;

let server: RangeServer;
let context: BrowserContext;
let profile: string;
const file = pseudoRandom(28 * MiB);
const digest = createHash('sha256').update(file).digest('hex');

before(async () => {
    if (skip) return;
    const pages = { '/worker.html': inWorker, '/page.html': inPage, '/worker.js': worker, '/harness.js': harness };
    server = await RangeServer.start(file, pages);
    server.pauseMs = 5; // local networks are too fast to watch
    // A profile on disk: private windows keep their files in memory, and that would prove nothing.
    profile = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-cache-'));
    const options = { executablePath, headless: true, args: ['--no-sandbox'] };
    context = await chromium.launchPersistentContext(profile, options);
});

after(async () => {
    await context?.close();
    await server?.stop();
    if (profile) await fs.rm(profile, { recursive: true, force: true, maxRetries: 3 });
});

async function newPage(where: 'worker' | 'page' = 'worker'): Promise<Page> {
    const page = await context.newPage();
    await page.goto(`${server.origin}/${where}.html`);
    await page.waitForFunction('window.harness !== undefined', undefined, { timeout: 120_000 });
    return page;
}

async function ask<Method extends Exclude<keyof Harness, 'progress'>>(
    page: Page,
    method: Method,
    ...args: Parameters<Harness[Method]>
): Promise<Awaited<ReturnType<Harness[Method]>>> {
    const call = `window.harness[${JSON.stringify(method)}](...${JSON.stringify(args)})`;
    return (await page.evaluate(call)) as Awaited<ReturnType<Harness[Method]>>;
}

async function progressOf(page: Page): Promise<CacheProgress[]> {
    return (await page.evaluate('window.harness.progress')) as CacheProgress[];
}

/** The last piece before the server stalls may go unreported, so this asks for less than that. */
async function untilDownloaded(page: Page, bytes: number): Promise<void> {
    const reached = `window.harness.progress.some(({ done }) => done >= ${bytes})`;
    await page.waitForFunction(reached, undefined, { timeout: 120_000 });
}

/** Lasts as long as the session. */
async function setQuota(session: CDPSession, quotaSize?: number): Promise<void> {
    const origin = server.origin;
    await session.send('Storage.overrideQuotaForOrigin', quotaSize === undefined ? { origin } : { origin, quotaSize });
}

function pseudoRandom(length: number): Uint8Array {
    const words = new Uint32Array(length / 4);
    let state = 2463534242;
    for (let i = 0; i < words.length; i++) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        words[i] = state;
    }
    return new Uint8Array(words.buffer);
}

test('a page killed in mid-download goes on where it was, and asks only for what is missing', { skip }, async () => {
    const page = await newPage();
    server.stallAt = 22 * MiB;
    void ask(page, 'open', 'killed', { sha256: digest }).catch(() => undefined);
    await untilDownloaded(page, 17 * MiB);
    const session = await context.newCDPSession(page);
    void session.send('Page.crash').catch(() => undefined);
    await page.waitForEvent('crash');
    server.stallAt = Infinity;

    const next = await newPage();
    assert.equal((await ask(next, 'list'))[0]?.state, 'partial');
    assert.deepEqual(await ask(next, 'open', 'killed', { sha256: digest }), { sha256: digest });
    const [first, second, ...more] = server.asked('killed');
    assert.deepEqual(first, { name: 'killed', first: 0, last: 28 * MiB - 1 });
    assert.deepEqual(second, { name: 'killed', first: second?.first, last: 28 * MiB - 1 });
    assert.ok(second.first >= 16 * MiB && second.first <= 22 * MiB, `it went on from byte ${second.first}`);
    assert.deepEqual(more, []);

    // Once complete, nobody asks the server for anything.
    assert.deepEqual(await ask(next, 'open', 'killed', { sha256: digest }), { sha256: digest });
    assert.equal(server.asked('killed').length, 2);
    await page.close();
    await next.close();
});

test('a file corrupted on disk is repaired chunk by chunk when it is read', { skip }, async () => {
    const page = await newPage();
    const [cached] = await ask(page, 'list');
    assert.equal(cached?.state, 'complete');
    await ask(page, 'corrupt', cached.key, 5 * MiB - 2);
    await page.close();
    server.log.length = 0;

    const next = await newPage();
    const verdict = await ask(next, 'verify', cached.key);
    assert.deepEqual(verdict.damaged.map(({ offset }) => offset), [4 * MiB, 5 * MiB]);
    assert.deepEqual(await ask(next, 'open', 'killed', { sha256: digest }), { sha256: digest });
    assert.deepEqual(server.log, [{ name: 'killed', first: 4 * MiB, last: 6 * MiB - 1 }]);
    assert.equal((await ask(next, 'verify', cached.key)).ok, true);

    // Without anybody having looked before, too.
    await ask(next, 'corrupt', cached.key, 20 * MiB);
    assert.deepEqual(await ask(next, 'open', 'killed', { sha256: digest }), { sha256: digest });
    assert.deepEqual(server.log.slice(1), [{ name: 'killed', first: 20 * MiB, last: 21 * MiB - 1 }]);
    assert.equal((await ask(next, 'verify', cached.key)).ok, true);
    assert.equal(await ask(next, 'remove', cached.key), true);
    assert.deepEqual(await ask(next, 'list'), []);
    await next.close();
});

test('two pages asking at once make one download, and the second shows its progress', { skip }, async () => {
    const [one, two] = [await newPage(), await newPage()];
    server.stallAt = 8 * MiB;
    const first = ask(one, 'open', 'shared');
    await untilDownloaded(one, 1 * MiB);
    const second = ask(two, 'open', 'shared');
    await two.waitForTimeout(300);
    server.stallAt = Infinity;
    assert.deepEqual(await Promise.all([first, second]), [{ sha256: digest }, { sha256: digest }]);
    assert.deepEqual(server.asked('shared'), [{ name: 'shared', first: 0, last: 28 * MiB - 1 }]);
    const waiting = (await progressOf(two)).filter(({ state }) => state === 'waiting');
    assert.ok(waiting.some(({ done, total, rate }) => done > 0 && done < total && rate > 0), JSON.stringify(waiting));
    await ask(one, 'remove', 'shared');
    await one.close();
    await two.close();
});

test('too little quota is told before the download, with how much there is', { skip }, async () => {
    const page = await newPage();
    const session = await context.newCDPSession(page);
    await setQuota(session, 20 * MiB);
    const { error } = await ask(page, 'open', 'large');
    assert.equal(error?.code, 'limit');
    // The browser claims gigabytes all the while, and hands out what it has in large steps.
    assert.match(error.message, /'large' needs 29 MB, but the browser has room for (1\d|2[01]) MB/);
    assert.equal(error.shortage?.needed, 28 * MiB);
    assert.deepEqual(server.asked('large'), []);
    await setQuota(session);
    assert.deepEqual(await ask(page, 'open', 'large'), { sha256: digest });
    await page.close();
});

test('quota that runs out on the way is told as well', { skip }, async () => {
    const page = await newPage('page'); // a worker's handle reserves its room at the beginning
    const session = await context.newCDPSession(page);
    server.stallAt = 4 * MiB;
    const cut = ask(page, 'open', 'cut');
    await untilDownloaded(page, 1 * MiB);
    await setQuota(session, 33 * MiB); // 28 of them are the model of the last test
    server.stallAt = Infinity;
    const { error } = await cut;
    assert.equal(error?.code, 'limit');
    assert.deepEqual(error.shortage?.evictable.map(({ name }) => name), ['large']);
    assert.equal(await ask(page, 'remove', 'large'), true);
    await setQuota(session);
    assert.deepEqual(await ask(page, 'open', 'cut'), { sha256: digest });
    await page.close();
});

test('in a page without a worker the cache works as well', { skip }, async () => {
    const page = await newPage('page');
    assert.deepEqual(await ask(page, 'open', 'plain'), { sha256: digest });
    assert.deepEqual(await ask(page, 'open', 'plain'), { sha256: digest });
    assert.equal(server.asked('plain').length, 1);
    const states = new Set((await ask(page, 'list')).map(({ state }) => state));
    assert.deepEqual([...states], ['complete']);
    await page.close();
});
