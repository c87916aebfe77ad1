// Counted, not timed: what is submitted while somebody waits for a GPU that answers when it is told to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Impatience } from './impatience.js';

function waitingRoom() {
    let next: { callback: () => void; ms: number } | undefined;
    const seen = { submits: 0, ms: 0 };
    const gpu = {
        device: { queue: { submit: (buffers: unknown[]) => void (assert.deepEqual(buffers, []), seen.submits++) } } as unknown as GPUDevice,
        gone: undefined as string | undefined,
    };
    const impatience = new Impatience(gpu, {
        set: (callback, ms) => (assert.equal(next, undefined, 'one alarm at a time'), (next = { callback, ms })),
        clear: (alarm) => void (alarm === next && (next = undefined)),
    });
    /** Time goes on until the next alarm. False when there is none. */
    const ring = () => {
        const now = next;
        next = undefined;
        seen.ms += now?.ms ?? 0;
        now?.callback();
        return now !== undefined;
    };
    return { gpu, impatience, seen, ring };
}

test('while an answer is awaited nothing is submitted, every few milliseconds', async () => {
    const { impatience, seen, ring } = waitingRoom();
    let answer = (_: number) => undefined as void;
    const waiting = impatience.until(new Promise<number>((resolve) => (answer = resolve)));
    for (let i = 0; i < 5; i++) assert.ok(ring());
    assert.equal(seen.submits, 5);
    assert.ok(seen.ms <= 25, `${seen.ms} ms`);
    answer(7);
    assert.equal(await waiting, 7);
    assert.equal(ring(), false, 'nobody waits');
    assert.equal(seen.submits, 5);
});

test('whatever takes long is asked for less and less often, and in the end not at all', () => {
    const { impatience, seen, ring } = waitingRoom();
    void impatience.until(new Promise(() => undefined));
    let rings = 0;
    while (ring()) assert.ok(++rings < 200, 'it never ends');
    assert.ok(seen.submits < 100, `${seen.submits} submits`);
    assert.ok(seen.ms > 1000, `it gave up after ${seen.ms} ms`);
});

test('several who wait share an alarm, and it ends with the last of them', async () => {
    const { impatience, seen, ring } = waitingRoom();
    const answers: (() => void)[] = [];
    const all = [1, 2, 3].map(() => impatience.until(new Promise<void>((resolve) => answers.push(resolve))));
    ring();
    assert.equal(seen.submits, 1);
    answers[0]?.();
    await all[0];
    assert.ok(ring());
    for (const answer of answers) answer();
    await Promise.all(all);
    assert.equal(ring(), false);
});

test('one that fails leaves nothing behind, and a GPU that is gone is not asked', async () => {
    const { gpu, impatience, seen, ring } = waitingRoom();
    await assert.rejects(impatience.until(Promise.reject(new Error('lost'))), /lost/);
    assert.equal(ring(), false);
    void impatience.until(new Promise(() => undefined));
    gpu.gone = 'the GPU was lost';
    assert.ok(ring());
    assert.equal(ring(), false);
    assert.equal(seen.submits, 0);
});
