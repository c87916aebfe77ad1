// Adapters on the command line: from one format to the others, in answers, and merged.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Lapidary, type ModelSource } from 'lapidary';
import { parseAdapter } from './adapters.js';
import { floats, relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder, type RunOptions } from './testing/process.js';
import { testServer } from './testing/server.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');
const model = path.join(fixtures, 'tiny-e2b-q4km.gguf');
const other = path.join(fixtures, 'tiny-moe-q4km.gguf');
const engine = needsEngine();

/** What training starts from in the fixture, as rullama would have written it: the same bytes under other names. */
async function writeAdapter(file: string): Promise<void> {
    const bytes = await fs.readFile(path.join(fixtures, 'tiny-e2b-q4km.lora.safetensors'));
    const headerBytes = Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.subarray(8, 8 + headerBytes).toString()) as Record<string, unknown>;
    const kept = Object.entries(header).flatMap(([name, entry]) => {
        const match = /^layers\.(\d+)\.(\w+)\.([AB])$/.exec(name);
        return match ? [[`lora.blk.${match[1]}.${match[2]}.${match[3]}`, entry]] : [];
    });
    const metadata = { format: 'rullama-lora-v0', rank: '4', alpha: '8' };
    const text = Buffer.from(JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(kept) }));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    await fs.writeFile(file, Buffer.concat([length, text, bytes.subarray(8 + headerBytes)]));
}

async function succeed(args: readonly string[], options: RunOptions = {}): Promise<string> {
    const { status, stdout, stderr } = await lapidary(args, options);
    assert.equal(stderr, '');
    assert.equal(status, 0, args.join(' '));
    return stdout;
}

/** The logits of a few tokens. */
async function logits(which: string, folder: string, extra: readonly string[] = [], options: RunOptions = {}): Promise<Float32Array> {
    const out = path.join(folder, 'logits');
    await succeed(['logits', which, '--tokens', '2,5,9', '--out', out, '--backend', 'cpu', ...extra], options);
    return floats(await fs.readFile(out));
}

test('an adapter goes through every format and gives the same logits', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const at = (name: string) => path.join(folder, name);
    await writeAdapter(at('first.safetensors'));
    const convert = (from: string, to: string, format: string) =>
        succeed(['adapters', 'convert', at(from), at(to), '--model', model, '--format', format]);
    await convert('first.safetensors', 'peft', 'peft');
    await convert('peft', 'second.gguf', 'gguf');
    await convert('second.gguf', 'third.zip', 'zip');
    assert.deepEqual((await fs.readdir(at('peft'))).sort(), ['adapter_config.json', 'adapter_model.safetensors']);

    const plain = await logits(model, folder);
    const expected = await logits(model, folder, ['--adapter', at('first.safetensors')]);
    assert.ok(relativeError(plain, expected) > 1e-3, 'the adapter changes nothing');
    for (const name of ['peft', 'peft/adapter_model.safetensors', 'second.gguf', 'third.zip']) {
        assert.deepEqual(await logits(model, folder, ['--adapter', at(name)]), expected, name);
    }
    const halves = ['--adapter', `${at('second.gguf')}:0.5`, '--adapter', `${at('peft')}:0.5`];
    assert.ok(relativeError(await logits(model, folder, halves), expected) < 1e-5);

    const described = JSON.parse(await succeed(['adapters', 'inspect', at('peft'), '--model', model, '--json'])) as {
        format: string;
        ranks: number[];
        targets: string[];
    };
    assert.equal(described.format, 'peft');
    assert.deepEqual(described.ranks, [4]);
    assert.equal(described.targets.length, 7);
    assert.match(await succeed(['adapters', 'inspect', at('second.gguf'), '--model', model]), /^rank +4$/m);

    await succeed(['adapters', 'merge', model, at('second.gguf'), '--out', at('merged.gguf'), '--type', 'f32']);
    assert.ok(relativeError(await logits(at('merged.gguf'), folder), expected) < 1e-5);
});

test('an adapter that does not belong to the model is refused with one sentence', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const file = path.join(folder, 'adapter.safetensors');
    await writeAdapter(file);
    const { status, stderr } = await lapidary(['adapters', 'inspect', file, '--model', other]);
    assert.equal(status, 1);
    assert.match(stderr, /^lapidary: tensor 'lora\.blk\.[^']*' .*another model\?\n$/);
    const missing = await lapidary(['generate', model, '--prompt', 'a', '--adapter', path.join(folder, 'none.gguf')]);
    assert.equal(missing.status, 1);
    assert.match(missing.stderr, /^lapidary: .*none\.gguf.*\n$/);
});

