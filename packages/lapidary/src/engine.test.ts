import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine } from './engine.js';
import { LapidaryError } from './error.js';
import type { JsonObject } from './json.js';
import { Model } from './model.js';
import { MemorySource, type ByteSource } from './sources/source.js';
import { FakeEngine } from './testing/fake-engine.js';

const soon = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

function rejectsWith(promise: Promise<unknown>, code: string, message: RegExp): Promise<void> {
    return assert.rejects(promise, (error: unknown) => {
        assert.ok(error instanceof LapidaryError);
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
    });
}

test('a call carries its method, arguments and bytes in, and its result and bytes out', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.finish(number, { answer: 42 }, Uint8Array.of(9, 8));
    const engine = await fake.connect();
    const result = await engine.call('model.greet', { text: 'grüße' }, { blob: Uint8Array.of(1, 2, 3) });
    assert.deepEqual(result.json, { answer: 42 });
    assert.deepEqual([...result.blob], [9, 8]);
    assert.equal(fake.received[0]?.method, 'model.greet');
    assert.deepEqual(fake.received[0]?.args, { text: 'grüße' });
    assert.deepEqual([...(fake.received[0]?.blob ?? [])], [1, 2, 3]);
    assert.equal(fake.live, 0, 'everything the host allocated is freed again');
});

test('events arrive in order and before the result', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => {
        fake.emit(number, { type: 'progress', done: 1 });
        fake.emit(number, { type: 'progress', done: 2 });
        fake.finish(number, {});
    };
    const engine = await fake.connect();
    const seen: unknown[] = [];
    await engine.call('work', {}, { onEvent: (event) => seen.push(event['done']) });
    assert.deepEqual(seen, [1, 2]);
});

test('a listener may call the engine again', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number, method }) => {
        if (method === 'outer') fake.emit(number, { type: 'hello' });
        fake.finish(number, {});
    };
    const engine = await fake.connect();
    let inner: Promise<unknown> | undefined;
    await engine.call('outer', {}, { onEvent: () => (inner = engine.call('inner', {})) });
    await inner;
    assert.deepEqual(
        fake.received.map((call) => call.method),
        ['outer', 'inner'],
    );
});

test('a failed call rejects with the code and the sentence of the engine', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.fail(number, 'bad_file', 'this is not a GGUF file');
    const engine = await fake.connect();
    await rejectsWith(engine.call('model.open', { sources: [] }), 'bad_file', /^this is not a GGUF file$/);
});

test('an unknown error code is an internal error', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.fail(number, 'sunspots', 'something else');
    await rejectsWith((await fake.connect()).call('x', {}), 'internal', /something else/);
});

test('bytes are read into memory that has grown in the meantime, and never inside the request', async () => {
    const fake = new FakeEngine();
    const source = new MemorySource(Uint8Array.of(10, 11, 12, 13, 14));
    let pointer = 0;
    fake.onCall = ({ number, args }) => {
        pointer = fake.alloc(3);
        fake.host.read(7, (args as { id: number }).id, 1, 3, pointer);
        assert.equal(fake.completed.has(7), false);
        fake.memory.grow(1);
        fake.onComplete = () => fake.finish(number, {}, fake.bytes(pointer, 3));
    };
    const engine = await fake.connect();
    const { blob } = await engine.call('read', { id: engine.addSource(source) });
    assert.deepEqual([...blob], [11, 12, 13]);
});

const broken = (read: ByteSource['read']): ByteSource => ({ size: 100, name: 'broken', read, close: async () => {} });

test('a read that fails reaches the engine as a sentence', async () => {
    const cases: [ByteSource, RegExp][] = [
        [broken(() => Promise.reject(new LapidaryError('io', 'the cable is out'))), /^the cable is out$/],
        [broken(() => Promise.resolve(new Uint8Array(2))), /gave 2 bytes instead of 4/],
        [
            broken(() => {
                throw new Error('');
            }),
            /without a description/,
        ],
    ];
    for (const [source, sentence] of cases) {
        const fake = new FakeEngine();
        fake.onCall = ({ number, args }) => {
            fake.host.read(1, (args as { id: number }).id, 0, 4, fake.alloc(4));
            fake.onComplete = (_, error) => fake.fail(number, 'io', error ?? 'no error at all');
        };
        const engine = await fake.connect();
        await rejectsWith(engine.call('read', { id: engine.addSource(source) }), 'io', sentence);
        assert.equal(fake.live, 0);
    }
});

test('reading a source that was removed is an error, not a crash', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number, args }) => {
        fake.host.read(1, (args as { id: number }).id, 0, 1, fake.alloc(1));
        fake.onComplete = (_, error) => fake.fail(number, 'io', error ?? '');
    };
    const engine = await fake.connect();
    const id = engine.addSource(new MemorySource(Uint8Array.of(1)));
    engine.removeSource(id);
    await rejectsWith(engine.call('read', { id }), 'io', /no source/);
});

