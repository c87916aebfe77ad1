// The command line with the real engine, on the built-in model and the small models with known answers.
import assert from 'node:assert/strict';
import { createReadStream, promises as fs, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');
const builtin = path.join(root, 'models', 'storyteller-q4_k_m.gguf');
const engine = needsEngine();

/** How far the logits of a model are from those expected of a fixture. */
async function logitsError(model: string, fixture: string, folder: string): Promise<number> {
    const expected = path.join(fixtures, `${fixture}.safetensors`);
    const tokens = await readTensor(expected, 'tokens');
    const tokensFile = path.join(folder, 'tokens');
    await fs.writeFile(tokensFile, Buffer.from(Int32Array.from(tokens).buffer));
    const out = path.join(folder, 'logits');
    const { status, stderr } = await lapidary(['logits', model, '--tokens-file', tokensFile, '--out', out]);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    const actual = floats(await fs.readFile(out));
    return relativeError(actual, await readTensor(expected, 'logits'));
}

for (const name of ['tiny-e2b-q4km', 'tiny-e2b-q4_0', 'tiny-31b-q4km', 'tiny-moe-q4km']) {
    test(`the logits of ${name} are those of the reference`, engine, async (t) => {
        const folder = await temporaryFolder(t);
        const error = await logitsError(path.join(fixtures, `${name}.gguf`), name, folder);
        assert.ok(error <= 2e-4, `relative error ${error}`);
        assert.deepEqual((await fs.readdir(folder)).sort(), ['logits', 'tokens']);
    });
}

test('the built-in model tells a story, the same one for the same seed', engine, async () => {
    const args = ['generate', 'builtin', '--prompt', 'Once upon a time', '-n', '24', '--seed', '7'];
    const first = await lapidary(args);
    assert.equal(first.stderr, '');
    assert.equal(first.status, 0);
    assert.ok(first.stdout.trim().length > 20, first.stdout);
    const json = JSON.parse((await lapidary([...args, '--json'])).stdout) as { text: string; completion_tokens: number };
    assert.equal(json.text.trimEnd(), first.stdout.trimEnd());
    assert.ok(json.completion_tokens > 0 && json.completion_tokens <= 24);
});

test('a prompt may come through a pipe, without the line break echo puts behind it', engine, async () => {
    const args = ['generate', 'builtin', '-n', '8', '--temp', '0'];
    const told = await lapidary([...args, '--prompt', 'Once upon a time']);
    for (const end of ['\n', '\r\n', '']) {
        const piped = await lapidary(args, { input: `Once upon a time${end}` });
        assert.deepEqual(piped, told);
    }
    for (const input of ['', '\n', '  \n']) {
        const { status, stdout, stderr } = await lapidary(args, { input });
        assert.deepEqual([status, stdout], [2, '']);
        assert.equal(stderr, 'lapidary: there is nothing to continue: the text is empty\n');
    }
});

test('who leaves the backend open hears in one line why the CPU computes', engine, async () => {
    // A driver that is not there: no computer has a GPU then.
    const env = { LAPIDARY_BACKEND: 'auto', LAPIDARY_WEBGPU: '/nonexistent/index.js' };
    for (const extra of [[], ['--backend', 'auto']]) {
        const args = ['generate', 'builtin', '-n', '2', '--prompt', 'Once', ...extra];
        const { status, stderr } = await lapidary(args, { env });
        assert.equal(status, 0);
        assert.match(stderr, /^lapidary: WebGPU could not be loaded .*, so the CPU computes\n$/s);
    }
    const { status, stderr } = await lapidary(['generate', 'builtin', '--prompt', 'Once', '--backend', 'gpu'], { env });
    assert.equal(status, 1);
    assert.match(stderr, /lapidary: the GPU cannot be used: /);
});

test('text becomes ids and ids become the text again', engine, async () => {
    const text = 'Once upon a time, 🦊!';
    const ids = (await lapidary(['tokenize', 'builtin', '--no-bos'], { input: text })).stdout.trim().split(' ');
    assert.ok(ids.length > 3);
    assert.equal((await lapidary(['detokenize', 'builtin', ...ids])).stdout, `${text}\n`);
    const json = JSON.parse((await lapidary(['tokenize', 'builtin', '--no-bos', '--json', '--text', text])).stdout) as {
        tokens: number[];
        pieces: string[];
    };
    assert.deepEqual(json.tokens, ids.map(Number));
    assert.equal(json.pieces.length, ids.length);
});

test('inspect describes the model', engine, async () => {
    const table = await lapidary(['inspect', 'builtin']);
    assert.match(table.stdout, /^architecture +gemma4$/m);
    assert.equal(table.status, 0);
    const json = JSON.parse((await lapidary(['inspect', 'builtin', '--json', '--verify'])).stdout) as {
        file_bytes: number;
        sha256: Record<string, string>;
    };
    assert.equal(json.file_bytes, statSync(builtin).size);
    assert.equal(Object.keys(json.sha256)[0]?.length, 64);
});

test('a file that is no model is refused with one sentence', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const whole = await fs.readFile(path.join(fixtures, 'tiny-e2b-q4_0.gguf'));
    const garbage = Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256));
    const files: [name: string, bytes: Buffer][] = [
        ['empty', Buffer.alloc(0)],
        ['garbage', garbage],
        ['magic-only', Buffer.from('GGUF')],
        ['header-cut', whole.subarray(0, 1000)],
        ['data-cut', whole.subarray(0, whole.length - 100_000)],
    ];
    for (const [name, bytes] of files) {
        const file = path.join(folder, `${name}.gguf`);
        await fs.writeFile(file, bytes);
        const { status, stdout, stderr } = await lapidary(['inspect', file]);
        assert.match(stderr, /^lapidary: [^\n]+\n$/, name);
        assert.equal(stdout, '', name);
        assert.equal(status, 1, name);
    }
});

