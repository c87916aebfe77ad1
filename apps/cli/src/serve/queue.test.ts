import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpError } from './errors.js';
import { FairQueue } from './queue.js';

const forever = new AbortController().signal;

/** Lets everything happen that waits for nothing but its turn. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function statusOf(error: unknown): number {
    assert.ok(error instanceof HttpError);
    return error.status;
}

test('one at a time, in the order of coming', async () => {
    const queue = new FairQueue({ waiting: 10, perClient: 10 });
    const order: number[] = [];
    const work = async (i: number) => {
        const release = await queue.enter('a', forever);
        order.push(i);
        await settle();
        release();
    };
    await Promise.all([work(1), work(2), work(3)]);
    assert.deepEqual(order, [1, 2, 3]);
    assert.equal(queue.running, false);
    assert.equal(queue.waiting, 0);
});

test('clients take turns, however many requests one of them has', async () => {
    const queue = new FairQueue({ waiting: 10, perClient: 10 });
    const order: string[] = [];
    const work = async (client: string, name: string) => {
        const release = await queue.enter(client, forever);
        order.push(name);
        await settle();
        release();
    };
    const greedy = ['g1', 'g2', 'g3', 'g4'].map((name) => work('greedy', name));
    await Promise.all([...greedy, work('modest', 'm1'), work('other', 'o1')]);
    assert.deepEqual(order, ['g1', 'g2', 'm1', 'o1', 'g3', 'g4']);
});

test('a full queue says no, and when to come again', async () => {
    const queue = new FairQueue({ waiting: 2, perClient: 1 });
    const release = await queue.enter('a', forever);
    const waiting = [queue.enter('a', forever)];
    await assert.rejects(queue.enter('a', forever), (error) => statusOf(error) === 429);
    waiting.push(queue.enter('b', forever));
    await assert.rejects(queue.enter('c', forever), (error) => {
        assert.ok(error instanceof HttpError && (error.details.retryAfter ?? 0) > 0);
        return statusOf(error) === 503;
    });
    release();
    for (const turn of waiting) (await turn)();
    assert.equal(queue.running, false);
});

test('who leaves makes room and is not waited for', async () => {
    const queue = new FairQueue({ waiting: 1, perClient: 1 });
    const release = await queue.enter('a', forever);
    const impatient = new AbortController();
    const left = queue.enter('b', impatient.signal);
    impatient.abort();
    await assert.rejects(left, { code: 'cancelled' });
    const next = queue.enter('c', forever);
    release();
    (await next)();
    await assert.rejects(queue.enter('d', impatient.signal), { code: 'cancelled' });
});

test('a release counts once', async () => {
    const queue = new FairQueue({ waiting: 5, perClient: 5 });
    const first = await queue.enter('a', forever);
    const second = queue.enter('a', forever);
    const third = queue.enter('a', forever);
    first();
    first();
    const release = await second;
    let entered = false;
    void third.then(() => (entered = true));
    await settle();
    assert.equal(entered, false);
    release();
    (await third)();
});

test('a closed queue sends everybody away, but not who is inside', async () => {
    const queue = new FairQueue({ waiting: 5, perClient: 5 });
    const release = await queue.enter('a', forever);
    const waiting = queue.enter('b', forever);
    queue.close(new HttpError(503, 'over'));
    await assert.rejects(waiting, { message: 'over' });
    await assert.rejects(queue.enter('c', forever), { message: 'over' });
    let idle = false;
    const done = queue.idle().then(() => (idle = true));
    await settle();
    assert.equal(idle, false);
    release();
    await done;
});
