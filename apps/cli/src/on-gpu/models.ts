// The GPU backend against the same expected values as the CPU's, and against the CPU, on Dawn with Chromium's software GPU.
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { floats as asFloats, relativeError } from '../testing/floats.js';
import { GpuModel, continued, expectedOf, fixtures, needsSoftwareGpu, someTokens } from '../testing/gpu-model.js';
import { root } from '../testing/process.js';
import { readTensor } from '../testing/safetensors.js';
import { many, thorough } from '../testing/thorough.js';

const options = needsSoftwareGpu();

// tiny-e2b-q4_0 has the layers of tiny-e2b-q4km; its logits are compared in rows.ts. Of the two of Gemma 3 one has 62 layers.
const everyday = fixtures.filter((name) => name !== 'tiny-e2b-q4_0' && name !== 'tiny-gemma3-27b-q4km');
for (const fixture of thorough ? fixtures : everyday) {
    describe(`${fixture} on the GPU`, options, () => {
        let it: GpuModel;
        before(async () => {
            it = await GpuModel.open(fixture);
        });
        after(() => it?.close());

        // In blocks: not whole ones, and, every day with two of them, more than the sliding window of 32.
        const some = fixture === 'tiny-e2b-q4km' || fixture.startsWith('tiny-gemma3') ? 34 : 17;
        const ways = [
            ['in blocks', 'f32', 16, many(some, 96), floats(fixture)],
            ['one by one', 'f32', 1, many(3, 96), floats(fixture)],
            ['in blocks with half floats as keys and values', 'f16', 16, 96, halfFloats(fixture)],
        ] as const;
        for (const [how, kv, atOnce, count, most] of thorough ? ways : ways.slice(0, 2)) {
            test(`its tokens read ${how} give the expected logits`, async (t) => {
                const { tokens, logits } = await expectedOf(fixture);
                const seen = await it.logits(tokens.slice(0, count), { backend: 'gpu', kv, atOnce });
                const error = relativeError(seen, logits.subarray(0, seen.length));
                t.diagnostic(`relative error ${error}`);
                assert.ok(error <= most, `relative error ${error}`);
                if (kv === 'f16') assert.ok(error >= 1e-5, 'half floats must show');
            });
        }

        test('it writes what the CPU writes', async () => {
            const [tokens, count] = [someTokens(many(5, 18)), many(4, 64)];
            const cpu = await continued(await it.session({ backend: 'cpu' }), tokens, count);
            assert.equal(cpu.tokens.length, count);
            assert.deepEqual((await continued(await it.session({ backend: 'gpu' }), tokens, count)).tokens, cpu.tokens);
        });

        if (fixture.startsWith('tiny-gemma3')) {
            test('what goes from layer to layer is what is expected', async (t) => {
                const file = path.join(root, 'tests', 'data', 'fixtures', `${fixture}.safetensors`);
                const { tokens } = await expectedOf(fixture);
                const ids = new Uint8Array(Int32Array.from(tokens).buffer);
                const { json, blob } = await it.engine.call('model.states', { model: it.model.number }, { blob: ids });
                const states = asFloats(Buffer.from(blob));
                let worst = 0;
                for (let i = 0; i < json.states; i++) {
                    const error = relativeError(states.subarray(i * json.width, (i + 1) * json.width), await readTensor(file, `hidden.${i}`));
                    assert.ok(error <= floats(fixture), `before layer ${i}: relative error ${error}`);
                    worst = Math.max(worst, error);
                }
                t.diagnostic(`${json.states} states, worst relative error ${worst}`);
            });
        }

        // Many tokens go to experts together.
        if (thorough || fixture === 'tiny-moe-q4km') withManyTokens(() => it);
    });
}

// What depends little on the architecture: with LAPIDARY_THOROUGH=1 also with every fixture.
describe('a tiny model on the GPU', options, () => {
    let it: GpuModel;
    before(async () => {
        it = await GpuModel.openTiny();
    });
    after(() => it?.close());
    withManyTokens(() => it);
});

function withManyTokens(model: () => GpuModel): void {
    test('a long text is understood as the CPU understands it', async (t) => {
        // In blocks of 128 and 16, or of 512.
        const tokens = someTokens(many(132, 4040));
        const context = many(160, 4096); // all that fixtures have
        const meaning = async (backend: 'cpu' | 'gpu') => await (await model().session({ backend, context })).embed(tokens);
        const error = relativeError(await meaning('gpu'), await meaning('cpu'));
        t.diagnostic(`relative error ${error}`);
        assert.ok(error <= 1e-4, `relative error ${error}`);
    });

    test('with the same seed it writes the same, with another one not', async () => {
        const session = await model().session({ backend: 'gpu' });
        // So hot that noise is not sure of itself.
        const sampled = async (seed: number) => (await continued(session, someTokens(8), many(8, 64), { temperature: 100, top_k: 0, top_p: 1, seed })).tokens;
        const first = await sampled(1);
        assert.deepEqual(await sampled(1), first);
        assert.notDeepEqual(await sampled(2), first);
    });
}

/** How far off a fixture may be; 62 layers of noise make more of every rounding. */
function floats(fixture: string): number {
    return fixture === 'tiny-gemma3-27b-q4km' ? 3e-4 : 1e-4;
}

/** How far off a fixture may be with half floats; the random weights of one make more of every rounding. */
function halfFloats(fixture: string): number {
    return fixture === 'tiny-e2b-q4km' ? 3e-3 : 2e-3;
}

test('the built-in model says the same on the GPU as on the CPU', options, async () => {
    const it = await GpuModel.open(path.join(root, 'models', 'storyteller-q4_k_m.gguf'));
    const { tokens } = await it.model.tokenize('Once upon a time', { addBos: true });
    const said = async (backend: 'cpu' | 'gpu') => (await continued(await it.session({ backend, kv: 'i16' }), [...tokens], many(3, 64))).tokens;
    assert.deepEqual(await said('gpu'), await said('cpu'));
    await it.close();
});
