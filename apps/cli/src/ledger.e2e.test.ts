// Whatever a session makes on the GPU is given back when it is closed, however often.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Model } from 'lapidary';
import { loadEngine, openFile } from 'lapidary/node';
import { needsEngine, root } from './testing/process.js';

const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };
/**
 * A software GPU needs a while for a thousand, and for compiling the kernels that read several tokens at once: who
 * wants more runs gets both.
 */
const asked = process.env['LAPIDARY_LEDGER_RUNS'];
const runs = Number(asked ?? 20);
const [prompt, maxTokens] = asked === undefined ? ['', 1] : ['a few words', 4];

test(`after ${runs} short generations the GPU holds what it held before`, options, async (t) => {
    process.env['LAPIDARY_GPU'] ??= 'swiftshader';
    const engine = await loadEngine();
    t.after(() => engine.close());
    const file = path.join(root, 'tests', 'data', 'fixtures', 'tiny-31b-q4km.gguf');
    const model = await Model.open(engine, await openFile(file));
    await model.load('gpu');
    const loaded = engine.gpuLedger;
    assert.ok(loaded.buffers > 0 && loaded.bytes > 0, 'the weights are there');
    let heap = 0;
    for (let run = 0; run < runs; run++) {
        const session = await model.createSession({ backend: 'gpu', context: 64 });
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