test('a model is read from a URL without fetching all of it', engine, async (t) => {
    const file = path.join(fixtures, 'tiny-e2b-q4_0.gguf');
    const { size } = statSync(file);
    let sent = 0;
    const server = createServer((request, response) => {
        const [, first = '0', last = '0'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const [start, end] = [Number(first), Number(last)];
        sent += end - start + 1;
        response.writeHead(206, { 'content-range': `bytes ${start}-${end}/${size}`, 'content-length': end - start + 1 });
        createReadStream(file, { start, end }).pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const remote = await lapidary(['inspect', `http://127.0.0.1:${port}/tiny.gguf`]);
    assert.equal(remote.stderr, '');
    assert.equal(remote.status, 0);
    assert.ok(sent < size / 2, `${sent} of ${size} bytes were sent`);
    const local = await lapidary(['inspect', file]);
    const withoutOrigin = (text: string) => text.replace(/^(origin|name) .*\n/gm, '').replace(/ +/g, ' ');
    assert.equal(withoutOrigin(remote.stdout), withoutOrigin(local.stdout));
});

test('Ctrl-C stops a story without a complaint', engine, async () => {
    const args = ['generate', 'builtin', '--prompt', 'Once upon a time', '-n', '100000', '--context', '2048'];
    const { status, stderr } = await lapidary([...args, '--temp', '1'], { interruptAfter: /\w+ \w+/ });
    assert.equal(stderr, '');
    assert.equal(status, 130);
});

test('logits that fail leave nothing behind', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const args = ['logits', path.join(fixtures, 'tiny-e2b-q4_0.gguf'), '--tokens', '2,999999', '--out'];
    const { status, stderr } = await lapidary([...args, path.join(folder, 'logits')]);
    assert.match(stderr, /^lapidary: [^\n]+\n$/);
    assert.equal(status, 1);
    assert.deepEqual(await fs.readdir(folder), []);
});

test('a quantised model is complete, smaller, and not overwritten by accident', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const half = path.join(folder, 'f16.gguf');
    const out = path.join(folder, 'q8_0.gguf');
    const source = path.join(fixtures, 'tiny-e2b-q4km.gguf');
    assert.equal((await lapidary(['quantize', source, half, '--type', 'f16'])).status, 0);
    const args = ['quantize', half, out, '--type', 'q8_0'];
    const first = await lapidary(args);
    assert.equal(first.stderr, '');
    assert.equal(first.status, 0);
    assert.ok((await fs.stat(out)).size < (await fs.stat(half)).size * 0.7);
    const again = await lapidary(args);
    assert.match(again.stderr, /exists already; --force overwrites it/);
    assert.equal(again.status, 1);
    assert.equal((await lapidary([...args, '--force'])).status, 0);
    assert.deepEqual((await fs.readdir(folder)).sort(), ['f16.gguf', 'q8_0.gguf']);
    // Random weights make these models chaotic: rounding to 8 bits moves their logits by 9 %, to half floats by 0.5 %.
    assert.ok((await logitsError(half, 'tiny-e2b-q4km', folder)) < 0.01);
    assert.ok((await logitsError(out, 'tiny-e2b-q4km', folder)) < 0.15);
});

test('quantising twice is refused with the reason', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const out = path.join(folder, 'twice.gguf');
    const { status, stderr } = await lapidary(['quantize', path.join(fixtures, 'tiny-e2b-q4km.gguf'), out, '--type', 'q4_0']);
    assert.match(stderr, /is Q4_K already: start from an F32, F16 or BF16 file/);
    assert.equal(status, 1);
    assert.deepEqual(await fs.readdir(folder), []);
});

