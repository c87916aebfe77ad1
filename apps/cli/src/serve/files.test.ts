// Files over HTTP: the web app, the built-in model, and Ollama's blobs.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { raw, testServer } from '../testing/server.js';
import { root, temporaryFolder } from '../testing/process.js';

test('the app is served with the right types, caching and compression', async (t) => {
    const webRoot = await temporaryFolder(t);
    await fs.mkdir(path.join(webRoot, 'assets'));
    const script = 'console.log("hello");\n'.repeat(200);
    await fs.writeFile(path.join(webRoot, 'index.html'), '<!doctype html><title>App</title>');
    await fs.writeFile(path.join(webRoot, 'assets', 'main-abc123.js'), script);
    await fs.writeFile(path.join(webRoot, 'engine.wasm'), 'wasm');
    await fs.symlink('/etc/hosts', path.join(webRoot, 'link.txt'));
    const { url } = await testServer(t, { webRoot });

    const page = await fetch(url);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(page.headers.get('cache-control'), 'no-cache');
    assert.match(await page.text(), /App/);
    const again = await fetch(url, { headers: { 'if-none-match': page.headers.get('etag') ?? '' } });
    assert.equal(again.status, 304);

    const asset = await raw(url, { path: '/assets/main-abc123.js', headers: { 'accept-encoding': 'gzip' } });
    assert.equal(asset.headers['content-encoding'], 'gzip');
    assert.equal(asset.headers['cache-control'], 'public, max-age=31536000, immutable');
    assert.ok(Number(asset.headers['content-length']) < script.length / 10);
    assert.equal(await (await fetch(`${url}/assets/main-abc123.js`)).text(), script);
    assert.equal((await raw(url, { path: '/assets/main-abc123.js' })).body, script);

    assert.equal((await raw(url, { path: '/engine.wasm' })).headers['content-type'], 'application/wasm');
    assert.equal((await raw(url, { path: '/link.txt' })).status, 404, 'a link out of the folder');
    assert.equal((await raw(url, { path: '/assets' })).status, 404, 'a folder');
    // An address inside the app is the app; a missing file is a missing file.
    assert.equal((await raw(url, { path: '/models', headers: { accept: 'text/html' } })).status, 200);
    assert.equal((await raw(url, { path: '/missing.js', headers: { accept: 'text/html' } })).status, 404);
    assert.equal((await raw(url, { path: '/v1/missing', headers: { accept: 'text/html' } })).status, 404);
});

test('without a built app the page says how to build it', async (t) => {
    const { url } = await testServer(t);
    assert.match(await (await fetch(url)).text(), /make build/);
});

test('the built-in model comes whole, in ranges, or as its size alone', async (t) => {
    const { url } = await testServer(t);
    const file = path.join(root, 'models', 'storyteller-q4_k_m.gguf');
    const bytes = await fs.readFile(file);
    const address = `${url}/models/storyteller-q4_k_m.gguf`;
    const head = await fetch(address, { method: 'HEAD' });
    assert.equal(Number(head.headers.get('content-length')), bytes.length);
    assert.equal(head.headers.get('accept-ranges'), 'bytes');
    const whole = Buffer.from(await (await fetch(address)).arrayBuffer());
    assert.ok(whole.equals(bytes));
    for (const [range, start, end] of [
        ['bytes=0-3', 0, 4],
        ['bytes=1000000-3999999', 1_000_000, 4_000_000],
        [`bytes=${bytes.length - 5}-`, bytes.length - 5, bytes.length],
        ['bytes=-7', bytes.length - 7, bytes.length],
    ] as const) {
        const part = await fetch(address, { headers: { range } });
        assert.equal(part.status, 206);
        assert.equal(part.headers.get('content-range'), `bytes ${start}-${end - 1}/${bytes.length}`);
        assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end)));
    }
    const beyond = await fetch(address, { headers: { range: `bytes=${bytes.length}-` } });
    assert.equal(beyond.status, 416);
    assert.equal(beyond.headers.get('content-range'), `bytes */${bytes.length}`);
    const changed = await fetch(address, { method: 'HEAD', headers: { range: 'bytes=0-3', 'if-range': '"another"' } });
    assert.equal(changed.status, 200);
});

