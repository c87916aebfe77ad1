// Learning with the real engine and the built-in model, on the CPU.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LapidaryError } from './error.js';
import { Lapidary, type LoadedEngine } from './lapidary.js';

let engine: LoadedEngine;
before(async () => {
    engine = await Lapidary.load('builtin', { backend: 'cpu', contextLength: 128 });
});
after(async () => await engine.dispose());

const facts = [
    { prompt: 'Who lives in the tower?', completion: 'A blue owl.' },
    { prompt: 'What does it eat?', completion: 'Red soup.' },
];
const settings = { data: facts, rank: 4, lr: 5e-3, epochs: 14, batch: 2, seed: 3, schedule: 'constant' } as const;

async function ask(content: string, adapters: { adapter: string; scale?: number }[] = []): Promise<string> {
    const { choices } = await engine.chat.completions.create({
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_tokens: 12,
        stream: false,
        adapters,
    });
    return choices[0].message.content ?? '';
}

test('data is read as the model will see it', async () => {
    const set = await engine.readData(`${JSON.stringify(facts[0])}\n{"prompt": 1}\n`, { preview: 1 });
    const { report } = set;
    assert.deepEqual([report.format, report.examples, report.errorCount, report.errors[0]?.line], ['jsonl', 1, 1, 2]);
    assert.deepEqual(report.questions, ['Who lives in the tower?']);
    const learnt = report.preview[0]?.shown.filter(({ weight }) => weight > 0).map(({ text }) => text).join('');
    assert.ok(learnt?.startsWith('A blue owl.'), learnt);
    await set.close();
    await assert.rejects(engine.readData(''), (error) => error instanceof LapidaryError && /empty/.test(error.message));
});

test('two facts are learnt, and the adapter says the same after a way through every format', async () => {
    const before = await ask(facts[0]?.prompt ?? '');
    const training = await engine.train(settings);
    assert.ok(training.plan.steps > 0 && training.plan.parameters > 0 && training.plan.memory > 0);
    const losses: number[] = [];
    for await (const { loss } of training) losses.push(loss);
    assert.equal(losses.length, training.plan.steps);
    assert.ok((losses.at(-1) ?? 9) < (losses[0] ?? 0) / 10, losses.join(' '));
    const adapter = await training.adapter({ name: 'tower' });
    await training.close();

    for (const { prompt, completion } of facts) assert.equal(await ask(prompt, [{ adapter: adapter.id }]), completion);
    assert.equal(await ask(facts[0]?.prompt ?? '', [{ adapter: adapter.id, scale: 0 }]), before);
    assert.equal(await ask(facts[0]?.prompt ?? ''), before);

    const [gguf] = await engine.adapters.export(adapter, 'gguf');
    const [config, weights] = (await engine.adapters.export(adapter, 'peft')).sort((a, b) => (a.name < b.name ? -1 : 1));
    assert.ok(gguf && config && weights);
    for (const source of [gguf.bytes, { weights: weights.bytes, config: new TextDecoder().decode(config.bytes) }]) {
        const again = await engine.adapters.load(source);
        for (const { prompt, completion } of facts) assert.equal(await ask(prompt, [{ adapter: again.id }]), completion);
        await engine.adapters.remove(again);
    }
});

test('a training that goes on from its checkpoint makes the very same steps', async () => {
    const whole = await engine.train({ ...settings, epochs: 6 });
    let checkpoint: Uint8Array | undefined;
    for await (const { step } of whole) {
        if (step !== 2) continue;
        await whole.pause();
        checkpoint ??= await whole.checkpoint();
        whole.resume();
    }
    assert.ok(checkpoint);
    const other = await engine.train({ ...settings, epochs: 6, checkpoint });
    const first = other.step;
    for await (const _ of other);
    const rest = whole.steps.filter(({ step }) => step > first).map(({ loss }) => loss);
    assert.ok(rest.length > 0);
    assert.deepEqual(other.steps.map(({ loss }) => loss), rest);
    await whole.close();
    await other.close();
});
