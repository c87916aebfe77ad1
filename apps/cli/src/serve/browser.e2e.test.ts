// What a hostile page can do in a real browser: nothing.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { chromium, type Browser } from 'playwright-core';
import { EchoEngine, testServer } from '../testing/server.js';

const executablePath = '/usr/bin/chromium';
const needsChromium = { skip: existsSync(executablePath) ? false : `there is no ${executablePath}` };
const echo = { loadModel: new EchoEngine('echo', 0).load };

/** A browser for which every name under example.test is this computer, as a hostile name server could tell it. */
async function browser(t: TestContext): Promise<Browser> {
    const args = ['--no-sandbox', '--host-resolver-rules=MAP *.example.test 127.0.0.1'];
    const started = await chromium.launch({ executablePath, args });
    t.after(() => started.close());
    return started;
}

/** Somebody else's site. */
async function otherSite(t: TestContext): Promise<string> {
    const site = createServer((_request, response) => {
        response.setHeader('content-type', 'text/html');
        response.end('<!doctype html><title>Other</title>');
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    t.after(() => site.close());
    return `http://evil.example.test:${(site.address() as AddressInfo).port}`;
}

/** What a page gets when it fetches an address: the status, or that it may not see the answer. */
function fetchIn(url: string, init?: RequestInit): string {
    const call = `fetch(${JSON.stringify(url)}, ${JSON.stringify(init ?? {})})`;
    return `${call}.then((response) => String(response.status), () => 'blocked')`;
}

test('a page of another site can neither read nor ask nor embed, unless it is allowed', needsChromium, async (t) => {
    const other = await otherSite(t);
    const asked: string[] = [];
    const accessLog = { write: (text: string) => asked.push(text) };
    const { url } = await testServer(t, { ...echo, accessLog });
    const friendly = await testServer(t, { ...echo, allowedOrigins: [other] });
    const page = await (await browser(t)).newPage();
    await page.goto(other);
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
    assert.equal(await page.evaluate(fetchIn(`${url}/v1/models`)), 'blocked');
    assert.equal(await page.evaluate(fetchIn(`${url}/v1/chat/completions`, { method: 'POST', body })), 'blocked');
    const blind = { method: 'POST', body, mode: 'no-cors' } as const;
    await page.evaluate(fetchIn(`${url}/v1/chat/completions`, blind));
    const picture = `new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve('shown');
        image.onerror = () => resolve('refused');
        image.src = '${url}/icon.svg';
    })`;
    assert.equal(await page.evaluate(picture), 'refused');
    assert.ok(asked.length >= 3);
    for (const line of asked) assert.match(line, / 403 /, 'also what the page cannot see was not done');
    assert.equal(await page.evaluate(fetchIn(`${friendly.url}/v1/models`)), '200');
    const headers = { 'content-type': 'application/json', authorization: 'Bearer x' };
    const withHeaders = fetchIn(`${friendly.url}/v1/chat/completions`, { method: 'POST', body, headers });
    assert.equal(await page.evaluate(withHeaders), '200');
});

test('a page that another server on this computer has sent may ask and read', needsChromium, async (t) => {
    const { port } = new URL(await otherSite(t));
    const { url } = await testServer(t, echo);
    const page = await (await browser(t)).newPage();
    await page.goto(`http://localhost:${port}`);
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] });
    // Such a header makes the browser ask whether it may ask.
    const headers = { 'content-type': 'application/json' };
    assert.equal(await page.evaluate(fetchIn(`${url}/v1/chat/completions`, { method: 'POST', body, headers })), '200');
    assert.equal(await page.evaluate(fetchIn(`${url}/api/tags`)), '200');
});

test('a name that was made to point here opens nothing', needsChromium, async (t) => {
    const { port } = await testServer(t, echo);
    const page = await (await browser(t)).newPage();
    const rebound = `http://rebound.example.test:${port}`;
    assert.equal((await page.goto(rebound))?.status(), 403);
    assert.equal(await page.evaluate(fetchIn(`${rebound}/v1/models`)), '403');
});

test("the server's own page may use its own server, and nothing inline runs in it", needsChromium, async (t) => {
    const { url } = await testServer(t, echo);
    const page = await (await browser(t)).newPage();
    await page.goto(url);
    assert.equal(await page.evaluate(fetchIn(`${url}/v1/models`)), '200');
    const inline = `(() => {
        const script = document.createElement('script');
        script.textContent = 'window.ran = true';
        document.head.append(script);
        return window.ran === undefined;
    })()`;
    assert.equal(await page.evaluate(inline), true);
});
