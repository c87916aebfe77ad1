// The table of per-layer embeddings in the file instead of on the GPU: the same numbers, the same text, less memory.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Lapidary, Model, type ByteSource, type Session, type TablePlace } from 'lapidary';
import { openFile } from 'lapidary/node';
import { relativeError } from '../testing/floats.js';
import { expectedOf, needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { root } from '../testing/process.js';
import { thorough } from '../testing/thorough.js';

const options = needsSoftwareGpu();
const fixture = (name: string) => path.join(root, 'tests', 'data', 'fixtures', name);
process.env['LAPIDARY_CACHE'] ??= '/dev/null/lapidary';

interface Opened {
    model: Model;
    session: Session;
    bytes: number;
    /** Bytes that were read since it was loaded. */
    read: () => number;
}

async function opened(name: string, perLayerEmbeddings: TablePlace): Promise<Opened> {
    let read = 0;
    const counted = (source: ByteSource): ByteSource => ({
        size: source.size,
        name: source.name,
        read: async (offset, length, signal) => {
            read += length;
            return await source.read(offset, length, signal);
        },
        close: async () => await source.close(),
    });
    const model = await Model.open(await softwareEngine(), (await openFile(fixture(`${name}.gguf`))).map(counted));
    const loaded = await model.load('gpu', {
        selfTest: false,
        without: ['packed_4x8_integer_dot_product'],
        perLayerEmbeddings,
    });
    assert.equal(loaded.perLayerEmbeddings, perLayerEmbeddings);
    const before = read;
    const session = await model.createSession({ backend: 'gpu', context: 64, kv: 'f32' });
    return { model, session, bytes: loaded.bytes, read: () => read - before };
}

async function logits(session: Session, tokens: ArrayLike<number>): Promise<Float32Array> {
    const sink = new MemorySink();
    await session.logits(Int32Array.from(tokens), sink);
    return sink.floats();
}

async function told(session: Session, more: object = {}): Promise<number[]> {
    const tokens: number[] = [];
    await session.generate(
        { prompt: 'abc def', max_tokens: 3, sampling: { temperature: 0 }, ...more },
        { onEvent: (event) => void (event.type === 'text' && tokens.push(...event.tokens)) },
    );
    return tokens;
}

for (const name of thorough ? ['tiny-e2b-q4km', 'tiny-e2b-q4_0'] : ['tiny-e2b-q4_0']) {
    test(`${name} with its table in the file computes exactly what it does with it on the GPU`, options, async () => {
        const [gpu, source] = [await opened(name, 'gpu'), await opened(name, 'source')];
        assert.ok(source.bytes < gpu.bytes, `${source.bytes} bytes, not ${gpu.bytes}`);

        // A block of tokens, then one by one.
        const reference = await expectedOf(name);
        const known = reference.tokens.slice(0, 17);
        const expected = await logits(gpu.session, known);
        const error = relativeError(expected, reference.logits.subarray(0, expected.length));
        assert.ok(error <= 1e-4, `relative error ${error}`);
        assert.equal(gpu.read(), 0);
        assert.deepEqual(await logits(source.session, known), expected);
        assert.ok(source.read() > 0, 'rows came from the file');

        const answer = await told(source.session);
        assert.equal(answer.length, 3);
        assert.deepEqual(answer, await told(gpu.session));
        if (name === 'tiny-e2b-q4_0') {
            // Several steps are under way at once on the GPU, and one at a time where their rows come from the file.
            const sampled = { max_tokens: 5, sampling: { temperature: 100, top_k: 0, top_p: 1, seed: 3 } };
            assert.deepEqual(await told(source.session, sampled), await told(gpu.session, sampled));
            // Where the choice is limited, it comes after the step in both.
            const json = { response_format: { type: 'json_object' }, sampling: { temperature: 1, top_k: 40, seed: 7 } };
            assert.deepEqual(await told(source.session, json), await told(gpu.session, json));
        }
        await gpu.model.close();
        await source.model.close();
    });
}

test('a memory budget decides where the table is', options, async (t) => {
    const file = fixture('tiny-e2b-q4_0.gguf');
    const model = await Model.open(await softwareEngine(), await openFile(file));
    const { memory } = await model.describe();
    assert.ok(memory);
    const table = Number(memory['per_layer_embeddings']);
    await model.close();
    const load = (memoryBudget: number) =>
        Lapidary.load(file, { backend: 'gpu', contextLength: 64, maxConversations: 1, memoryBudget });
    await assert.rejects(load(memory.weights - table - 1), /choose a smaller model/);
    const part = await load(memory.weights); // and nothing for a conversation
    t.after(() => part.dispose());
    assert.equal(part.info.perLayerEmbeddings, 'source');
    assert.ok(part.info.weightBytes <= memory.weights - table / 2);
});
