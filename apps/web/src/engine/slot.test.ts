// What happens to the model that answers when another one is asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineInfo } from 'lapidary';
import { HeldBack } from './attempts.js';
import type { LoadWish } from './protocol.js';
import { Slot, type Opening } from './slot.js';

interface FakeEngine {
    info: EngineInfo;
    disposed: number;
    dispose(): Promise<void>;
}

function wishFor(url: string): LoadWish {
    return { choice: { kind: 'url', url }, backend: 'cpu' };
}

const spare: LoadWish = { choice: { kind: 'builtin' }, backend: 'cpu' };
const never = new AbortController().signal;

/** Each load waits in `opening` until the test lets it go on. */
class Bench {
    readonly engines: FakeEngine[] = [];
    readonly asked: string[] = [];
    /** Keyed by name: how it ends. `header` before room is made, `weights` after. */
    readonly wrong = new Map<string, 'header' | 'weights'>();
    /** Called between the header and the weights. */
    between: (name: string, opening: Opening) => Promise<void> = async () => undefined;
    readonly slot = new Slot<FakeEngine>(
        async (wish, opening) => await this.open(wish, opening),
        ({ choice }) => (choice.kind === 'builtin' ? undefined : spare),
    );

    private async open(wish: LoadWish, opening: Opening): Promise<FakeEngine> {
        const name = wish.choice.kind === 'url' ? wish.choice.url : wish.choice.kind;
        this.asked.push(name);
        opening.onProgress('download', 1, 2);
        if (this.wrong.get(name) === 'header') throw new Error('the file ends too early');
        await this.between(name, opening);
        opening.signal.throwIfAborted();
        await opening.onOpened();
        if (this.wrong.get(name) === 'weights') throw new Error('the GPU has no room');
        const engine = {
            info: { model: name, why: 'it was asked for' } as EngineInfo,
            disposed: 0,
            dispose: async () => void engine.disposed++,
        };
        this.engines.push(engine);
        return engine;
    }

    answers(): string | undefined {
        return this.slot.state.value.phase === 'ready' ? this.slot.engine?.info.model : undefined;
    }
}

test('a file whose header is wrong never costs the model that answers', async () => {
    const bench = new Bench();
    assert.equal(await bench.slot.load(wishFor('good')), true);
    bench.wrong.set('cut', 'header');
    const seen: (string | undefined)[] = [];
    bench.slot.state.subscribe(() => seen.push(bench.answers()));
    assert.equal(await bench.slot.load(wishFor('cut')), false);
    assert.ok(seen.length > 0 && seen.every((name) => name === 'good'), 'it answered all the time');
    assert.deepEqual(bench.slot.state.value.refused, { name: 'cut', problem: 'the file ends too early.', kept: true });
    assert.equal(bench.slot.state.value.coming, undefined);
    assert.equal(bench.engines[0]?.disposed, 0);
    assert.deepEqual(bench.asked, ['good', 'cut'], 'nothing was loaded again');
});

test('weights that fail bring the one before back, with the sentence', async () => {
    const bench = new Bench();
    await bench.slot.load(wishFor('good'));
    bench.wrong.set('large', 'weights');
    assert.equal(await bench.slot.load(wishFor('large')), false);
    assert.deepEqual(bench.asked, ['good', 'large', 'good']);
    assert.equal(bench.answers(), 'good');
    assert.equal(bench.slot.state.value.refused?.problem, 'the GPU has no room.');
    assert.equal(bench.engines[0]?.disposed, 1);
    // The next one that works clears it.
    await bench.slot.load(wishFor('other'));
    assert.equal(bench.slot.state.value.refused, undefined);
});

