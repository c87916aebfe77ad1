// What a session on the GPU remembers: in other formats of keys and values, and saved and restored.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MemorySource } from 'lapidary';
import { relativeError } from '../testing/floats.js';
import { GpuModel, continued, expectedOf, needsSoftwareGpu, someTokens } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { many, thorough } from '../testing/thorough.js';

/** More than the sliding window of 32, and blocks of both sizes. */
const count = many(34, 49);
/** Tokens to go on with. */
const some = many(3, 4);

// The random weights of tiny-e2b make the most of every rounding: half floats are off by 2.3e-3 there, whole numbers of the
// same size by 2.3e-4, bytes by 4.3e-2. The other one has few layers, so that it is tried every day; layers that share keys
// and values as i16 the built-in model has (models.ts).
const limits = {
    'tiny-moe-q4km': { i16: [1e-6, 1e-4], q8: [1e-3, 5e-2] },
    'tiny-e2b-q4km': { i16: [1e-6, 5e-4], q8: [1e-3, 1e-1] },
} as const;

const everyday = ['tiny-moe-q4km'] as const;
for (const fixture of thorough ? ([...everyday, 'tiny-e2b-q4km'] as const) : everyday) {
    describe(`${fixture} on the GPU`, needsSoftwareGpu(), () => {
        let it: GpuModel;
        before(async () => {
            it = await GpuModel.open(fixture);
        });
        after(() => it?.close());

        for (const kv of ['i16', 'q8'] as const) {
            const [least, most] = limits[fixture][kv];
            test(`logits with keys and values as ${kv} are within ${most} of the reference`, async (t) => {
                const { tokens, logits } = await expectedOf(fixture);
                const seen = await it.logits(tokens.slice(0, count), { backend: 'gpu', kv });
                const error = relativeError(seen, logits.subarray(0, seen.length));
                t.diagnostic(`relative error ${error}`);
                assert.ok(error >= least && error <= most, `relative error ${error}`);
            });
        }

        test('a restored session goes on like the one that was saved', async () => {
            const first = await it.session({ backend: 'gpu', kv: 'i16' });
            const tokens = someTokens(many(34, 40));
            const begun = await continued(first, tokens, some);
            const sink = new MemorySink();
            const saved = await first.save(sink);
            assert.equal(saved.bytes, sink.bytes().length);

            // Of the same length, or it would need kernels of its own; engine/infer/gpu_state_test.cpp moves to other lengths.
            const second = await it.model.createSession({ backend: 'gpu', kv: 'i16', context: first.context });
            const held = await second.restore(new MemorySource(sink.bytes()));
            assert.equal(held.tokens, saved.tokens);
            const next = [...tokens, ...begun.tokens, 77, 78];
            const expected = await continued(first, next, some);
            const answer = await continued(second, next, some);
            assert.deepEqual(answer.tokens, expected.tokens);
            assert.equal(answer.cached, saved.tokens);

            // What does not fit is refused with a reason, and the session goes on.
            const damaged = sink.bytes();
            damaged[damaged.length - 100] = (damaged[damaged.length - 100] ?? 0) ^ 1;
            await assert.rejects(second.restore(new MemorySource(damaged)), /damaged/);
            await assert.rejects(second.restore(new MemorySource(sink.bytes().slice(0, 5000))), /ends after 5000/);
            await assert.rejects((await it.session({ backend: 'gpu', kv: 'q8' })).restore(new MemorySource(sink.bytes())), /'GPU, i16'.*'GPU, q8'/);
            assert.deepEqual((await continued(second, next, some)).tokens, expected.tokens);
            await second.close();
        });
    });
}
