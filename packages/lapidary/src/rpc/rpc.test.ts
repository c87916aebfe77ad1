import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { MessageChannel, Worker } from 'node:worker_threads';
import { LapidaryError } from '../error.js';
import { Moved, type Handlers } from './contract.js';
import { channelPort, loopback, processPort, threadPort, workerPort, type MessageEnd, type Port } from './port.js';
import { Rpc } from './rpc.js';
import { handlers, type TestCalls } from '../testing/rpc-answerer.js';

interface Ends {
    caller: Port;
    answerer: Port;
    stop(): void;
}

function channel(): Ends {
    const { port1, port2 } = new MessageChannel();
    return { caller: threadPort(port1), answerer: threadPort(port2), stop: () => port1.close() };
}

const inOneThread: Record<string, () => Ends> = {
    'a channel': channel,
    'the ends of a loopback': () => {
        const [caller, answerer] = loopback();
        return { caller, answerer, stop: () => undefined };
    },
    'two tabs': () => {
        const channels = [new BroadcastChannel('rpc-test'), new BroadcastChannel('rpc-test')] as const;
        return {
            caller: channelPort(channels[0], 'a', 'b'),
            answerer: channelPort(channels[1], 'b', 'a'),
            stop: () => channels.forEach((one) => one.close()),
        };
    },
    'a page and its worker': () => {
        const { port1, port2 } = new globalThis.MessageChannel();
        port1.start();
        port2.start();
        const port = (end: unknown) => workerPort(end as MessageEnd);
        return { caller: port(port1), answerer: port(port2), stop: () => port1.close() };
    },
};

async function exercise(rpc: Rpc<TestCalls>): Promise<void> {
    const events: number[] = [];
    assert.equal(await rpc.call('count', 200, { onEvent: (event) => void events.push(event) }), 200);
    assert.deepEqual(events, Array.from({ length: 200 }, (_, i) => i), 'in order, and all before the result');
    await assert.rejects(rpc.call('refuse', 'temperature'), (error) => {
        assert.ok(error instanceof LapidaryError);
        assert.deepEqual([error.code, error.message, error.details], ['limit', 'no', { param: 'temperature' }]);
        return true;
    });
    const stop = new AbortController();
    const waiting = rpc.call('wait', undefined, { signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, (error) => error instanceof LapidaryError && error.code === 'cancelled');
    assert.deepEqual(await rpc.call('bytes', 3), Uint8Array.of(7, 7, 7));
    await assert.rejects(rpc.call('nothing' as 'count', 1), /nobody answers 'nothing'/);
}

for (const [name, open] of Object.entries(inOneThread)) {
    test(`${name} call each other, tell events in order, stop and refuse`, async () => {
        const { caller, answerer, stop } = open();
        new Rpc<Record<never, never>, TestCalls>(answerer, handlers);
        await exercise(new Rpc<TestCalls>(caller, {}));
        stop();
    });
}

const other = fileURLToPath(new URL('../testing/rpc-answerer.js', import.meta.url));

test('the same with a thread, and who waits for one that is ended is told', async () => {
    const thread = new Worker(other);
    const rpc = new Rpc<TestCalls>(threadPort(thread), {});
    thread.on('exit', () => rpc.close(new LapidaryError('internal', 'it ended')));
    await exercise(rpc);
    const waiting = rpc.call('wait', undefined);
    await thread.terminate();
    await assert.rejects(waiting, /it ended/);
    await assert.rejects(rpc.call('count', 1), /it ended/);
});

test('the same with a process', async () => {
    const child = fork(other, { serialization: 'advanced' });
    await exercise(new Rpc<TestCalls>(processPort(child), {}));
    child.disconnect();
    await once(child, 'exit');
});

interface Flood {
    flood: { args: number; event: string; result: number };
    bulk: { args: number; event: string; result: number };
}

function flooded(): { rpc: Rpc<Flood>; most: () => number; stop: () => void } {
    const { caller, answerer, stop } = channel();
    let onItsWay = 0;
    let most = 0;
    const counting: Port = {
        listen: (receive) =>
            answerer.listen((message) => {
                const { rpc, count = 0 } = message as { rpc: string; count?: number };
                if (rpc === 'call') onItsWay = 0;
                if (rpc === 'taken') onItsWay -= count;
                receive(message);
            }),
        post: (message, transfer) => {
            onItsWay += (message as { events?: unknown[] }).events?.length ?? 0;
            most = Math.max(most, onItsWay);
            answerer.post(message, transfer);
        },
    };
    const tellers: Handlers<Flood> = {
        flood: async (count, { emit }) => {
            for (let i = 0; i < count; i++) emit('x');
            return count;
        },
        bulk: async (count, { emit, room }) => {
            for (let i = 0; i < count; i++) {
                await room();
                emit('y');
            }
            return count;
        },
    };
    new Rpc<Record<never, never>, Flood>(counting, tellers, { flood: (before, after) => before + after });
    return { rpc: new Rpc<Flood>(caller, {}), most: () => most, stop };
}

test('a reader who is slow gets what waits as one, and never more at a time than was agreed', async () => {
    const { rpc, most, stop } = flooded();
    let text = '';
    let events = 0;
    const onEvent = async (event: string) => {
        await new Promise((resolve) => setImmediate(resolve));
        text += event;
        events++;
    };
    assert.equal(await rpc.call('flood', 5000, { onEvent }), 5000);
    assert.equal(text.length, 5000);
    assert.equal(events, 65, '64 that were on their way, and the rest in one');
    assert.equal(await rpc.call('bulk', 300, { onEvent }), 300);
    assert.equal(text.length, 5300);
    assert.equal(most(), 64);
    stop();
});

test('a listener that throws is told so, and nobody waits for it', async () => {
    const { rpc, stop } = flooded();
    await assert.rejects(
        rpc.call('bulk', 300, {
            onEvent: () => {
                throw new Error('my own');
            },
        }),
        /my own/,
    );
    assert.equal(await rpc.call('flood', 3), 3);
    stop();
});

test('a result may move instead of being copied', async () => {
    const { caller, answerer, stop } = channel();
    const bytes = new Uint8Array(1 << 16);
    interface Giving {
        give: { args: undefined; event: never; result: Uint8Array };
    }
    new Rpc<Record<never, never>, Giving>(answerer, { give: async () => new Moved(bytes, [bytes.buffer]) });
    assert.equal((await new Rpc<Giving>(caller, {}).call('give', undefined)).length, 1 << 16);
    assert.equal(bytes.length, 0);
    stop();
});
