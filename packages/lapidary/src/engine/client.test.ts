// A page and its worker, as two ends of a channel in one thread: the same messages, without a browser.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { engineFile } from '../engine-file.js';
import { LapidaryError } from '../error.js';
import type { JsonObject } from '../json.js';
import { LoadedEngine } from '../lapidary.js';
import { openLocalModel } from '../local-model.js';
import type { LoadProgress } from '../options.js';
import { BlobSource } from '../sources/blob.js';
import type { PreparedSource } from '../sources/prepared.js';
import { workerPort, type MessageEnd } from '../rpc/port.js';
import { EngineClient } from './client.js';
import { serveEngine } from './service.js';

let engine: LoadedEngine;
let terminated = 0;
let closed = 0;
let fail: (error: LapidaryError) => void = () => undefined;
const log: string[] = [];
const progress: LoadProgress[] = [];
const story = [{ role: 'user', content: 'Tell me a story.' }] as const;

async function start(
    source: PreparedSource,
    signal?: AbortSignal,
    onOpened?: (description: JsonObject) => Promise<void>,
): Promise<LoadedEngine> {
    const { port1, port2 } = new MessageChannel();
    serveEngine(workerPort(port2 as unknown as MessageEnd));
    port1.start();
    port2.start();
    const end = () => {
        terminated++;
        port1.close();
        port2.close();
    };
    const context = {
        log: (_: string, text: string) => void log.push(text),
        onProgress: (one: LoadProgress) => void progress.push(one),
        onOpened,
        signal,
        end,
    };
    const options = { backend: 'cpu', contextLength: 128, wasm: new Uint8Array(await readFile(engineFile())) } as const;
    const port = workerPort(port1 as unknown as MessageEnd);
    return new LoadedEngine(await EngineClient.start(port, source, options, context, (how) => (fail = how)));
}

before(async () => {
    const { sources } = await openLocalModel('builtin');
    const [file] = sources;
    assert.ok(file);
    const source = {
        size: file.size,
        name: file.name,
        read: (offset: number, length: number) => file.read(offset, length),
        close: async () => {
            closed++;
            await file.close();
        },
    };
    engine = await start({ kind: 'open', sources: [source] });
});
after(async () => await engine.dispose());

test('a source that is open in the page is read from there', () => {
    assert.equal(engine.info.worker, true);
    assert.equal(engine.info.backend, 'cpu');
    assert.equal(progress.at(-1)?.done, progress.at(-1)?.total);
    assert.ok(log.some((line) => line.includes('CPU')));
});

test('answers cross the border, whole and in pieces', async () => {
    const params = { messages: story, max_tokens: 8, seed: 4 };
    const whole = await engine.chat.completions.create(params);
    let text = '';
    for await (const { choices } of await engine.chat.completions.create({ ...params, stream: true })) {
        text += choices[0]?.delta.content ?? '';
    }
    assert.equal(text, whole.choices[0].message.content);
    assert.equal(await engine.detokenize(await engine.tokenize('A dog.', { addBos: false })), 'A dog.');
});

test('so do errors and the wish to stop', async () => {
    const content = 'a long story '.repeat(200);
    await assert.rejects(
        engine.chat.completions.create({ messages: [{ role: 'user', content }] }),
        (error) => error instanceof LapidaryError && error.code === 'limit',
    );
    const stop = new AbortController();
    const stream = await engine.chat.completions.create({ messages: story, stream: true }, { signal: stop.signal });
    await assert.rejects(async () => {
        for await (const _ of stream) stop.abort();
    }, (error) => error instanceof LapidaryError && error.code === 'cancelled');
    const strange = [{ role: 'user', content: 'x', toJSON: () => 'x' }] as const;
    await assert.rejects(
        engine.chat.completions.create({ messages: strange }),
        (error) => error instanceof LapidaryError && error.code === 'invalid_argument',
    );
    assert.ok((await engine.chat.completions.create({ messages: story, max_tokens: 1 })).choices[0].message.content);
});

test('a Blob travels to the worker and is read there', async () => {
    const { sources } = await openLocalModel('builtin');
    const bytes = await Promise.all(sources.map((source) => source.read(0, source.size)));
    await Promise.all(sources.map((source) => source.close()));
    const blob = new Blob(bytes as Uint8Array<ArrayBuffer>[]);
    assert.equal(new BlobSource(blob).size, blob.size);
    const other = await start({ kind: 'blobs', blobs: [blob] });
    assert.equal(other.info.model, 'Storyteller');
    const running = other.chat.completions.create({ messages: story });
    await other.dispose();
    await assert.rejects(running, (error) => error instanceof LapidaryError && error.code === 'cancelled');
    await assert.rejects(other.tokenize('a'), (error) => error instanceof LapidaryError && error.code === 'cancelled');
});

test('loading in a worker can be stopped, and fails with the reason', async () => {
    const stop = new AbortController();
    stop.abort();
    await assert.rejects(
        start({ kind: 'blobs', blobs: [new Blob(['x'])] }, stop.signal),
        (error) => error instanceof LapidaryError && error.code === 'cancelled',
    );
    await assert.rejects(
        start({ kind: 'blobs', blobs: [new Blob(['not a model at all'])] }),
        (error) => error instanceof LapidaryError && error.code === 'bad_file',
    );
});

test('the weights wait until the page has made room, and a header that is wrong never asks for it', async () => {
    const { sources } = await openLocalModel('builtin');
    let asked = 0;
    const makeRoom = async ({ architecture }: JsonObject) => {
        asked++;
        assert.equal(architecture, 'gemma4');
        assert.ok(!progress.some(({ stage }) => stage === 'weights'));
    };
    progress.length = 0;
    const other = await start({ kind: 'open', sources }, undefined, makeRoom);
    assert.equal(asked, 1);
    assert.ok(progress.some(({ stage }) => stage === 'weights'));
    await other.dispose();
    await assert.rejects(start({ kind: 'blobs', blobs: [new Blob(['not a model at all'])] }, undefined, makeRoom));
    assert.equal(asked, 1);
});

test('when the worker dies, everybody who waits is told', async () => {
    const { sources } = await openLocalModel('builtin');
    const other = await start({ kind: 'open', sources });
    const running = other.chat.completions.create({ messages: story });
    fail(new LapidaryError('internal', 'the worker stopped'));
    await assert.rejects(running, /the worker stopped/);
    await assert.rejects(other.tokenize('a'), /the worker stopped/);
    await other.dispose();
});

test('disposing ends the worker once and closes what was opened in the page', async () => {
    const before = terminated;
    await engine.dispose();
    await engine.dispose();
    assert.equal(terminated, before + 1);
    assert.equal(closed, 1);
});
