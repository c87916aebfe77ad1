// Adapters and training over a fake engine: what happens between the calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from './error.js';
import { LoadedEngine } from './lapidary.js';
import { FakeModel } from './testing/fake-model.js';
import type { TrainingEvent } from './workshop/calls.js';

const rows = [{ prompt: 'a', completion: 'b' }, { prompt: 'c', completion: 'd' }];

async function loaded(fake: FakeModel): Promise<LoadedEngine> {
    return new LoadedEngine(await fake.start({ workshop: true }));
}

function codeOf(code: string, words = /./): (error: unknown) => boolean {
    return (error) => error instanceof LapidaryError && error.code === code && words.test(error.message);
}

test('an adapter is loaded once and named in requests by its id', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const adapter = await engine.adapters.load({ weights: new Uint8Array([1]), config: { r: 4 } }, { name: 'mine' });
    assert.equal(adapter.name, 'mine');
    assert.deepEqual(engine.adapters.list(), [adapter]);
    await engine.chat.completions.create({ messages: [{ role: 'user', content: 'a' }], adapters: [{ adapter, scale: 0.5 }] });
    await engine.complete('a', { adapters: [{ adapter: adapter.id }] });
    assert.deepEqual(fake.generated.map(({ args }) => args['adapters']), [[{ adapter: 101, scale: 0.5 }], [{ adapter: 101, scale: 1 }]]);
    assert.deepEqual(fake.trainer.asked.map(({ method, args }) => [method, args['config']]), [['adapter.load', '{"r":4}']]);
    await engine.adapters.remove(adapter);
    assert.deepEqual(engine.adapters.list(), []);
    await assert.rejects(engine.complete('a', { adapters: [{ adapter }] }), codeOf('not_found'));
    await assert.rejects(engine.complete('a', { adapters: [{ adapter: 7 as never }] }), codeOf('invalid_argument', /adapters\[0\]/));
    await assert.rejects(engine.adapters.load(new TextEncoder().encode('broken')), codeOf('bad_file'));
    await engine.dispose();
});

test('after a lost GPU adapters are loaded again', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const adapter = await engine.adapters.load(new Uint8Array([65]));
    fake.onGenerate = ({ engine: number, fail, finish }) => (number === 0 ? fail('device_lost', 'gone') : finish());
    await engine.complete('a', { adapters: [{ adapter }] });
    assert.equal(fake.trainer.asked.filter(({ method, blob }) => method === 'adapter.load' && blob === 'A').length, 2);
    await engine.dispose();
});

test('an adapter is exported as files', async () => {
    const engine = await loaded(new FakeModel());
    const adapter = await engine.adapters.load(new Uint8Array([1]));
    const files = await engine.adapters.export(adapter, 'peft');
    assert.deepEqual(files.map(({ name, bytes }) => [name, new TextDecoder().decode(bytes)]), [['one', 'abc'], ['two', 'de']]);
    await engine.dispose();
});

test('a training is iterated step by step and gives an adapter', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const events: TrainingEvent[] = [];
    const training = await engine.train({ data: rows, rank: 4, weightDecay: 0.1, steps: 5, onEvent: (event) => events.push(event) });
    assert.equal(training.state, 'ready');
    assert.deepEqual(training.plan.memory, 1000);
    assert.equal(training.data.examples, 2);
    const losses: number[] = [];
    for await (const { step, loss, lr, tokensPerSecond, gradNorm } of training) {
        assert.deepEqual([lr, tokensPerSecond, gradNorm], [0.1, 7, 1]);
        losses.push(loss * step);
    }
    assert.deepEqual(losses, [4, 4, 4, 4, 4]);
    assert.equal(training.state, 'finished');
    await training.finished();
    assert.deepEqual(training.validations.map(({ step }) => step), [2, 4]);
    assert.ok(events.some((event) => event.type === 'checkpoint' && event.step === 5));
    const adapter = await training.adapter({ name: 'learnt' });
    assert.equal(adapter.name, 'learnt');
    assert.deepEqual(engine.adapters.list(), [adapter]);
    const [created] = fake.trainer.asked.filter(({ method }) => method === 'train.create');
    assert.deepEqual([created?.args['rank'], created?.args['weight_decay'], created?.args['backend']], [4, 0.1, 'cpu']);
    await training.close();
    assert.deepEqual(fake.trainer.asked.slice(-2).map(({ method }) => method), ['train.close', 'data.close']);
    await engine.dispose();
});