test("an Ollama model's own adapter takes part, on the command line, in the server and through it", engine, async (t) => {
    const folder = await temporaryFolder(t);
    const adapter = path.join(folder, 'adapter.gguf');
    await writeAdapter(path.join(folder, 'adapter.safetensors'));
    await succeed(['adapters', 'convert', path.join(folder, 'adapter.safetensors'), adapter, '--model', model, '--format', 'gguf']);
    const store = path.join(folder, 'store');
    const tags = path.join(store, 'manifests', 'registry.ollama.ai', 'library', 'learnt');
    await fs.mkdir(tags, { recursive: true });
    await fs.mkdir(path.join(store, 'blobs'));
    const layer = async (kind: string, bytes: Buffer) => {
        const digest = createHash('sha256').update(bytes).digest('hex');
        await fs.writeFile(path.join(store, 'blobs', `sha256-${digest}`), bytes);
        return { mediaType: kind, digest: `sha256:${digest}`, size: bytes.length };
    };
    const kind = (name: string) => `application/vnd.ollama.image.${name}`;
    const manifest = {
        config: await layer('application/vnd.docker.container.image.v1+json', Buffer.from('{"model_format":"gguf"}')),
        layers: [await layer(kind('model'), await fs.readFile(model)), await layer(kind('adapter'), await fs.readFile(adapter))],
    };
    await fs.writeFile(path.join(tags, 'latest'), JSON.stringify(manifest));
    const expected = await logits(model, folder, ['--adapter', adapter]);
    assert.deepEqual(await logits('learnt', folder, [], { env: { OLLAMA_MODELS: store } }), expected);

    const before = process.env['OLLAMA_MODELS'];
    process.env['OLLAMA_MODELS'] = store;
    t.after(() => (process.env['OLLAMA_MODELS'] = before));
    const { url } = await testServer(t);
    // So small a model says the same with the adapter, but with other probabilities.
    const asked = { prompt: 'abc', max_tokens: 3, temperature: 0, logprobs: 2 };
    const said = async (source: ModelSource, adapters: { weights: Uint8Array }[] = []) => {
        const loaded = await Lapidary.load(source, { backend: 'cpu', contextLength: 64, adapters });
        t.after(() => loaded.dispose());
        return (await loaded.completions.create(asked)).choices[0]?.logprobs;
    };
    const learnt = await said(model, [{ weights: await fs.readFile(adapter) }]);
    assert.equal(learnt?.token_logprobs.length, 3);
    assert.notDeepEqual(await said(model), learnt, 'the adapter changes the answer');
    assert.deepEqual(await said({ ollama: 'learnt', server: url }), learnt, 'opened through the server');
    const body = JSON.stringify({ ...asked, model: 'learnt' });
    const answer = await fetch(`${url}/v1/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { choices } = (await answer.json()) as { choices: { logprobs: unknown }[] };
    assert.deepEqual(choices[0]?.logprobs, learnt, 'answered by the server');
});

test('the library answers with the adapters a model is loaded with', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const file = path.join(folder, 'adapter.safetensors');
    await writeAdapter(file);
    const weights = await fs.readFile(file);
    const loaded = await Lapidary.load(model, { backend: 'cpu', adapters: [{ weights }] });
    t.after(() => loaded.dispose());
    const plain = await Lapidary.load(model, { backend: 'cpu' });
    t.after(() => plain.dispose());
    const asked = { prompt: 'abc', max_tokens: 3, temperature: 0, logprobs: 2 };
    const always = (await loaded.completions.create(asked)).choices[0]?.logprobs;
    const adapter = await plain.adapters.load({ weights });
    const named = (await plain.completions.create({ ...asked, adapters: [{ adapter }] })).choices[0]?.logprobs;
    assert.deepEqual(always, named);
    assert.notDeepEqual((await plain.completions.create(asked)).choices[0]?.logprobs, named);
});

test('what follows the last colon is a scale if it is a number', () => {
    assert.deepEqual(parseAdapter('a.gguf'), { file: 'a.gguf', scale: 1 });
    assert.deepEqual(parseAdapter('a.gguf:0.5'), { file: 'a.gguf', scale: 0.5 });
    assert.deepEqual(parseAdapter('C:\\a.gguf:-1e-1'), { file: 'C:\\a.gguf', scale: -0.1 });
    assert.deepEqual(parseAdapter('C:\\a.gguf'), { file: 'C:\\a.gguf', scale: 1 });
    assert.throws(() => parseAdapter('a.gguf:1.2.3'), /must be a number/);
});
