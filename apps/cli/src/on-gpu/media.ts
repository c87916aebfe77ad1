// Pictures and sounds on the GPU: what towers make of them, and the logits of texts with them in it, with images seen causally and
// both ways.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, describe, test } from 'node:test';
import { Model } from 'lapidary';
import { openFile } from 'lapidary/node';
import { addMedia, withProjector, type MediaItem } from '../media-items.js';
import { floats, relativeError } from '../testing/floats.js';
import { needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { root } from '../testing/process.js';
import { readTensor } from '../testing/safetensors.js';
import { thorough } from '../testing/thorough.js';

const data = path.join(root, 'tests', 'data');
const { signal } = new AbortController();

const sequences: [name: string, text: string, towers: string, media: MediaItem[]][] = [
    ['seq-small', 'tiny-e2b-q4km', 'mmproj-small-F16', [image('square.png'), sound('short.wav')]],
    ['seq-large', 'tiny-31b-q4km', 'mmproj-large-BF16', [image('wide.png')]],
];

function image(name: string): MediaItem {
    return { kind: 'image', file: path.join(data, 'media', 'img', name), budget: 70 };
}

function sound(name: string): MediaItem {
    return { kind: 'audio', file: path.join(data, 'media', 'wav', name) };
}

// The inside of the large tower's feed-forward network is no multiple of 32; the unified one has matrices and nothing else.
const towers: [file: string, expected: string, item: MediaItem, everyDay: boolean][] = [
    ['mmproj-small-F16', 'wide.png.soft', image('wide.png'), true],
    ['mmproj-small-F16', 'short.soft', sound('short.wav'), true],
    ['mmproj-large-BF16', 'square.png.soft', image('square.png'), true],
    ['mmproj-unified-F16', 'square.png.soft', image('square.png'), true],
    ['mmproj-unified-F16', 'short.soft', sound('short.wav'), true],
    ['mmproj-small-Q8_0', 'square.png.soft', image('square.png'), false],
    ['blob-e2b', 'square.png.soft', image('square.png'), false],
    ['blob-e2b', 'second.soft', sound('second.wav'), false],
];

describe('towers on the GPU', needsSoftwareGpu(), () => {
    for (const [file, expected, item] of towers.filter(([, , , everyDay]) => everyDay || thorough)) {
        test(`${file} makes ${expected}`, async (t) => {
            const engine = await softwareEngine();
            const sources = await openFile(path.join(data, 'media', `${file}.gguf`));
            const model = await Model.open(engine, sources);
            try {
                await withProjector({ engine, model, sources, origin: file }, undefined, 'gpu', signal, async (projector) => {
                    const { media } = await addMedia(engine, projector, item, signal);
                    const { blob } = await engine.call('media.encode', { media }, { signal });
                    await engine.call('media.close', { media });
                    const error = relativeError(floats(Buffer.from(blob)), await readTensor(path.join(data, 'media', `${file}.safetensors`), expected));
                    t.diagnostic(`relative error ${error}`);
                    // Ten times what is asked of the CPU: sums in another order, and exponentials of a GPU.
                    const most = item.kind === 'audio' && !file.includes('unified') ? 1e-3 : 1e-4;
                    assert.ok(error < most, `relative error ${error}`);
                });
            } finally {
                await model.close();
            }
        });
    }
});

describe('pictures and sounds on the GPU', needsSoftwareGpu(), () => {
    const open: Model[] = [];
    after(async () => {
        for (const model of open) await model.close();
    });
    for (const [name, text, towers, items] of sequences) {
        test(`${name} has the expected logits`, async (t) => {
            const engine = await softwareEngine();
            const sources = await openFile(path.join(data, 'fixtures', `${text}.gguf`));
            const model = await Model.open(engine, sources);
            open.push(model);
            await model.load('gpu', { selfTest: false });
            const expected = path.join(data, 'media', `${name}.safetensors`);
            const tokens = [...(await readTensor(expected, 'tokens'))];
            const mmproj = path.join(data, 'media', `${towers}.gguf`);
            const sink = new MemorySink();
            await withProjector({ engine, model, sources, origin: text }, mmproj, 'cpu', signal, async (projector) => {
                const media = [];
                for (const item of items) media.push(await addMedia(engine, projector, item, signal));
                const session = await model.createSession({ backend: 'gpu', kv: 'f32', context: 192 });
                await session.logits(tokens, sink, { media: media.map((one) => ({ media: one.media })) });
                await session.close();
            });
            const rows = await readTensor(expected, 'logit_rows');
            const wanted = await readTensor(expected, 'logits');
            const width = wanted.length / rows.length;
            const logits = sink.floats();
            const found = Float32Array.from([...rows].flatMap((row) => [...logits.subarray(row * width, (row + 1) * width)]));
            const error = relativeError(found, wanted);
            t.diagnostic(`relative error ${error}`);
            assert.ok(error < 1e-3, `relative error ${error}`);
        });
    }
});
