// Sessions on the GPU: they compute what they should, and whatever they make there is given back when they are closed,
// however often.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { relativeError } from '../testing/floats.js';
import { GpuModel, expectedOf, needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { many } from '../testing/thorough.js';

const fixture = 'tiny-31b-q4km';
const runs = many(6, 1000);
const kv = 'f16';

describe('sessions on the GPU', needsSoftwareGpu(), () => {
    let it: GpuModel;
    let empty: GpuModel['engine']['gpuLedger'];
    before(async () => {
        empty = (await softwareEngine()).gpuLedger;
        it = await GpuModel.open(fixture);
    });
    after(() => it?.close());

    test('with keys and values as half floats the logits are near those of the reference', async () => {
        // More than the 16 of the smaller block.
        const { tokens, logits } = await expectedOf(fixture);
        const session = await it.model.createSession({ backend: 'gpu', kv, context: 64 });
        const sink = new MemorySink();
        await session.logits(tokens.slice(0, 17), sink);
        await session.close();
        const seen = sink.floats();
        const error = relativeError(seen, logits.subarray(0, seen.length));
        // Half floats must show, and not too much.
        assert.ok(error >= 1e-5 && error <= 2e-3, `relative error ${error}`);
    });

    test(`after ${runs} short generations the GPU holds what it held before`, async () => {
        const { engine, model } = it;
        const loaded = engine.gpuLedger;
        assert.ok(loaded.buffers > 0 && loaded.bytes > 0, 'the weights are there');
        let heap = 0;
        for (let run = 0; run < runs; run++) {
            const session = await model.createSession({ backend: 'gpu', kv, context: 64 });
            const { completion_tokens } = await session.generate({
                prompt: '',
                max_tokens: 1,
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
        assert.deepEqual(engine.gpuLedger, empty);
        assert.deepEqual(empty, { buffers: 0, bytes: 0, pipelines: 0, bindGroups: 0, programs: 0 });
    });
});
