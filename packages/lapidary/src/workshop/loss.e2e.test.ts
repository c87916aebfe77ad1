// A real device that is taken away in the middle of a training.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { engineFile } from '../engine-file.js';
import { Lapidary, type LoadedEngine } from '../lapidary.js';
import { gpuForTests, watched } from '../testing/gpu-driver.js';
import { tinyModel } from '../testing/tiny-model.js';
import type { TrainingEvent } from './calls.js';

const found = await gpuForTests();
const reason = typeof found === 'string' ? found : existsSync(engineFile()) ? undefined : 'the engine is not built';
const skip = reason ?? false;

const data = ['ab', 'cd', 'ef'].map((text) => ({ text }));
const settings = { data, rank: 2, lr: 1e-2, epochs: 1, batch: 1, seq: 16, seed: 3, schedule: 'constant', checkpointing: false } as const;

interface Told {
    /** Every step that was made, also those that were made again. */
    steps: { step: number; loss: number }[];
    notices: string[];
    /** The adapter it became. */
    adapter: Uint8Array;
}

async function train(engine: LoadedEngine, onEvent: (event: TrainingEvent) => void = () => undefined): Promise<Told> {
    const steps: Told['steps'] = [];
    const notices: string[] = [];
    const training = await engine.train({
        ...settings,
        onEvent: (event) => {
            if (event.type === 'step') steps.push({ step: event.step, loss: event.loss });
            if (event.type === 'notice') notices.push(event.text);
            onEvent(event);
        },
    });
    training.resume();
    await training.finished();
    assert.deepEqual(training.steps.map(({ step }) => step), [1, 2, 3]);
    const adapter = await training.adapter();
    const [file] = await engine.adapters.export(adapter, 'gguf', { type: 'f32' });
    assert.ok(file);
    await training.close();
    return { steps, notices, adapter: file.bytes };
}

test('a GPU that is lost in mid-training costs the steps since the last checkpoint and changes no bit', { skip }, async () => {
    const real = watched(found as GPU);
    const engine = await Lapidary.load(await tinyModel(), { backend: 'gpu', gpu: real.gpu, contextLength: 64, maxConversations: 1, workshop: true });
    try {
        const first = real.device();
        let saved = 0;
        const disturbed = await train(engine, (event) => {
            if (event.type === 'checkpoint') saved = event.step;
            // A moment later: the next step is under way.
            if (event.type === 'step' && event.step === 1 && real.device() === first) setTimeout(() => first.destroy(), 5);
        });
        assert.notEqual(real.device(), first, 'another device went on');
        assert.equal(engine.info.backend, 'gpu');
        assert.equal(saved, 3);
        assert.match(disturbed.notices.join(), /^The GPU was lost\. The training goes on from step [01]\.$/);

        // On the device that is there now: its kernels are compiled already.
        const undisturbed = await train(engine);
        assert.deepEqual([undisturbed.steps.length, undisturbed.notices], [3, []]);
        const expected = new Map(undisturbed.steps.map(({ step, loss }) => [step, loss]));
        for (const { step, loss } of disturbed.steps) assert.equal(loss, expected.get(step), `step ${step}`);
        assert.ok(Buffer.from(disturbed.adapter).equals(Buffer.from(undisturbed.adapter)), 'the adapter is the same');
    } finally {
        await engine.dispose();
    }
});
