// Adapters on the GPU against the CPU's, on Dawn with Chromium's software GPU, through the command line.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { floats, relativeError } from './testing/floats.js';
import { needsSoftwareGpu } from './testing/gpu-model.js';
import { writeAdapter } from './testing/peft.js';
import { lapidary, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';

const fixtures = path.join(root, 'tests', 'data', 'fixtures');
const onSoftware = { env: { LAPIDARY_GPU: 'swiftshader' } };
const options = needsSoftwareGpu();

test('adapters change the logits on the GPU as they do on the CPU, several at once and each by its scale', options, async (t) => {
    const folder = await temporaryFolder(t);
    const model = path.join(fixtures, 'tiny-e2b-q4_0.gguf');
    const many = await writeAdapter(
        path.join(folder, 'many'),
        {
            '0.self_attn.q_proj': [256, 256],
            '0.self_attn.k_proj': [256, 64],
            '0.self_attn.v_proj': [256, 64],
            '0.self_attn.o_proj': [256, 256],
            '1.mlp.gate_proj': [256, 512],
            '1.mlp.up_proj': [256, 512],
            '2.mlp.down_proj': [512, 256],
            '3.per_layer_input_gate': [256, 64],
            '3.per_layer_projection': [64, 256],
            '5.mlp.up_proj': [256, 1024],
        },
        4,
    );
    const few = await writeAdapter(path.join(folder, 'few'), { '0.self_attn.q_proj': [256, 256], '5.mlp.up_proj': [256, 1024] }, 7);
    // More than a block of one token, and one of one.
    const all = await readTensor(path.join(fixtures, 'tiny-e2b-q4_0.safetensors'), 'tokens');
    const logits = async (backend: string, adapters: string[]) => {
        const out = path.join(folder, `${backend}-${adapters.length}`);
        const args = ['logits', model, '--backend', backend, '--tokens', [...all.subarray(0, 17)].join(','), '--out', out];
        const kv = backend === 'gpu' ? ['--kv', 'f32'] : [];
        const { status, stderr } = await lapidary([...args, ...kv, ...adapters.flatMap((one) => ['--adapter', one])], onSoftware);
        assert.equal(stderr, '');
        assert.equal(status, 0);
        return floats(await fs.readFile(out));
    };
    const both = [many, `${few}:0.5`];
    const expected = await logits('cpu', both);
    assert.ok(relativeError(await logits('cpu', []), expected) > 1e-2, 'the adapters change something');
    const error = relativeError(await logits('gpu', both), expected);
    assert.ok(error <= 1e-3, `relative error ${error}`);
});
