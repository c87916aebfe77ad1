// Who may talk to the server, over real HTTP.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EchoEngine, raw, rawSocket, testServer } from '../testing/server.js';
import type { ServeOptions } from './server.js';

const echo = { loadModel: new EchoEngine('echo', 0).load };

test('a name that points here is not enough: only known hosts are answered', async (t) => {
    const { url, port } = await testServer(t, echo);
    for (const path of ['/', '/api/version', '/v1/models', '/models/storyteller-q4_k_m.gguf']) {
        const rebound = await raw(url, { path, headers: { host: `evil.example:${port}` } });
        assert.equal(rebound.status, 403, path);
    }
    assert.equal((await raw(url, { path: '/api/version', headers: { host: `localhost:${port}` } })).status, 200);
    // A request line may carry a host of its own.
    const absolute = `GET http://evil.example/api/version HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`;
    assert.match(await rawSocket(port, absolute), /^HTTP\/1\.1 403/);
    const get = 'GET /api/version HTTP/1.1\r\nConnection: close\r\n';
    assert.match(await rawSocket(port, `${get}\r\n`), /^HTTP\/1\.1 400/);
    assert.match(await rawSocket(port, `${get}Host: a@b\r\n\r\n`), /^HTTP\/1\.1 40[03]/);
});

test('pages of other origins are refused unless they were allowed', async (t) => {
    const { url } = await testServer(t, { ...echo, allowedOrigins: ['https://friend.example'] });
    const from = (origin: string, method = 'GET') => raw(`${url}/v1/models`, { method, headers: { origin } });
    const strangers = [
        ...['https://evil.example', 'null', 'https://friend.example.evil.example', 'http://localhost.evil.example'],
        ...['http://192.168.1.2:3000', 'http://127.0.0.1@evil.example', 'chrome-extension://abc', 'application://x'],
    ];
    for (const origin of strangers) {
        const answer = await from(origin);
        assert.equal(answer.status, 403, origin);
        assert.equal(answer.headers['access-control-allow-origin'], undefined);
        assert.equal((await from(origin, 'OPTIONS')).status, 403, origin);
    }
    assert.equal((await from(url)).status, 200);
    const friend = await from('https://friend.example');
    assert.equal(friend.status, 200);
    assert.equal(friend.headers['access-control-allow-origin'], 'https://friend.example');
    const missing = await raw(`${url}/v1/models/nosuch`, { headers: { origin: 'https://friend.example' } });
    assert.equal(missing.status, 404);
    assert.equal(missing.headers['access-control-allow-origin'], 'https://friend.example', 'also errors can be read');
    const preflight = await raw(`${url}/v1/chat/completions`, {
        method: 'OPTIONS',
        headers: {
            origin: 'https://friend.example',
            'access-control-request-method': 'POST',
            'access-control-request-headers': 'content-type,x-stainless-os',
        },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers['access-control-allow-headers'], 'content-type,x-stainless-os');
});

test('what can only come from this computer may ask a server that only this computer reaches', async (t) => {
    const own = ['http://localhost:3000', 'https://127.0.0.1', 'http://[::1]:5173', 'app://obsidian.md', 'tauri://localhost'];
    const from = (url: string, origin: string) => raw(`${url}/v1/models`, { headers: { origin, authorization: 'Bearer opal' } });
    const { url } = await testServer(t, echo);
    for (const origin of [...own, 'vscode-webview://1a2b']) {
        const answer = await from(url, origin);
        assert.equal(answer.status, 200, origin);
        assert.equal(answer.headers['access-control-allow-origin'], origin);
    }
    const { port } = await testServer(t, { ...echo, host: '0.0.0.0', apiKey: 'opal' });
    for (const origin of own) assert.equal((await from(`http://127.0.0.1:${port}`, origin)).status, 403, origin);
});

test('what another site embeds is refused, a link to the app is not', async (t) => {
    const { url } = await testServer(t, echo);
    const fetched = (path: string, mode: string) =>
        raw(url, { path, headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode } });
    assert.equal((await fetched('/api/tags', 'no-cors')).status, 403);
    assert.equal((await fetched('/models/storyteller-q4_k_m.gguf', 'no-cors')).status, 403);
    assert.equal((await fetched('/api/tags', 'navigate')).status, 403);
    assert.equal((await fetched('/', 'navigate')).status, 200);
});

test('where there is a key, programs must have it and the page need not', async (t) => {
    const { url } = await testServer(t, { ...echo, apiKey: 'opal' });
    const withKey = (path: string, authorization?: string) =>
        raw(url, { path, headers: authorization === undefined ? {} : { authorization } });
    for (const path of ['/v1/models', '/api/tags', '/api/ollama/models', '/v1/anything']) {
        for (const header of [undefined, 'Bearer', 'Bearer ', 'Bearer opa', 'Bearer opal2', 'Basic opal', 'opal']) {
            assert.equal((await withKey(path, header)).status, 401, `${path} ${header ?? ''}`);
        }
    }
    assert.equal((await withKey('/v1/models', 'Bearer opal')).status, 200);
    assert.equal((await withKey('/api/tags', 'bearer opal')).status, 200);
    assert.equal((await withKey('/')).status, 200);
    const refusal = JSON.parse((await withKey('/v1/models')).body) as { error: { code: string } };
    assert.equal(refusal.error.code, 'invalid_api_key');
});

