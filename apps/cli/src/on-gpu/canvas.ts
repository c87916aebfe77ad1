// A diffusion model on the software GPU: what its canvases must compute, whole generations to the token, and answers.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LoadedAdapter, type Session } from 'lapidary';
import { relativeError } from '../testing/floats.js';
import { GpuModel, needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { writeAdapter } from '../testing/peft.js';
import { root, temporaryFolder } from '../testing/process.js';
import { readTensor } from '../testing/safetensors.js';
import { thorough } from '../testing/thorough.js';

const options = needsSoftwareGpu();
const folder = path.join(root, 'tests', 'data', 'diffusion');
const name = 'tiny-diffusion-q4km';
const canvas = 16;
/** A few matrices of both kinds of layers, with what they read and what they make. */
const adapted: Record<string, [number, number]> = {
    '0.self_attn.q_proj': [256, 256],
    '1.mlp.down_proj': [288, 256],
    '2.self_attn.k_proj': [256, 128],
};

describe('a canvas on the GPU', options, () => {
    let it: GpuModel;
    before(async () => {
        it = await GpuModel.open(path.join(folder, `${name}.gguf`));
    });
    after(() => it?.close());

    for (const situation of thorough ? ['short', 'long', 'committed'] : ['committed']) {
        test(`its logits are the expected ones: ${situation}`, async (t) => {
            const file = path.join(folder, `${name}.forward.safetensors`);
            const read = async (tensor: string) => [...(await readTensor(file, `${situation}.${tensor}`))];
            const committed = situation === 'committed' ? await read('committed') : [];
            const [first, second] = [await read('canvas1'), await read('canvas2')];
            const tokens = [...(await read('prompt')), ...committed, ...first, ...second, ...first];
            const sink = new MemorySink();
            const session = await it.session({ backend: 'gpu' });
            await session.canvasLogits(tokens, sink, { canvases: 3, temperatures: await read('temperatures') });
            const seen = sink.floats();
            const one = seen.length / 3;
            for (const n of [1, 2, 3]) {
                const error = relativeError(seen.subarray((n - 1) * one, n * one), Float32Array.from(await read(`logits${n}`)));
                t.diagnostic(`logits${n}: relative error ${error}`);
                assert.ok(error <= 3e-4, `logits${n}: relative error ${error}`);
            }
        });
    }

    for (const trace of thorough ? ['eos', 'max', 'stable2', 'stop'] : ['eos']) {
        test(`a whole generation is the expected one, to the token: ${trace}`, async () => {
            const expected = await traceOf(trace);
            const gpu = await replayed(await it.session({ backend: 'gpu' }), expected);
            assert.deepEqual(gpu.output, expected.output);
            for (const tensor of ['canvas_in', 'accept', 'argmax'] as const) {
                assert.deepEqual(gpu.steps.flatMap((step) => step[tensor]), expected[tensor], tensor);
            }
            gpu.steps.flatMap(({ entropy }) => entropy).forEach((value, i) => {
                assert.ok(Math.abs(value - (expected.entropy[i] ?? NaN)) < 1.5e-3, `entropy ${i}: ${value}, not ${expected.entropy[i]}`);
            });
        });
    }

    test('an adapter takes part in it as on the CPU', async (t) => {
        const at = await writeAdapter(await temporaryFolder(t), adapted, 3);
        const read = async (name: string) => await fs.readFile(path.join(at, name));
        const files = { weights: await read('adapter_model.safetensors'), config: (await read('adapter_config.json')).toString() };
        const adapter = await LoadedAdapter.load(it.engine, it.model, files);
        const tokens = [2, 105, ...Array.from({ length: 2 * canvas }, (_, i) => 30 + 7 * i)];
        const logits = async (backend: 'cpu' | 'gpu', adapters = [adapter.use()]) => {
            const sink = new MemorySink();
            const session = await it.session({ backend });
            await session.canvasLogits(tokens, sink, { canvases: 2, temperatures: [0.7], adapters });
            return sink.floats();
        };
        const [cpu, plain] = [await logits('cpu'), await logits('cpu', [])];
        assert.ok(relativeError(plain, cpu) > 1e-2, 'the adapter changes nothing');
        const error = relativeError(await logits('gpu'), cpu);
        t.diagnostic(`relative error ${error}`);
        assert.ok(error <= 3e-4, `relative error ${error}`);
        await adapter.close();
    });

    test('it answers as the CPU does, whether or not somebody watches, and goes on after being stopped', async () => {
        const request = { prompt: '', prompt_tokens: [2, 105, 300, 301], max_tokens: 20, sampling: { seed: 3 }, diffusion: { steps: 3 } };
        const told = async (session: Session, drafts: boolean) => {
            const seen = { tokens: [] as number[], drafts: 0 };
            const result = await session.generate(
                { ...request, drafts },
                {
                    onEvent: (event) => {
                        if (event.type === 'draft') seen.drafts++;
                        if (event.type === 'text') seen.tokens.push(...event.tokens);
                    },
                },
            );
            return { ...seen, result };
        };
        const gpu = await it.session({ backend: 'gpu' });
        const watched = await told(gpu, true);
        const alone = await told(gpu, false);
        assert.deepEqual(alone.tokens, watched.tokens);
        assert.equal(watched.drafts, watched.result.canvas?.steps);
        assert.equal(alone.drafts, 0);
        const stop = new AbortController();
        await assert.rejects(
            gpu.generate({ ...request, drafts: true }, { signal: stop.signal, onEvent: () => stop.abort() }),
            { code: 'cancelled' },
        );
        assert.deepEqual((await told(gpu, false)).tokens, watched.tokens);
        const cpu = await told(await it.session({ backend: 'cpu' }), false);
        const margins = Object.values(cpu.result.canvas?.margins ?? {}).map(Number);
        if (Math.min(...margins) > 1e-4) assert.deepEqual(cpu.tokens, watched.tokens);
    });
});

test('its sampler alone decides as the expected one does', options, async () => {
    const engine = await softwareEngine();
    const file = path.join(folder, 'sampler.safetensors');
    for (const name of ['unstable', 'stop0', 'stop1', 'stop2', 'ties']) {
        const read = async (tensor: string) => [...(await readTensor(file, `${name}.${tensor}`))];
        const [max_steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max] = await read('setting');
        const logits = await readTensor(file, `${name}.logits`);
        const [temperatures, canvas, canvasOut, stop] = [await read('temperature'), await read('init'), await read('canvas_out'), await read('stop')];
        const { json } = await engine.call(
            'gpu.settle',
            {
                length: canvas.length,
                vocabulary: logits.length / temperatures.length / canvas.length,
                settings: { steps: max_steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max },
                temperatures,
                canvas,
                noise: await read('noise'),
                uniforms: await read('u'),
            },
            { blob: new Uint8Array(logits.buffer) },
        );
        for (const tensor of ['accept', 'argmax'] as const) {
            assert.deepEqual(json.steps.flatMap((step) => step[tensor]), await read(tensor), `${name}: ${tensor}`);
        }
        // What comes out of a step is what the next one looks at.
        const seen = [...json.steps.flatMap((step) => step.canvas_in), ...json.canvas];
        assert.deepEqual(seen, [...canvas, ...canvasOut], `${name}: canvas_out`);
        assert.deepEqual(json.settled, stop.map((value) => (value === 0 ? 0 : 1)), `${name}: stop`);
        const entropies = await read('entropy');
        json.steps.flatMap(({ entropy }) => entropy).forEach((value, i) => {
            assert.ok(Math.abs(value - (entropies[i] ?? NaN)) < 2e-5, `${name}: entropy ${i}: ${value}, not ${entropies[i]}`);
        });
    }
});

async function traceOf(trace: string) {
    const file = path.join(folder, `${name}.trace-${trace}.safetensors`);
    const read = async (tensor: string) => [...(await readTensor(file, tensor))];
    return {
        prompt: await read('prompt'),
        setting: await read('setting'),
        eos: (await read('eos')).filter((id) => id !== 0),
        first_step: await read('first_step'),
        canvas_in: await read('canvas_in'),
        noise: await read('noise'),
        u: await read('u'),
        accept: await read('accept'),
        argmax: await read('argmax'),
        entropy: await read('entropy'),
        output: await read('output'),
    };
}

async function replayed(session: Session, trace: Awaited<ReturnType<typeof traceOf>>) {
    const [steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max] = trace.setting;
    const { first_step, canvas_in, noise, u: uniforms, eos: end_tokens, prompt } = trace;
    const settings = { steps, entropy_bound, stability_threshold, confidence_threshold, t_min, t_max };
    const told = await session.diffuse(prompt, { settings, end_tokens, first_step, canvas_in, noise, uniforms });
    assert.equal(told.steps.length * canvas, canvas_in.length);
    return told;
}
