// Pictures and sounds on the command line: what the towers compute, against the expected values, from the files as people
// have them.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const folder = path.join(root, 'tests', 'data', 'media');
const small = path.join(folder, 'mmproj-small-F16.gguf');
const image = (name: string) => path.join(folder, 'img', name);
const sound = (name: string) => path.join(folder, 'wav', name);

async function encode(args: readonly string[]): Promise<Record<string, unknown>> {
    const { status, stdout, stderr } = await lapidary(['encode', ...args, '--json']);
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
}

async function written(t: TestContext, args: (file: string) => string[]): Promise<Float32Array> {
    const file = path.join(await temporaryFolder(t), 'out.f32');
    await encode(args(file));
    return floats(await fs.readFile(file));
}

test('a picture becomes the soft tokens that transformers makes of it', needsEngine(), async (t) => {
    const soft = await written(t, (out) => [small, '--image', image('wide.png'), '--budget', '70', '--out', out]);
    const error = relativeError(soft, await readTensor(small.replace('.gguf', '.safetensors'), 'wide.png.soft'));
    assert.ok(error < 1e-5, `relative error ${error}`);
});

test('a sound does, and its features are told', needsEngine(), async (t) => {
    const expected = small.replace('.gguf', '.safetensors');
    const mel = await written(t, (out) => [small, '--audio', sound('second.wav'), '--mel', out]);
    assert.ok(relativeError(mel, await readTensor(expected, 'second.mel')) < 1e-4);
    const soft = await written(t, (out) => [small, '--audio', sound('second.wav'), '--out', out]);
    assert.ok(relativeError(soft, await readTensor(expected, 'second.soft')) < 1e-4);
});

test('without a place for tokens a picture is only resized, whatever positions the tower has', needsEngine(), async (t) => {
    for (const [name, far] of [
        ['photo.jpg', 3],
        ['turned.jpg', 3],
        ['lossless.webp', 2],
        ['drawing.png', 2],
    ] as const) {
        const budget = name === 'drawing.png' ? 1120 : 70;
        const pixels = await written(t, (out) => [small, '--image', image(name), '--budget', String(budget), '--pixels', out]);
        const [stride = 1] = await readTensor(path.join(folder, 'preprocess.safetensors'), `${name}@${budget}.stride`);
        const sample = await readTensor(path.join(folder, 'preprocess.safetensors'), `${name}@${budget}.sample`);
        let sum = 0;
        for (const [i, wanted] of sample.entries()) {
            const off = Math.abs((pixels[i * stride] ?? NaN) - wanted);
            assert.ok(off <= far, `${name}: ${off} levels off at ${i * stride}`);
            sum += off;
        }
        assert.ok(sum / sample.length <= 0.04 * far, `${name}: ${sum / sample.length} levels off on the average`);
    }
    const sizes = await encode([small, '--image', image('turned.jpg')]);
    assert.ok(Number(sizes['height']) > 0 && Number(sizes['tokens']) <= 280);
});

test('whole sequences with pictures and sounds have the expected logits', needsEngine(), async (t) => {
    const expected = path.join(folder, 'seq-small.safetensors');
    const out = await temporaryFolder(t);
    const tokens = await readTensor(expected, 'tokens');
    await fs.writeFile(path.join(out, 'tokens'), new Uint8Array(Int32Array.from(tokens).buffer));
    const { status, stderr } = await lapidary([
        ...['logits', path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4km.gguf'), '--mmproj', small],
        ...['--tokens-file', path.join(out, 'tokens'), '--media', `image:${image('square.png')}:70`],
        ...['--media', `audio:${sound('short.wav')}`, '--out', path.join(out, 'logits')],
    ]);
    assert.equal(status, 0, stderr);
    const logits = floats(await fs.readFile(path.join(out, 'logits')));
    const rows = await readTensor(expected, 'logit_rows');
    const wanted = await readTensor(expected, 'logits');
    const width = wanted.length / rows.length;
    const found = Float32Array.from([...rows].flatMap((row) => [...logits.subarray(row * width, (row + 1) * width)]));
    const error = relativeError(found, wanted);
    assert.ok(error < 1e-4, `relative error ${error}`);
});

test('what cannot be seen or heard gets a sentence', needsEngine(), async (t) => {
    const svg = path.join(await temporaryFolder(t), 'picture.svg');
    await fs.writeFile(svg, '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    const large = path.join(folder, 'mmproj-large-BF16.gguf');
    for (const [args, sentence] of [
        [['encode', small, '--image', svg], /SVG|not a picture|no picture/i],
        [['encode', small, '--image', sound('short.wav')], /not a picture/],
        [['encode', large, '--audio', sound('short.wav')], /this model does not hear/],
        [['encode', small], /give one of --image, --frame and --audio/],
        [['encode', 'builtin', '--image', image('wide.png')], /neither sees nor hears/],
        [['encode', 'builtin', '--mmproj', small, '--image', image('wide.png')], /does not belong to this model/],
        [['inspect', small], /gemma4v/],
    ] as [string[], RegExp][]) {
        const { status, stdout, stderr } = await lapidary(args);
        assert.equal(status === 0, args[0] === 'inspect', stderr);
        assert.match(stdout + stderr, sentence);
    }
});