/** A store with one model, one blob that belongs to nobody, and a model whose blob is missing. */
async function makeStore(folder: string) {
    const blobs = path.join(folder, 'blobs');
    const manifests = path.join(folder, 'manifests', 'registry.ollama.ai', 'library', 'gem');
    await fs.mkdir(blobs, { recursive: true });
    await fs.mkdir(manifests, { recursive: true });
    const add = async (bytes: Buffer | string) => {
        const digest = createHash('sha256').update(bytes).digest('hex');
        await fs.writeFile(path.join(blobs, `sha256-${digest}`), bytes);
        return { digest: `sha256:${digest}`, size: Buffer.byteLength(bytes) };
    };
    const model = await add(await fs.readFile(path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4_0.gguf')));
    const params = await add('{"temperature":0.25,"stop":["END"]}');
    const license = await add('Apache License 2.0');
    const template = await add('{{ .Prompt }}');
    const stray = await add('somebody left this here');
    const config = await add('{"model_format":"gguf","model_family":"gemma4","model_type":"4M","file_type":"Q4_0"}');
    const layer = (kind: string, blob: object) => ({ mediaType: `application/vnd.ollama.image.${kind}`, ...blob });
    const manifest = { config: layer('config', config), layers: [layer('model', model), layer('params', params), layer('license', license), layer('template', template)] };
    await fs.writeFile(path.join(manifests, 'tiny'), JSON.stringify(manifest));
    const lost = { digest: `sha256:${'0'.repeat(64)}`, size: 5 };
    await fs.writeFile(path.join(manifests, 'lost'), JSON.stringify({ ...manifest, layers: [layer('model', lost)] }));
    return { model, stray, lost };
}

test("Ollama's models are listed and their blobs served, and no others", async (t) => {
    const folder = await temporaryFolder(t);
    const { model, stray, lost } = await makeStore(folder);
    const before = process.env['OLLAMA_MODELS'];
    process.env['OLLAMA_MODELS'] = folder;
    t.after(() => (process.env['OLLAMA_MODELS'] = before));
    const { url } = await testServer(t);

    const list = (await (await fetch(`${url}/api/ollama/models`)).json()) as { models: Record<string, unknown>[] };
    assert.deepEqual(list.models.map(({ name }) => name), ['gem:lost', 'gem:tiny']);
    assert.match(String(list.models[0]?.['problem']), /missing/);
    assert.deepEqual(list.models[1]?.['blobs'], [model]);
    assert.deepEqual(list.models[1]?.['adapters'], []);

    const tags = (await (await fetch(`${url}/api/tags`)).json()) as { models: Record<string, unknown>[] };
    assert.deepEqual(tags.models.map(({ name }) => name), ['builtin', 'gem:tiny']);
    const show = await fetch(`${url}/api/show`, { method: 'POST', body: '{"model":"gem:tiny"}' });
    const shown = (await show.json()) as Record<'parameters' | 'license' | 'template', string> & { details: { quantization_level: string } };
    assert.equal(shown.license, 'Apache License 2.0');
    assert.equal(shown.template, '{{ .Prompt }}');
    assert.match(shown.parameters, /^temperature +0\.25\nstop +"END"$/);
    assert.equal(shown.details.quantization_level, 'Q4_0');

    const pull = async (name: string) => (await fetch(`${url}/api/pull`, { method: 'POST', body: JSON.stringify({ name }) })).status;
    assert.deepEqual(await Promise.all(['gem:tiny', 'gem:lost', 'gem:other'].map(pull)), [200, 501, 501], 'only what is there whole');

    assert.equal((await fetch(`${url}/v1/models/gem%3Atiny`)).status, 200);
    assert.equal((await fetch(`${url}/v1/models/gem:lost`)).status, 200, 'it is there, though it cannot be loaded');

    for (const digest of [model.digest, model.digest.replace(':', '-')]) {
        const blob = await fetch(`${url}/api/ollama/blob/${digest}`, { headers: { range: 'bytes=0-3' } });
        assert.equal(blob.status, 206);
        assert.equal(await blob.text(), 'GGUF');
        assert.equal(blob.headers.get('cache-control'), 'no-store');
    }
    const head = await fetch(`${url}/api/ollama/blob/${model.digest}`, { method: 'HEAD' });
    assert.equal(Number(head.headers.get('content-length')), model.size);
    for (const name of [stray.digest, lost.digest, 'sha256:12', 'manifests', '..%2fmanifests', `${model.digest}x`]) {
        assert.equal((await fetch(`${url}/api/ollama/blob/${name}`)).status, 404, name);
    }
});
