// The loss and the gradients of training on the software GPU against expected ones.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Model } from 'lapidary';
import { openFile } from 'lapidary/node';
import { needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { root } from '../testing/process.js';
import { many, thorough } from '../testing/thorough.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');

// Layers are computed twice or kept: both ways have to be right. LAPIDARY_THOROUGH=1 adds those whose layers the first two
// have as well.
const everyday = { 'tiny-e2b-q4_0': true, 'tiny-moe-q4km': false, 'tiny-gemma3-4b-blob-q4km': false };
const all = { ...everyday, 'tiny-gemma3-q4km': false, 'tiny-31b-q4km': true, 'tiny-e2b-q4km': false, 'tiny-gemma3-27b-q4km': true };

for (const [name, checkpointing] of Object.entries(thorough ? all : everyday)) {
    const how = checkpointing ? 'with' : 'without';
    test(`training ${name} on the GPU, ${how} checkpointing, has the expected loss and gradients`, needsSoftwareGpu(), async () => {
        const engine = await softwareEngine();
        const model = await Model.open(engine, await openFile(path.join(fixtures, `${name}.gguf`)));
        await model.load('gpu', { selfTest: false, without: ['packed_4x8_integer_dot_product'] });
        const blob = await fs.readFile(path.join(fixtures, `${name}.lora.safetensors`));
        const args = { model: model.number, backend: 'gpu' as const, checkpointing, steps: many(0, 20) };
        const { json } = await engine.call('train.gradcheck', args, { blob });
        await model.close();
        const { loss, gradients, passed } = json;
        assert.ok(loss <= 1e-4, `loss ${loss}`);
        assert.ok(gradients.length >= 18, `${gradients.length} matrices`);
        for (const { label, a, b } of gradients) assert.ok(a <= 2e-3 && b <= 2e-3, `${label}: dA ${a}, dB ${b}`);
        for (const [step, error] of json.guided.slice(0, json.determined).entries()) assert.ok(error <= 1e-2, `AdamW's step ${step}: ${error}`);
        assert.equal(passed, true);
    });
}
