import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from 'lapidary';
import { EchoEngine } from '../testing/server.js';
import type { CatalogueEntry } from './catalogue.js';
import { LoadedModels } from './loaded.js';

const forever = new AbortController().signal;

function entry(id: string, digest = id): CatalogueEntry {
    return { id, digest, bytes: 1, modified: new Date(0), open: async () => ({ sources: [], origin: id }) };
}

function setup(most = 1) {
    const engines: EchoEngine[] = [];
    let failures = 0;
    const models = new LoadedModels({
        load: async (_source, { signal }) => {
            await new Promise((resolve) => setTimeout(resolve, 5));
            if (signal?.aborted) throw new LapidaryError('cancelled', 'stopped');
            if (failures-- > 0) throw new LapidaryError('bad_file', 'broken');
            const engine = new EchoEngine(`engine ${engines.length}`, 0);
            engines.push(engine);
            return engine.asLoaded();
        },
        options: {},
        most,
        log: () => undefined,
    });
    const use = (wanted: CatalogueEntry, keepAlive?: number) =>
        models.use(wanted, forever, keepAlive, async ({ engine }) => engine.info.model);
    return { models, engines, use, failNext: (times: number) => (failures = times) };
}

test('a model is loaded once, also for those who come while it loads', async () => {
    const { engines, use } = setup();
    const names = await Promise.all([use(entry('a')), use(entry('a')), use(entry('a'))]);
    assert.deepEqual(new Set([...names, await use(entry('a'))]), new Set(['engine 0']));
    assert.equal(engines.length, 1);
});

test('the model used longest ago makes room', async () => {
    const { models, engines, use } = setup(2);
    await use(entry('a'));
    await use(entry('b'));
    await use(entry('a'));
    await use(entry('c'));
    assert.deepEqual(models.list().map((loaded) => loaded.entry.id), ['a', 'c']);
    assert.deepEqual(engines.map((engine) => engine.disposed), [false, true, false]);
});

test('keep_alive 0 unloads at once, a time later, nothing never', async () => {
    const { models, use } = setup();
    await use(entry('a'), 0);
    assert.equal(models.list().length, 0);
    await use(entry('a'), 0.05);
    assert.ok(models.list()[0]?.expiresAt);
    await new Promise((resolve) => setTimeout(resolve, 120));
    assert.equal(models.list().length, 0);
    await use(entry('a'));
    assert.equal(models.list()[0]?.expiresAt, undefined);
});

test('a failure is told to all who wait, and the next one tries again', async () => {
    const { use, failNext } = setup();
    failNext(1);
    const both = await Promise.allSettled([use(entry('a')), use(entry('a'))]);
    assert.deepEqual(both.map(({ status }) => status), ['rejected', 'rejected']);
    assert.equal(await use(entry('a')), 'engine 0');
});

test('who stops waiting does not stop the others', async () => {
    const { models, use } = setup();
    const impatient = new AbortController();
    const left = models.use(entry('a'), impatient.signal, undefined, async () => 'too late');
    const stays = use(entry('a'));
    impatient.abort();
    await assert.rejects(left, { code: 'cancelled' });
    assert.equal(await stays, 'engine 0');
});

test('a model that was pulled again is loaded again', async () => {
    const { engines, use } = setup();
    await use(entry('a', 'old'));
    assert.equal(await use(entry('a', 'new')), 'engine 1');
    assert.equal(engines[0]?.disposed, true);
});

test('an engine that failed within itself is replaced', async () => {
    const { models, use } = setup();
    await use(entry('a'));
    const broken = models.use(entry('a'), forever, undefined, async () => {
        throw new LapidaryError('internal', 'the engine stopped unexpectedly');
    });
    await assert.rejects(broken, { code: 'internal' });
    assert.equal(await use(entry('a')), 'engine 1');
});

test('closing stops what is being loaded and lets go of the rest', async () => {
    const { models, engines, use } = setup(2);
    await use(entry('a'));
    const late = use(entry('b'));
    await new Promise((resolve) => setImmediate(resolve));
    await models.close();
    await assert.rejects(late);
    assert.equal(engines[0]?.disposed, true);
    await assert.rejects(use(entry('c')), { code: 'cancelled' });
});