test('beyond this computer only with a key', async (t) => {
    const open: Partial<ServeOptions> = { ...echo, host: '0.0.0.0' };
    await assert.rejects(testServer(t, open), /give it an --api-key/);
    const { port } = await testServer(t, { ...open, apiKey: 'opal' });
    const url = `http://127.0.0.1:${port}`;
    assert.equal((await raw(`${url}/v1/models`)).status, 401);
    assert.equal((await raw(`${url}/v1/models`, { headers: { authorization: 'Bearer opal' } })).status, 200);
    assert.equal((await raw(url, { headers: { host: 'evil.example' } })).status, 403);
});

test('paths do not climb out of the app', async (t) => {
    const { url } = await testServer(t, { ...echo, webRoot: '/usr/lib' });
    const climbing = [
        '/../../etc/passwd',
        '/..%2f..%2fetc/passwd',
        '/%2e%2e/%2e%2e/etc/passwd',
        '/a/../../etc/passwd',
        '//etc/passwd',
        '/etc/passwd',
        '/..%5c..%5cetc%5cpasswd',
        '/api/ollama/blob/..%2f..%2fetc%2fpasswd',
        '/models/../../../etc/passwd',
        '/models/..%2fREADME.md',
        '/%00',
        '/.npmrc',
    ];
    for (const path of climbing) {
        const { status, body } = await raw(url, { path });
        assert.ok(status === 404 || status === 400, `${path} ${status}`);
        assert.doesNotMatch(body, /root:/);
    }
});

test('every answer carries the headers that keep pages in their place', async (t) => {
    const { url } = await testServer(t, echo);
    for (const path of ['/', '/nowhere', '/api/version', '/v1/nowhere']) {
        const { headers } = await raw(url, { path });
        const policy = String(headers['content-security-policy']);
        assert.match(policy, /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
        assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'/);
        assert.equal(headers['x-content-type-options'], 'nosniff');
        assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
        assert.equal(headers['cross-origin-embedder-policy'], 'credentialless');
    }
});

test('bodies that are too large, not JSON or not text are refused', async (t) => {
    const { url, port } = await testServer(t, echo);
    const post = (body: string | Buffer) => raw(`${url}/v1/chat/completions`, { method: 'POST', body });
    assert.equal((await post(Buffer.alloc(33 * 1024 * 1024, 32))).status, 413);
    for (const [body, sentence] of [
        ['', 'the body is empty'],
        ['{"messages":', 'the body is not valid JSON'],
        ['[]', 'the body must be a JSON object'],
        [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'the body is not UTF-8 text'],
        [`{"messages":${'['.repeat(5000)}${']'.repeat(5000)}}`, 'the body is nested deeper than 200 levels'],
    ] as const) {
        const { status, body: answer } = await post(body);
        assert.equal(status, 400, sentence);
        assert.equal((JSON.parse(answer) as { error: { message: string } }).error.message, sentence);
    }
    const many = await post(`{"messages":[${'{},'.repeat(500_000)}{}]}`);
    assert.equal(many.status, 413);
    assert.match(many.body, /more than 500000 lists and objects/);
    const text = await post(JSON.stringify({ messages: [{ role: 'user', content: '[{"\\'.repeat(200_000) }] }));
    assert.equal(text.status, 200, 'brackets in texts are text');
    // Without a length the limit holds as well, and the answer is there to be read when everything was sent.
    const chunk = `100000\r\n${' '.repeat(0x100000)}\r\n`;
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n';
    const answer = await rawSocket(port, `${head}${chunk.repeat(40)}0\r\n\r\n`);
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /the body is larger than 32 MiB/);
});

test('errors have the shape that each client expects', async (t) => {
    const { url } = await testServer(t, echo);
    const body = JSON.stringify({ model: 'nosuch', messages: [] });
    const openAi = await raw(`${url}/v1/chat/completions`, { method: 'POST', body });
    assert.equal(openAi.status, 404);
    const message = "model 'nosuch' not found";
    const error = { message, type: 'invalid_request_error', param: 'model', code: 'model_not_found' };
    assert.deepEqual(JSON.parse(openAi.body), { error });
    const ollama = await raw(`${url}/api/chat`, { method: 'POST', body });
    assert.equal(ollama.status, 404);
    assert.deepEqual(JSON.parse(ollama.body), { error: message });
    assert.equal((await raw(`${url}/api/pull`, { method: 'POST', body: '{}' })).status, 501);
    assert.equal((await raw(`${url}/index.html`, { method: 'DELETE' })).status, 405);
    // Names in requests are never files or addresses.
    const elsewhere = ['/etc/passwd', './models/storyteller-q4_k_m.gguf', 'http://127.0.0.1:1/x.gguf', '../x', 7, {}];
    for (const model of elsewhere) {
        const asked = JSON.stringify({ model, messages: [] });
        const { status } = await raw(`${url}/v1/chat/completions`, { method: 'POST', body: asked });
        assert.ok(status === 404 || status === 400, String(model));
    }
});

test('who does not come to the point is cut off', async (t) => {
    const timeouts = { headersMs: 200, requestMs: 400, everyMs: 50 };
    const { port, url } = await testServer(t, { ...echo, timeouts });
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n';
    assert.match(await rawSocket(port, head), /^HTTP\/1\.1 408/);
    await rawSocket(port, `${head}Content-Length: 100\r\n\r\n{`); // closed, or this would wait for ever
    assert.equal((await raw(`${url}/api/version`)).status, 200);
});
