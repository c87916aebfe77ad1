// A diffusion model on the command line: the logits of canvases, a generation replayed, an answer, and what is refused.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { Tensors } from './canvas/safetensors.js';
import { floats, relativeError } from './testing/floats.js';
import { writeAdapter } from './testing/peft.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';

const folder = path.join(root, 'tests', 'data', 'diffusion');
const model = path.join(folder, 'tiny-diffusion-q4km.gguf');
const engine = needsEngine();
const cpu = ['--backend', 'cpu'];
/** One matrix of each kind; on the last layer keys are values too. */
const adapted: Record<string, [number, number]> = {
    '0.self_attn.q_proj': [256, 256],
    '1.self_attn.v_proj': [256, 128],
    '1.mlp.down_proj': [288, 256],
    '2.self_attn.k_proj': [256, 128],
    '2.self_attn.o_proj': [512, 256],
};

const tensorsIn = async (name: string) => Tensors.parse(await fs.readFile(path.join(folder, name)), name);

async function written(t: TestContext) {
    const where = await temporaryFolder(t);
    const write = async (name: string, ids: readonly number[]) => {
        const file = path.join(where, name);
        await fs.writeFile(file, Buffer.from(Int32Array.from(ids).buffer));
        return file;
    };
    return { where, write };
}

async function succeed(args: readonly string[]): Promise<string> {
    const { status, stdout, stderr } = await lapidary([...args]);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    return stdout;
}

test('the logits of canvases are the expected ones', engine, async (t) => {
    const { where, write } = await written(t);
    const expected = await tensorsIn('tiny-diffusion-q4km.forward.safetensors');
    const ids = (name: string) => write(name, expected.numbers(`committed.${name}`, 'I32'));
    const [first, second, out] = [await ids('canvas1'), await ids('canvas2'), path.join(where, 'logits')];
    const temperatures = expected.numbers('committed.temperatures', 'F32').join();
    await succeed([
        ...['logits', model, '--tokens-file', await ids('prompt'), '--committed-file', await ids('committed')],
        ...['--canvas-file', first, '--canvas-file', second, '--canvas-file', first],
        ...['--temperatures', temperatures, '--out', out, ...cpu],
    ]);
    const wanted = [1, 2, 3].flatMap((n) => expected.numbers(`committed.logits${n}`, 'F32'));
    const error = relativeError(floats(await fs.readFile(out)), Float32Array.from(wanted));
    assert.ok(error <= 4e-5, `relative error ${error}`);
});

test('an adapter takes part in reading and in settling, as it does when it is merged', engine, async (t) => {
    const { where, write } = await written(t);
    const expected = await tensorsIn('tiny-diffusion-q4km.forward.safetensors');
    const ids = (name: string) => write(name, expected.numbers(`long.${name}`, 'I32'));
    const canvases = ['--canvas-file', await ids('canvas1'), '--canvas-file', await ids('canvas2'), '--temperatures', '0.7'];
    const [prompt, out] = [await ids('prompt'), path.join(where, 'logits')];
    const logits = async (which: string, ...extra: string[]) => {
        await succeed(['logits', which, '--tokens-file', prompt, ...canvases, '--out', out, ...cpu, ...extra]);
        return floats(await fs.readFile(out));
    };
    const adapter = await writeAdapter(path.join(where, 'adapter'), adapted, 3);
    const merged = path.join(where, 'merged.gguf');
    await succeed(['adapters', 'merge', model, adapter, '--out', merged, '--type', 'f32']);
    const seen = await logits(model, '--adapter', adapter);
    assert.ok(relativeError(await logits(model), seen) > 1e-2, 'the adapter changes nothing');
    const error = relativeError(await logits(merged), seen);
    assert.ok(error < 1e-4, `relative error ${error}`);
});

test('a generation is replayed to the token', engine, async (t) => {
    const { write } = await written(t);
    const file = path.join(folder, 'tiny-diffusion-q4km.trace-eos.safetensors');
    const trace = await tensorsIn(path.basename(file));
    const prompt = await write('prompt', trace.numbers('prompt', 'I32'));
    const told = await succeed(['diffuse', model, '--tokens-file', prompt, '--replay', file, '--json', ...cpu]);
    const { steps, output } = JSON.parse(told) as { steps: Record<string, number[]>[]; output: number[] };
    assert.deepEqual(output, trace.numbers('output', 'I32'));
    for (const name of ['canvas_in', 'accept', 'argmax']) {
        assert.deepEqual(steps.flatMap((step) => step[name]), trace.numbers(name, 'I32'), name);
    }
});

test('into a pipe goes settled text only, the same for the same seed', engine, async () => {
    const args = ['generate', model, '--prompt', 'abc', '-n', '20', '--steps', '3', '--seed', '5', ...cpu];
    const text = await succeed(args);
    const json = JSON.parse(await succeed([...args, '--json'])) as { text: string; canvas: { canvases: number; steps: number } };
    assert.equal(json.text.trimEnd(), text.trimEnd());
    assert.ok(json.canvas.canvases >= 1 && json.canvas.steps <= 3 * json.canvas.canvases);
});

test('what cannot hold is refused with a sentence', engine, async (t) => {
    const { where, write } = await written(t);
    const prompt = await write('prompt', [2, 300]);
    const refused = async (args: readonly string[], words: RegExp) => {
        const { status, stderr } = await lapidary([...args]);
        assert.notEqual(status, 0);
        assert.match(stderr, words);
    };
    const generate = ['generate', model, '--prompt', 'a', ...cpu];
    await refused([...generate, '--repeat-penalty', '1.2'], /'repeat_penalty' asks for something about each token/);
    await refused([...generate, '--t-min', '2'], /'t_max' between it and/);
    const logits = ['logits', model, '--tokens-file', prompt, '--out', path.join(where, 'out'), ...cpu];
    await refused([...logits, '--canvas-file', await write('short', [1, 2])], /are not a prompt and 1 canvases of 16|2 tokens/);
    await refused([...logits, '--temperatures', '1'], /go with --canvas-file/);
    const builtin = ['diffuse', 'builtin', '--tokens-file', prompt, '--replay', prompt, '--json', ...cpu];
    await refused(builtin, /not a safetensors file/);
});