test('what was asked for at the start and cannot be had is replaced by the built-in model', async () => {
    const bench = new Bench();
    bench.wrong.set('gone', 'header');
    await bench.slot.load(wishFor('gone'));
    assert.equal(bench.answers(), 'builtin');
    assert.deepEqual(bench.slot.state.value.refused, { name: 'gone', problem: 'the file ends too early.', kept: false });
    // And if even that fails, it ends.
    const poor = new Bench();
    poor.wrong.set('gone', 'header').set('builtin', 'header');
    await poor.slot.load(wishFor('gone'));
    assert.equal(poor.slot.state.value.phase, 'failed');
    await assert.rejects(poor.slot.ready(never), /The file ends too early/);
});

test('an answer under way ends before its model goes', async () => {
    const bench = new Bench();
    await bench.slot.load(wishFor('first'));
    let finish = () => undefined as void;
    const answer = bench.slot.use(async ({ info }) => {
        await new Promise<void>((resolve) => (finish = resolve));
        return info.model;
    }, never);
    await Promise.resolve();
    const loading = bench.slot.load(wishFor('second'));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    assert.equal(bench.engines[0]?.disposed, 0);
    assert.equal(bench.slot.state.value.phase, 'loading');
    finish();
    assert.equal(await answer, 'first');
    assert.equal(await loading, true);
    assert.equal(bench.engines[0]?.disposed, 1);
    assert.equal(bench.answers(), 'second');
});

test('stopping keeps what there was; another wish overtakes, and nothing is left behind', async () => {
    const bench = new Bench();
    await bench.slot.load(wishFor('first'));
    let release = () => undefined as void;
    bench.between = async (name) => {
        if (name === 'slow') await new Promise<void>((resolve) => (release = resolve));
    };
    const slow = bench.slot.load(wishFor('slow'));
    bench.slot.cancel();
    release();
    assert.equal(await slow, false);
    assert.equal(bench.answers(), 'first');
    assert.equal(bench.slot.state.value.refused, undefined, 'nobody needs to be told');

    const overtaken = bench.slot.load(wishFor('slow'));
    const third = bench.slot.load(wishFor('third'));
    release();
    assert.equal(await overtaken, false);
    assert.equal(await third, true);
    assert.equal(bench.answers(), 'third');
    assert.deepEqual(bench.engines.map(({ disposed }) => disposed), [1, 0]);
});

test('whoever overtakes while an answer is finished leaves no model behind', async () => {
    const bench = new Bench();
    await bench.slot.load(wishFor('first'));
    let finish = () => undefined as void;
    const answer = bench.slot.use(async () => await new Promise<void>((resolve) => (finish = resolve)), never);
    await Promise.resolve();
    const second = bench.slot.load(wishFor('second'));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    const third = bench.slot.load(wishFor('third'));
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    finish();
    await answer;
    assert.equal(await second, false);
    assert.equal(await third, true);
    assert.equal(bench.answers(), 'third');
    assert.deepEqual(bench.engines.map(({ disposed }) => disposed), [1, 0]);
});

test('an engine that died is replaced and not asked again', async () => {
    const bench = new Bench();
    await bench.slot.load(wishFor('first'));
    const [broken] = bench.engines;
    assert.ok(broken);
    await bench.slot.renew(broken);
    assert.equal(bench.engines.length, 2);
    assert.equal(bench.slot.engine, bench.engines[1]);
    await bench.slot.renew(broken);
    assert.equal(bench.engines.length, 2, 'once is enough');
});

test('what is held back is offered, and something else answers', async () => {
    const slot = new Slot<FakeEngine>(
        async (wish) => {
            if (wish.choice.kind === 'url') throw new HeldBack();
            const info = { model: 'builtin', why: '' } as EngineInfo;
            return { info, disposed: 0, dispose: async () => undefined };
        },
        () => spare,
    );
    assert.equal(await slot.load(wishFor('https://a.b/c.gguf')), false);
    const { phase, refused } = slot.state.value;
    assert.equal(phase, 'ready');
    assert.deepEqual(refused?.again, { kind: 'url', url: 'https://a.b/c.gguf' });
    assert.match(refused?.problem ?? '', /the page ended while it was loaded the last time/);
});
