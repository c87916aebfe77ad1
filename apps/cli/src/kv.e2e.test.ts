// What a session on the GPU remembers: in every format of keys and values, saved and restored, and as an embedding.
// In this process and with one model for all tests, because a software GPU takes seconds for every kernel it compiles
// and sessions share what they have in common while one of them lives.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { MemorySource, Model, type Engine, type KvFormat, type Session } from 'lapidary';
import { loadEngine, openFile } from 'lapidary/node';
import { relativeError } from './testing/floats.js';
import { MemorySink } from './testing/memory-sink.js';
import { needsEngine, root } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const fixture = path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4km');
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };
/** More than the sliding window of 32, and more than one block at the end. */
const count = 49;
const greedy = { max_tokens: 6, sampling: { temperature: 0 } };

describe('on the GPU', options, () => {
    let engine: Engine;
    let model: Model;
    const sessions = new Map<KvFormat, Session>();

    async function session(kv: KvFormat): Promise<Session> {
        const known = sessions.get(kv) ?? (await model.createSession({ backend: 'gpu', kv, context: 64 }));
        sessions.set(kv, known);
        return known;
    }

    before(async () => {
        process.env['LAPIDARY_GPU'] ??= 'swiftshader';
        engine = await loadEngine();
        model = await Model.open(engine, await openFile(`${fixture}.gguf`));
        // Which kernels a GPU gets is tested elsewhere; here they are always the same, those that compute with floats.
        await model.load('gpu', { selfTest: false, without: ['packed_4x8_integer_dot_product'] });
        await model.load('cpu');
    });

    after(async () => {
        await model?.close();
        engine?.close();
    });

    // The fixture's random weights make the most of every rounding: half floats (ledger.e2e.test.ts) are off by 2.3e-3
    // here, whole numbers of the same size by 2.3e-4, bytes by 4.3e-2.
    for (const [kv, least, most] of [
        ['f32', 0, 1e-4],
        ['i16', 1e-6, 5e-4],
        ['q8', 1e-3, 1e-1],
    ] as const) {
        test(`logits with keys and values as ${kv} are within ${most} of the reference`, async (t) => {
            const tokens = (await readTensor(`${fixture}.safetensors`, 'tokens')).subarray(0, count);
            const expected = await readTensor(`${fixture}.safetensors`, 'logits');
            const sink = new MemorySink();
            const { vocabulary } = await (await session(kv)).logits(tokens, sink);
            const error = relativeError(sink.floats(), expected.subarray(0, count * vocabulary));
            t.diagnostic(`relative error ${error}`);
            assert.ok(error >= least && error <= most, `relative error ${error}`);
        });
    }

    test('a restored session goes on like the one that was saved', async () => {
        const first = await session('i16');
        const tokens = Array.from({ length: 40 }, (_, i) => 30 + ((i * 7) % 400));
        const begun = await told(first, tokens);
        const sink = new MemorySink();
        const saved = await first.save(sink);
        assert.equal(saved.bytes, sink.bytes().length);

        // Of the same length, or it would need kernels of its own; engine/infer/gpu_state_test.cpp moves to other lengths.
        const second = await model.createSession({ backend: 'gpu', kv: 'i16', context: 64 });
        const held = await second.restore(new MemorySource(sink.bytes()));
        assert.equal(held.tokens, saved.tokens);
        const next = [...tokens, ...begun.tokens, 77, 78];
        const expected = await told(first, next);
        const answer = await told(second, next);
        assert.deepEqual(answer.tokens, expected.tokens);
        assert.equal(answer.cached, saved.tokens);

        // What does not fit is refused with a reason, and the session goes on.
        const damaged = sink.bytes();
        damaged[damaged.length - 100] = (damaged[damaged.length - 100] ?? 0) ^ 1;
        await assert.rejects(second.restore(new MemorySource(damaged)), /damaged/);
        await assert.rejects(second.restore(new MemorySource(sink.bytes().slice(0, 5000))), /ends after 5000/);
        await assert.rejects((await session('q8')).restore(new MemorySource(sink.bytes())), /'GPU, i16'.*'GPU, q8'/);
        assert.deepEqual((await told(second, next)).tokens, expected.tokens);
        await second.close();
    });

    test('what is written after a prompt is what the CPU writes', async () => {
        const tokens = Array.from({ length: 40 }, (_, i) => 30 + ((i * 11) % 400));
        const reference = await model.createSession({ backend: 'cpu', context: 64 });
        assert.deepEqual((await told(await session('i16'), tokens)).tokens, (await told(reference, tokens)).tokens);
        await reference.close();
    });

    test('an embedding is that of the CPU', async () => {
        const tokens = Array.from({ length: 40 }, (_, i) => 30 + i);
        const reference = await model.createSession({ backend: 'cpu', context: 64 });
        const error = relativeError(await (await session('f32')).embed(tokens), await reference.embed(tokens));
        assert.ok(error <= 1e-4, `relative error ${error}`);
        await reference.close();
    });
});

/** The greedy continuation of these tokens. */
async function told(session: Session, tokens: readonly number[]): Promise<{ tokens: number[]; cached: number }> {
    const seen: number[] = [];
    const request = { prompt: '', continue_tokens: tokens, ...greedy, max_tokens: tokens.length + greedy.max_tokens };
    const { cached_tokens: cached } = await session.generate(request, {
        onEvent: (event) => {
            if (event.type === 'text') seen.push(...event.tokens);
        },
    });
    return { tokens: seen, cached };
}