test('written bytes are those of the moment of writing', async () => {
    const fake = new FakeEngine();
    const written: [number, number[]][] = [];
    fake.onCall = ({ number, args }) => {
        const [pointer, length] = fake.put(Uint8Array.of(1, 2, 3));
        fake.host.write(5, (args as { id: number }).id, 1e10, pointer, length);
        new Uint8Array(fake.memory.buffer).fill(0, pointer, pointer + length);
        fake.onComplete = () => fake.finish(number, {});
    };
    const engine = await fake.connect();
    const id = engine.addSink({
        write: async (offset, bytes) => {
            await soon();
            written.push([offset, [...bytes]]);
        },
    });
    await engine.call('write', { id });
    assert.deepEqual(written, [[1e10, [1, 2, 3]]]);
});

test('defer lets other work happen first', async () => {
    const fake = new FakeEngine();
    const order: string[] = [];
    fake.onCall = ({ number }) => {
        fake.host.defer(3);
        void Promise.resolve().then(() => order.push('microtask'));
        fake.onComplete = () => {
            order.push('deferred');
            fake.finish(number, {});
        };
    };
    await (await fake.connect()).call('work', {});
    assert.deepEqual(order, ['microtask', 'deferred']);
});

test('aborting cancels the call in the engine and rejects as cancelled', async () => {
    const fake = new FakeEngine();
    fake.onCancel = (call) => fake.fail(call, 'cancelled', 'stopped');
    const engine = await fake.connect();
    const controller = new AbortController();
    const promise = engine.call('work', {}, { signal: controller.signal });
    controller.abort();
    await rejectsWith(promise, 'cancelled', /stopped/);
    assert.equal(fake.cancelled.length, 1);
});

test('a stopped call does not wait for a source that takes for ever', async () => {
    const fake = new FakeEngine();
    // This engine finishes a cancelled call only after its reads have come back.
    fake.onCall = ({ number, args }) => {
        fake.host.read(1, (args as { id: number }).id, 0, 4, fake.alloc(4));
        fake.onComplete = (_, error) => fake.fail(number, 'io', error ?? '');
    };
    const engine = await fake.connect();
    const source = broken(
        (_offset, _length, signal) =>
            new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('let go')))),
    );
    const controller = new AbortController();
    const promise = engine.call('read', { id: engine.addSource(source) }, { signal: controller.signal });
    await soon();
    controller.abort();
    await rejectsWith(promise, 'cancelled', /stopped/);
    assert.equal(fake.completed.get(1), 'let go');
});

test('a call that is aborted before it begins never reaches the engine', async () => {
    const fake = new FakeEngine();
    const engine = await fake.connect();
    await rejectsWith(engine.call('work', {}, { signal: AbortSignal.abort() }), 'cancelled', /./);
    assert.equal(fake.received.length, 0);
});

test('an abort after the result changes nothing', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.finish(number, {});
    const engine = await fake.connect();
    const controller = new AbortController();
    await engine.call('work', {}, { signal: controller.signal });
    controller.abort();
    assert.deepEqual(fake.cancelled, []);
});

test('after a trap every waiting and every later call is told so', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ method }) => {
        if (method === 'crash') throw new WebAssembly.RuntimeError('unreachable');
    };
    const engine = await fake.connect();
    const waiting = engine.call('wait', {});
    const sentence = /stopped unexpectedly \(unreachable\)/;
    await Promise.all([
        rejectsWith(waiting, 'internal', sentence),
        rejectsWith(engine.call('crash', {}), 'internal', sentence),
    ]);
    await rejectsWith(engine.call('later', {}), 'internal', sentence);
    assert.equal(engine.usable, false);
    assert.equal(fake.received.length, 2);
});

test('a trap while an operation completes is noticed too', async () => {
    const fake = new FakeEngine();
    fake.onCall = () => fake.host.defer(1);
    fake.onComplete = () => {
        throw new WebAssembly.RuntimeError('memory access out of bounds');
    };
    await rejectsWith((await fake.connect()).call('work', {}), 'internal', /out of bounds/);
});

test('closing the engine tells who waits, stops the reads, and refuses what comes later', async () => {
    const fake = new FakeEngine();
    let stopped = false;
    const source = broken(
        (_offset, _length, signal) =>
            new Promise((_, reject) => {
                signal?.addEventListener('abort', () => {
                    stopped = true;
                    reject(new Error('let go'));
                });
            }),
    );
    fake.onCall = ({ args }) => fake.host.read(1, (args as { id: number }).id, 0, 4, fake.alloc(4));
    const engine = await fake.connect();
    const waiting = engine.call('read', { id: engine.addSource(source) });
    await soon();
    engine.close();
    engine.close();
    await rejectsWith(waiting, 'cancelled', /the engine was closed/);
    await rejectsWith(engine.call('later', {}), 'cancelled', /the engine was closed/);
    assert.equal(stopped, true);
    assert.equal(engine.usable, false);
    await soon();
    assert.equal(fake.completed.size, 0, 'a closed engine is not entered again');
});