test('a training can be paused, goes on where it was, and can be taken up from its checkpoint', async () => {
    const engine = await loaded(new FakeModel());
    const training = await engine.train({ data: rows, steps: 8 });
    for await (const { step } of training) if (step === 3) break;
    assert.equal(training.state, 'paused');
    const paused = training.step;
    const checkpoint = await training.checkpoint();
    assert.equal(new TextDecoder().decode(checkpoint), String(paused));
    training.resume();
    await training.finished();
    assert.deepEqual(training.steps.map(({ step }) => step), [1, 2, 3, 4, 5, 6, 7, 8]);

    const other = await engine.train({ data: rows, steps: 8, checkpoint });
    assert.equal(other.step, paused);
    const seen: number[] = [];
    for await (const { step } of other) seen.push(step);
    assert.equal(seen[0], paused + 1);
    assert.equal(seen.at(-1), 8);
    await engine.dispose();
});

test('a cancelled training ends at once and says so', async () => {
    const engine = await loaded(new FakeModel());
    const stop = new AbortController();
    const training = await engine.train({ data: rows, steps: 1000, signal: stop.signal });
    const steps: number[] = [];
    for await (const { step } of training) {
        steps.push(step);
        if (step === 2) stop.abort();
    }
    assert.ok(steps.length < 10);
    assert.equal(training.state, 'cancelled');
    await assert.rejects(training.finished(), codeOf('cancelled'));
    await training.adapter();
    await training.close();
    await engine.dispose();
});

test('a lost GPU costs what came after the last checkpoint, and says so', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const notices: string[] = [];
    const training = await engine.train({
        data: rows,
        steps: 8,
        onEvent: (event) => event.type === 'notice' && notices.push(event.text),
    });
    for await (const { step } of training) if (step === 3) break;
    const saved = training.step;
    fake.trainer.onStep = (step, number) => (number === 0 && step === saved + 2 ? 'lost' : 'go on');
    training.resume();
    await training.finished();
    assert.equal(fake.engines.length, 2);
    assert.deepEqual(notices, [`The GPU was lost. The training goes on from step ${saved}.`]);
    assert.deepEqual(training.steps.map(({ step }) => step), [1, 2, 3, 4, 5, 6, 7, 8]);
    await engine.dispose();
});

test('a question asked during a training is answered between two steps', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.trainer.stepMs = 5;
    const training = await engine.train({ data: rows, steps: 40 });
    const begun = new Promise<void>((resolve) => {
        fake.trainer.onStep = (step) => {
            if (step === 3) resolve();
            return 'go on';
        };
    });
    training.resume();
    await begun;
    await engine.complete('a');
    assert.equal(training.state, 'running');
    assert.ok(training.step < 40);
    await training.finished();
    assert.equal(training.steps.length, 40);
    await engine.dispose();
});

test('the workshop is fetched when it is first wanted', async () => {
    const fake = new FakeModel();
    const engine = new LoadedEngine(await fake.start());
    await engine.complete('a');
    assert.deepEqual(fake.workshops, [false]);
    const adapter = await engine.adapters.load(new Uint8Array([1]));
    await engine.readData('good');
    await engine.complete('a', { adapters: [{ adapter }] });
    assert.deepEqual(fake.workshops, [false, true]);
    await engine.dispose();
});

test('a model that only the larger engine knows is loaded with it', async () => {
    const fake = new FakeModel();
    fake.onLoad = (engine) => (engine === 0 ? { code: 'needs_everything', message: 'it has eyes' } : undefined);
    const engine = new LoadedEngine(await fake.start());
    assert.deepEqual(fake.workshops, [false, true]);
    await engine.dispose();
});

test('a question that only the larger engine can answer is asked there', async () => {
    const fake = new FakeModel();
    fake.onGenerate = ({ engine, finish, fail }) => (engine === 0 ? fail('needs_everything', 'a picture') : finish());
    const engine = new LoadedEngine(await fake.start());
    await engine.complete('a');
    assert.deepEqual(fake.workshops, [false, true]);
    await engine.dispose();
});

test('the larger engine is not asked for again by itself', async () => {
    const fake = new FakeModel();
    fake.onLoad = () => ({ code: 'needs_everything', message: 'it has wings' });
    await assert.rejects(fake.start(), { code: 'needs_everything', message: 'it has wings' });
    assert.deepEqual(fake.workshops, [false, true]);
});

test('bad data and bad settings are refused with a sentence', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const set = await engine.readData('good\nbad\n', { preview: 1, seq: 64 });
    assert.deepEqual(set.report.errors, [{ line: 2, message: 'it is bad' }]);
    assert.deepEqual(set.report.preview[0]?.shown, [{ text: '<bos>', weight: 0 }, { text: 'a', weight: 1 }]);
    assert.equal(fake.trainer.asked[0]?.args['longest'], 64);
    await assert.rejects(engine.train({ data: 'bad\n' }), codeOf('invalid_argument', /line 1: it is bad/));
    await assert.rejects(engine.train({ data: set, rank: 0 }), codeOf('invalid_argument', /rank/));
    await assert.rejects(engine.train({ data: set, targets: ['x' as never] }), codeOf('invalid_argument', /targets/));
    const training = await engine.train({ data: set });
    for await (const _ of training);
    await training.close();
    await set.close();
    await engine.dispose();
});
