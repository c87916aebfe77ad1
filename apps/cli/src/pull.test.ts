// Getting a model on the command line, from stand-ins for Hugging Face and Ollama's registry.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { HubServer, goodToken, type FakeRepository } from 'lapidary/testing/hub-server';
import { RegistryServer } from 'lapidary/testing/registry-server';
import { describePull } from './pull/progress.js';
import { lapidary, needsEngine, root, temporaryFolder, type Outcome, type RunOptions } from './testing/process.js';

const google = 'google/gemma-4-E2B-it-qat-q4_0-gguf';
const tiny = path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4_0.gguf');

interface Place {
    hub: HubServer;
    registry: RegistryServer;
    folder: string;
    run(args: readonly string[], options?: RunOptions): Promise<Outcome>;
}

async function makePlace(t: TestContext, repository: Partial<FakeRepository> = {}): Promise<Place> {
    const files = { 'gemma-4-E2B_q4_0-it.gguf': new Uint8Array(await fs.readFile(tiny)) };
    const hub = await HubServer.start({ [google]: { files, licence: 'apache-2.0', architecture: 'gemma4', ...repository } });
    const registry = await RegistryServer.start();
    t.after(async () => {
        await hub.stop();
        await registry.stop();
    });
    const folder = path.join(await temporaryFolder(t), 'models');
    const env = { HF_ENDPOINT: hub.endpoint, OLLAMA_REGISTRY: registry.endpoint, LAPIDARY_MODELS: folder };
    const run: Place['run'] = async (args, { env: more, ...options } = {}) =>
        await lapidary(args, { ...options, env: { ...env, ...more }, timeoutMs: 60_000 });
    return { hub, registry, folder, run };
}