test('an engine that wants to exit ends like one that crashed', async () => {
    const fake = new FakeEngine();
    fake.onCall = () => {
        const exit = fake.imports['wasi_snapshot_preview1']?.['proc_exit'] as (code: number) => void;
        exit(3);
    };
    await rejectsWith((await fake.connect()).call('work', {}), 'internal', /exit with status 3/);
});

test('an error in a listener is what the caller sees, and the work is stopped', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.emit(number, {});
    const engine = await fake.connect();
    const listener = () => {
        throw new RangeError('my own mistake');
    };
    await assert.rejects(engine.call('work', {}, { onEvent: listener }), RangeError);
    assert.equal(fake.cancelled.length, 1);
});

test('an input that does not fit is refused, and the engine goes on', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => fake.finish(number, {});
    const engine = await fake.connect();
    fake.refuseAllocation = true;
    await rejectsWith(engine.call('work', {}), 'out_of_memory', /no room/);
    fake.refuseAllocation = false;
    await engine.call('work', {});
});

test('log lines reach the host, and a logger that throws does not reach the engine', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number }) => {
        fake.host.log(2, ...fake.put('watch out'));
        fake.finish(number, {});
    };
    const lines: string[] = [];
    const engine = await fake.connect({
        log: (level, text) => {
            lines.push(`${level}: ${text}`);
            throw new Error('no paper');
        },
    });
    await engine.call('work', {});
    assert.deepEqual(lines, ['warning: watch out']);
});

test('what libc prints becomes a log line', async () => {
    const fake = new FakeEngine();
    const lines: string[] = [];
    await fake.connect({ log: (level, text) => lines.push(`${level}: ${text}`) });
    const wasi = fake.imports['wasi_snapshot_preview1'] as Record<string, (...args: number[]) => number>;
    const [text, length] = fake.put('assertion failed\n');
    const vectors = new DataView(new ArrayBuffer(8));
    vectors.setUint32(0, text, true);
    vectors.setUint32(4, length, true);
    const result = fake.alloc(4);
    assert.equal(wasi['fd_write']?.(2, fake.put(new Uint8Array(vectors.buffer))[0], 1, result), 0);
    assert.equal(new DataView(fake.memory.buffer).getUint32(result, true), length);
    assert.deepEqual(lines, ['error: assertion failed']);
});

test('a module that is not the engine is refused by name', async () => {
    const emptyModule = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
    await rejectsWith(Engine.load(emptyModule), 'bad_file', /not the Lapidary engine/);
});

test('a model closes its sources, also when it could not be opened', async () => {
    for (const fails of [true, false]) {
        const fake = new FakeEngine();
        fake.onCall = ({ number, method }) => {
            if (method === 'model.open' && fails) fake.fail(number, 'bad_file', 'no');
            else fake.finish(number, { model: 1 });
        };
        let closed = 0;
        const source: ByteSource = { ...broken(async () => new Uint8Array()), close: async () => void closed++ };
        const engine = await fake.connect();
        const opening = Model.open(engine, [source]);
        if (fails) await assert.rejects(opening);
        else await (await opening).close();
        assert.equal(closed, 1);
    }
});

test('token ids cross the border unharmed, and progress is told', async () => {
    const fake = new FakeEngine();
    fake.onCall = ({ number, method, blob }) => {
        if (method === 'session.perplexity') {
            fake.emit(number, { type: 'progress', done: 1, total: 2 });
            fake.finish(number, { perplexity: 2, nll: 0.5, tokens: blob.length / 4 });
        } else if (method === 'model.tokenize') {
            fake.finish(number, { pieces: ['a', 'b'] }, Uint8Array.of(1, 2, 0, 0, 255, 255, 255, 127));
        } else fake.finish(number, { model: 1, session: 2, context: 64 });
    };
    const model = await Model.open(await fake.connect(), []);
    const { tokens, pieces } = await model.tokenize('ab', { pieces: true });
    assert.deepEqual([...tokens], [513, 2 ** 31 - 1]);
    assert.deepEqual(pieces, ['a', 'b']);
    const session = await model.createSession();
    const seen: JsonObject[] = [];
    const result = await session.perplexity(tokens, { onProgress: ({ done, total }) => seen.push({ done, total }) });
    assert.deepEqual(result, { perplexity: 2, nll: 0.5, tokens: 2 });
    assert.deepEqual(seen, [{ done: 1, total: 2 }]);
    assert.deepEqual([...(fake.received.at(-1)?.blob ?? [])], [1, 2, 0, 0, 255, 255, 255, 127]);
});
