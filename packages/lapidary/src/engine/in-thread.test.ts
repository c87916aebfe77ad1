// The engine in a thread of Node's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { loadInThread } from './in-thread.js';
import { openLocalModel } from '../local-model.js';
import { Lapidary } from '../lapidary.js';

const story = [{ role: 'user', content: 'Tell me a story.' }] as const;
const options = { backend: 'cpu', contextLength: 128 } as const;

test('a thread answers what this thread would', async () => {
    const { sources } = await openLocalModel('builtin');
    const [threaded, here] = [await loadInThread(sources, options), await Lapidary.load('builtin', options)];
    const params = { messages: story, max_tokens: 12, seed: 4 };
    const [one, other] = [await threaded.chat.completions.create(params), await here.chat.completions.create(params)];
    assert.equal(one.choices[0].message.content, other.choices[0].message.content);
    assert.equal(threaded.info.worker, true);
    await assert.rejects(
        threaded.chat.completions.create({ messages: [{ role: 'user', content: 'a long story '.repeat(200) }] }),
        (error) => error instanceof LapidaryError && error.code === 'limit',
    );
    const running = threaded.chat.completions.create({ messages: story });
    const stopped = assert.rejects(running, (error) => error instanceof LapidaryError && error.code === 'cancelled');
    await threaded.dispose();
    await stopped;
    await here.dispose();
});

test('a model that is none is refused, and nothing is left of its thread', async () => {
    await assert.rejects(loadInThread('/nonexistent.gguf', options), /nonexistent/);
});

test('a thread that says nothing any more is given up, and whoever waits is told', async () => {
    const engine = await loadInThread('builtin', options, { silentMs: 0, everyMs: 5 });
    const running = engine.chat.completions.create({ messages: story });
    await assert.rejects(running, /has not answered/);
    await assert.rejects(engine.tokenize('a'), /has not answered/);
    await engine.dispose();
});
