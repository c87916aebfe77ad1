// A model whose rows are too long for a workgroup to norm them by itself, on the software GPU and on the CPU. With whole
// numbers as activations, as GPUs that multiply bytes have them: the other tests compute with floats.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Model, type Backend } from 'lapidary';
import { loadEngine, openFile } from 'lapidary/node';
import { relativeError } from './testing/floats.js';
import { needsSoftwareGpu, someTokens } from './testing/gpu-model.js';
import { MemorySink } from './testing/memory-sink.js';
import { lapidary, temporaryFolder } from './testing/process.js';

process.env['LAPIDARY_GPU'] ??= 'swiftshader';

test('a model wider than a workgroup says the same on the GPU as on the CPU', needsSoftwareGpu(), async (t) => {
    const file = path.join(await temporaryFolder(t), 'wide.gguf');
    assert.equal((await lapidary(['synth', 'tiny-wide', file])).status, 0);
    const engine = await loadEngine();
    const logits = async (backend: Backend, processors: number): Promise<Float32Array> => {
        const model = await Model.open(engine, await openFile(file));
        await model.load(backend, { selfTest: false, processors });
        const session = await model.createSession({ backend, kv: 'f32', context: 64 });
        const sink = new MemorySink();
        await session.logits(someTokens(3), sink, { atOnce: 1 });
        await model.close();
        return sink.floats();
    };
    const expected = await logits('cpu', 0);
    const apart = await logits('gpu', 0);
    // Of so few processors, products with these matrices are large: their workgroups go through them together.
    const together = await logits('gpu', 8);
    for (const found of [apart, together]) {
        const error = relativeError(found, expected);
        t.diagnostic(`relative error ${error}`);
        assert.ok(error > 0 && error <= 1e-5, `relative error ${error}`);
    }
    assert.notDeepEqual(together, apart, 'sums in another order are not the same to the last bit');
    engine.close();
});