test('a synthetic model is one that works', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const model = path.join(folder, 'tiny.gguf');
    const args = ['synth', 'tiny-e2b', model, '--quant', 'q4_0', '--seed', '3'];
    const made = await lapidary(args);
    assert.equal(made.stderr, '');
    assert.match(made.stdout, /tiny\.gguf: [\d.]+ MiB in 130 tensors\n$/);
    assert.equal(made.status, 0);

    const description = JSON.parse((await lapidary(['inspect', model, '--json'])).stdout) as Record<string, unknown>;
    assert.equal(description['supported'], true);
    assert.equal(description['name'], 'synthetic tiny-e2b');

    const story = await lapidary(['generate', model, '--prompt', 'Hello', '-n', '5', '--json']);
    assert.equal(story.stderr, '');
    assert.equal((JSON.parse(story.stdout) as { completion_tokens: number }).completion_tokens, 5);

    const out = path.join(folder, 'logits');
    assert.equal((await lapidary(['logits', model, '--tokens', '2,300,400', '--out', out])).status, 0);
    const logits = floats(await fs.readFile(out));
    assert.equal(logits.length, 3 * 512);
    assert.ok(logits.every(Number.isFinite));
    assert.ok(new Set(logits).size > 1000, 'the logits differ');

    const again = await lapidary(args);
    assert.match(again.stderr, /exists already; --force overwrites it/);
    assert.equal(again.status, 1);
    const before = await fs.readFile(model);
    assert.equal((await lapidary([...args, '--force'])).status, 0);
    assert.ok(before.equals(await fs.readFile(model)), 'the same seed gives the same file');
    assert.equal((await lapidary([...args.slice(0, -1), '4', '--force'])).status, 0);
    assert.ok(!before.equals(await fs.readFile(model)), 'another seed gives another file');
    assert.deepEqual((await fs.readdir(folder)).sort(), ['logits', 'tiny.gguf']);
});

test('a synthetic model of no known size is refused and leaves nothing behind', engine, async (t) => {
    const folder = await temporaryFolder(t);
    const { status, stderr } = await lapidary(['synth', 'e3b', path.join(folder, 'model.gguf')]);
    assert.match(stderr, /^lapidary: there is no Gemma 'e3b'; there are E2B, [^\n]+\n$/);
    assert.equal(status, 1);
    assert.deepEqual(await fs.readdir(folder), []);
});

test('perplexity is a number that makes sense', engine, async (t) => {
    const file = path.join(await temporaryFolder(t), 'story.txt');
    await fs.writeFile(file, 'Once upon a time, there was a little girl named Lily. She loved to play outside in the park.');
    const { stdout, stderr } = await lapidary(['perplexity', 'builtin', '--file', file, '--json']);
    assert.equal(stderr, '');
    const { perplexity, nll } = JSON.parse(stdout) as { perplexity: number; nll: number };
    assert.ok(perplexity > 1 && perplexity < 1000, `${perplexity}`);
    assert.ok(Math.abs(Math.exp(nll) / perplexity - 1) < 1e-3);
});

test('a chat answers lines from a pipe and obeys its commands', engine, async (t) => {
    const saved = path.join(await temporaryFolder(t), 'talk.json');
    const input = `Hello!\n/stats\n/save ${saved}\n/nonsense\n/exit\nnever asked\n`;
    const { status, stdout, stderr } = await lapidary(['chat', '-n', '8', '--seed', '1'], { input }); // the built-in model
    assert.match(stderr, /wrote \d+ at .*\nSaved to .*\nThere is no command \/nonsense/);
    assert.equal(status, 0);
    const { messages } = JSON.parse(await fs.readFile(saved, 'utf8')) as { messages: { role: string; content: string }[] };
    assert.deepEqual(
        messages.map(({ role }) => role),
        ['user', 'assistant'],
    );
    assert.equal(messages[1]?.content.trim(), stdout.trim());
});
