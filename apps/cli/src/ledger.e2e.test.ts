// Sessions on the GPU: they compute what they should, and whatever they make there is given back when they are closed,
// however often. One model for both, because a software GPU takes seconds for every kernel it compiles.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Model, type Engine } from 'lapidary';
import { loadEngine, openFile } from 'lapidary/node';
import { relativeError } from './testing/floats.js';
import { MemorySink } from './testing/memory-sink.js';
import { needsEngine, root } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const fixture = path.join(root, 'tests', 'data', 'fixtures', 'tiny-31b-q4km');
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };
/**
 * A software GPU needs a while for a thousand, and for the kernels that read a prompt:
 * who wants more runs gets both.
 */
const asked = process.env['LAPIDARY_LEDGER_RUNS'];
const runs = Number(asked ?? 20);
const [prompt, maxTokens] = asked === undefined ? ['', 1] : ['a few words', 4];
const kv = 'f16';

describe('on the GPU', options, () => {
    let engine: Engine;
    let model: Model;

    before(async () => {
        process.env['LAPIDARY_GPU'] ??= 'swiftshader';
        engine = await loadEngine();
        model = await Model.open(engine, await openFile(`${fixture}.gguf`));
        // Which kernels a GPU gets is tested elsewhere; here they are always the same, those that compute with floats.
        await model.load('gpu', { selfTest: false, without: ['packed_4x8_integer_dot_product'] });
    });

    after(() => engine?.close());

    test('with keys and values as half floats the logits are near those of the reference', async () => {
        // More than the 16 of the smaller block.
        const count = 17;
        const tokens = (await readTensor(`${fixture}.safetensors`, 'tokens')).subarray(0, count);
        const expected = await readTensor(`${fixture}.safetensors`, 'logits');
        const session = await model.createSession({ backend: 'gpu', kv, context: 64 });
        const sink = new MemorySink();
        const { vocabulary } = await session.logits(tokens, sink);
        await session.close();
        const error = relativeError(sink.floats(), expected.subarray(0, count * vocabulary));
        // Half floats must show, and not too much.
        assert.ok(error >= 1e-5 && error <= 2e-3, `relative error ${error}`);
    });

    test(`after ${runs} short generations the GPU holds what it held before`, async () => {
        const loaded = engine.gpuLedger;
        assert.ok(loaded.buffers > 0 && loaded.bytes > 0, 'the weights are there');
        let heap = 0;
        for (let run = 0; run < runs; run++) {
            const session = await model.createSession({ backend: 'gpu', kv, context: 64 });
            const { completion_tokens } = await session.generate({
                prompt,
                max_tokens: maxTokens,
                sampling: { seed: run, temperature: 1 },
            });
            assert.ok(completion_tokens > 0);
            assert.ok(engine.gpuLedger.bytes > loaded.bytes, 'a session holds something');
            await session.close();
            assert.deepEqual(engine.gpuLedger, loaded, `after run ${run}`);
            // The engine's own memory: what the second half needs is there after the first.
            if (run === Math.floor(runs / 2)) heap = engine.memoryBytes;
        }
        assert.equal(engine.memoryBytes, heap);
        await model.close();
        assert.deepEqual(engine.gpuLedger, { buffers: 0, bytes: 0, pipelines: 0, bindGroups: 0, programs: 0 });
    });
});