test('eyes and ears come along, unless they are left', async (t) => {
    const data = path.join(root, 'tests', 'data');
    const eyes = new Uint8Array(await fs.readFile(path.join(data, 'media', 'mmproj-small-F16.gguf')));
    const model = new Uint8Array(await fs.readFile(tiny));
    const { run } = await makePlace(t, { files: { 'gemma-4-E2B_q4_0-it.gguf': model, 'gemma-4-E2B-it-mmproj.gguf': eyes } });
    const see = ['encode', 'e2b', '--image', path.join(data, 'media', 'img', 'wide.png'), '--json'];

    const blind = await run(['pull', 'e2b', '--no-media']);
    assert.match(blind.stdout, /^gemma-4-e2b is here \([\d.]+ MB, compared/);
    assert.equal((await run(see)).status, 1);

    const seeing = await run(['pull', 'e2b']);
    assert.match(seeing.stderr, /^media {4}[\d.]+ [KM]B more for pictures and sounds; --no-media leaves it$/m);
    assert.match(seeing.stdout, /^gemma-4-e2b is here \([\d.]+ MB, 2 files, compared/);
    const { status, stderr } = await run(see);
    assert.equal(status, 0, stderr);
    assert.match((await run(['pull', 'e2b'])).stdout, /is here already/);
});

test('a model is got by its name, listed, checked, got again at once, and removed', async (t) => {
    const { hub, folder, run } = await makePlace(t);
    const before = await run(['chat', 'e2b']);
    assert.match(before.stderr, /^lapidary: 'e2b' is not on this computer; 'lapidary pull e2b' gets Gemma 4 E2B \(about 3\.4 GB\)\n$/);
    assert.match((await run(['models'])).stdout, /no model was downloaded yet/);

    const pulled = await run(['pull', 'e2b']);
    assert.equal(pulled.status, 0, pulled.stderr);
    assert.match(pulled.stdout, /^gemma-4-e2b is here \(.*compared with its checksum\); 'lapidary chat gemma-4-e2b' talks to it\n$/);
    assert.match(pulled.stderr, /^model {4}Gemma 4 E2B, Q4_0, [\d.]+ [KM]B$/m);
    assert.match(pulled.stderr, /^licence {2}Apache License 2\.0 \(https:/m);
    assert.match(pulled.stderr, /^memory /m);
    const names = await fs.readdir(folder);
    assert.deepEqual(names.map((name) => path.extname(name)).sort(), ['.gguf', '.journal', '.model']);

    const { stdout } = await run(['models']);
    assert.match(stdout, /^gemma-4-e2b .* checked/m);
    const [listed] = JSON.parse((await run(['models', '--json'])).stdout) as { name: string; files: { path: string }[] }[];
    assert.equal(listed?.name, 'gemma-4-e2b');
    assert.deepEqual(await fs.readFile(listed?.files[0]?.path ?? ''), await fs.readFile(tiny));

    const asked = hub.asked('bytes').length;
    assert.match((await run(['pull', 'gemma4:e2b'])).stdout, /is here already/);
    assert.equal(hub.asked('bytes').length, asked);
    assert.match((await run(['models', '--verify'])).stdout, /gemma-4-e2b +gemma-4-E2B_q4_0-it\.gguf +good/);

    assert.match((await run(['rm', 'e2b'])).stdout, /gemma-4-e2b was removed/);
    assert.deepEqual(await fs.readdir(folder), []);
    const gone = await run(['rm', 'e2b']);
    assert.equal(gone.status, 1);
    assert.match(gone.stderr, /there is no model 'e2b'/);
});

test('without a network, what is here is still here', async (t) => {
    const { run, registry } = await makePlace(t);
    await run(['pull', 'e2b']);
    registry.put('library/gemma4:e2b', { model: new Uint8Array(100) });
    const other = await run(['pull', 'e2b'], { env: { HF_ENDPOINT: 'http://127.0.0.1:9' } });
    assert.match(other.stdout, /is here already/, 'another source does not replace it');
    const offline = { env: { HF_ENDPOINT: 'http://127.0.0.1:9', OLLAMA_REGISTRY: 'http://127.0.0.1:9' } };
    const { status, stdout } = await run(['pull', 'e2b'], offline);
    assert.equal(status, 0);
    assert.match(stdout, /is here already .*its source cannot be asked for a newer one now/);
    const none = await run(['pull', 'e4b'], offline);
    assert.equal(none.status, 1);
    assert.match(none.stderr, /^lapidary: 127\.0\.0\.1:9 cannot be reached/);
});

test('Ctrl-C keeps what arrived and says how to go on', async (t) => {
    const files = { 'gemma-4-E2B_q4_0-it.gguf': new Uint8Array(16_000_000).fill(7) };
    files['gemma-4-E2B_q4_0-it.gguf'].set(new TextEncoder().encode('GGUF'));
    const { hub, folder, run } = await makePlace(t, { files });
    hub.faults.stallAt = 12_000_000;
    const running = new AbortController();
    const pulled = run(['pull', 'e2b'], { signal: running.signal });
    const part = async () => (await fs.readdir(folder).catch(() => [])).find((name) => name.endsWith('.part'));
    const size = async () => (await fs.stat(path.join(folder, (await part()) ?? '')).catch(() => undefined))?.size ?? 0;
    while ((await size()) < 4_000_000) await new Promise((resolve) => setImmediate(resolve));
    running.abort();
    const { status, stderr } = await pulled;
    assert.equal(status, 130);
    assert.match(stderr, /stopped: .* of 16 MB are kept, and 'lapidary pull gemma-4-e2b' goes on from there/);
    assert.match((await run(['models'])).stdout, /gemma-4-e2b .* of 16 MB .*'lapidary pull gemma-4-e2b' goes on/);
    const early = await run(['inspect', 'e2b']);
    assert.match(early.stderr, /'gemma-4-e2b' is not complete/);
    hub.faults.stallAt = Infinity;
    assert.equal((await run(['pull', 'e2b'])).status, 0);
    const ranges = hub.asked('bytes').map(({ range }) => Number(/^bytes=(\d+)/.exec(range ?? '')?.[1]));
    assert.ok(ranges.some((start) => start >= 4_000_000), String(ranges));
});

test('a licence that must be agreed to is agreed to with --yes where nobody can be asked', async (t) => {
    const { run, folder } = await makePlace(t, { licence: 'gemma' });
    const refused = await run(['pull', `hf:${google}`]);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /has a licence to agree to, Gemma Terms of Use \(https:\/\/ai\.google\.dev\/gemma\/terms\): read it and give --yes/);
    await assert.rejects(fs.readdir(folder));
    assert.equal((await run(['pull', `hf:${google}`, '--yes'])).status, 0);
});

test('a model that needs an account says where, and HF_TOKEN opens it', async (t) => {
    const { run } = await makePlace(t, { gated: 'auto' });
    const refused = await run(['pull', `hf:${google}`]);
    assert.equal(refused.status, 1);
    assert.match(refused.stderr, /This file needs an account at its source\. Log in at http.*google\/gemma-4-E2B.*HF_TOKEN/);
    assert.equal((await run(['pull', `hf:${google}`], { env: { HF_TOKEN: goodToken } })).status, 0);
});

const failures: [what: string, args: string[], status: number, sentence: RegExp][] = [
    ['a repository that is not there', ['pull', 'hf:a/b'], 1, /does not have the model a\/b/],
    ['a name nobody has', ['pull', 'nobody:1b'], 1, /does not have the model 'nobody:1b'; 'lapidary models --available' lists names/],
    ['a reference that is none', ['pull', 'hf:nonsense'], 1, /names no model: 'nonsense\/' is not the name of a repository/],
    ['a search with a wrong limit', ['search', 'x', '--limit', '0'], 2, /whole number/],
    ['a reference to what was not pulled', ['inspect', 'hf:a/b'], 1, /'lapidary pull hf:a\/b' gets it/],
];
test('what cannot be had is said in a sentence', async (t) => {
    const { run } = await makePlace(t);
    for (const [what, args, expected, sentence] of failures) {
        const { status, stderr } = await run(args);
        assert.match(stderr, sentence, what);
        assert.match(stderr, /^lapidary: [^\n]*\n$/, what);
        assert.equal(status, expected, what);
    }
});

test('what the engine cannot run is not downloaded', async (t) => {
    const { run, hub } = await makePlace(t, { architecture: 'llama' });
    const { status, stderr } = await run(['pull', `hf:${google}`]);
    assert.equal(status, 1);
    assert.match(stderr, /cannot be used: it is a 'llama' model; Lapidary runs Gemma 4/);
    assert.equal(hub.asked('bytes').length, 0);
});

test('what comes with Lapidary is not downloaded', async (t) => {
    const { run } = await makePlace(t);
    assert.match((await run(['pull', 'builtin'])).stdout, /Storyteller comes with Lapidary/);
});

test('a search shows repositories with types and sizes', async (t) => {
    const { run } = await makePlace(t, { downloads: 12 });
    const { stdout, status } = await run(['search', 'e2b']);
    assert.equal(status, 0);
    assert.match(stdout, /^hf:google\/gemma-4-E2B-it-qat-q4_0-gguf {2}12 downloads, Apache License 2\.0$/m);
    assert.match(stdout, /^ +Q4_0 +[\d.]+ [KM]B/m);
    assert.match((await run(['search', 'nothing'])).stdout, /^nothing found for 'nothing'$/m);
    assert.equal((JSON.parse((await run(['search', 'e2b', '--json'])).stdout) as unknown[]).length, 1);
});

test('what can be had by name is listed with what it takes', async (t) => {
    const { run } = await makePlace(t);
    const { stdout } = await run(['models', '--available'], { env: { LAPIDARY_BACKEND: 'cpu' } });
    assert.match(stdout, /^e2b +Gemma 4 E2B +≈ 3\.4 GB +Q4_0 +needs a GPU /m);
    assert.match(stdout, /^builtin +Storyteller +here/m);
});

test('a downloaded model is what every command takes, also one of Ollama with its options', needsEngine(), async (t) => {
    const { run, registry } = await makePlace(t);
    await run(['pull', 'e2b']);
    const inspected = await run(['inspect', 'e2b']);
    assert.equal(inspected.status, 0, inspected.stderr);
    assert.match(inspected.stdout, /origin +gemma-4-e2b in /);
    registry.put('library/tiny:1b', { model: new Uint8Array(await fs.readFile(tiny)), params: { temperature: 0 } });
    assert.equal((await run(['pull', 'tiny:1b'])).status, 0);
    const twice = await Promise.all([1, 2].map(async () => await run(['generate', 'tiny:1b', '--prompt', 'a', '-n', '4'])));
    assert.equal(twice[0]?.status, 0, twice[0]?.stderr);
    assert.equal(twice[0]?.stdout, twice[1]?.stdout, 'temperature 0 came along');
});

test('the line of a download tells what matters', () => {
    const base = { file: 'a.gguf', number: 1, files: 1, done: 1.2e9, total: 3.4e9, rate: 2e7, etaSeconds: 110 };
    assert.match(describePull({ ...base, state: 'downloading' }, 100), /35 % {2}1\.2 GB of 3\.4 GB {2}20 MB\/s {2}1:50 left$/);
    const pause = { reason: 'the connection broke off', seconds: 4.2 };
    assert.match(describePull({ ...base, state: 'retrying', pause }, 60), /^ 35 % .*the connection broke off; again in 5 s$/);
    assert.match(describePull({ ...base, state: 'again', files: 2 }, 60), /file 1 of 2.*fetched again$/);
    assert.match(describePull({ ...base, state: 'checking', total: 0 }, 60), /^ {2}0 % {2}1\.2 GB {2}looking/);
});
