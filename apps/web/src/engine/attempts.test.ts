import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attempts, type Attempt } from './attempts.js';

/** A browser's storage, and the pages that come and go. */
function browser() {
    const kept = new Map<string, Attempt>();
    let left: string | null = null;
    const store = {
        put: async (attempt: Attempt) => void kept.set(attempt.id, attempt),
        all: async () => [...kept.values()],
        remove: async (ids: readonly string[]) => ids.forEach((id) => kept.delete(id)),
    };
    const leftStore = { get: () => left, set: (ids: string) => void (left = ids) };
    return { kept, page: () => new Attempts(store, leftStore) };
}

const whats = (attempts: Attempt[]) => attempts.map(({ what }) => what);

test('what ended is forgotten, and what the page itself is doing does not frighten it', async () => {
    const { page, kept } = browser();
    const first = page();
    const end = await first.begin('gpu', 'one');
    assert.deepEqual(await first.unended('gpu'), []);
    await end();
    assert.equal(kept.size, 0);
    assert.deepEqual(await page().unended('gpu'), []);
});

test('what a page did not live to end is known to the next one, until it is forgiven', async () => {
    const { page } = browser();
    await page().begin('gpu', 'one');
    await page().begin('url', 'https://a.b/two.gguf');
    await page().begin('url', 'https://a.b/three.gguf');
    const next = page();
    assert.deepEqual(whats(await next.unended('gpu')), ['one']);
    assert.deepEqual(whats(await next.unended('url')), ['https://a.b/two.gguf', 'https://a.b/three.gguf']);
    await next.forget('url', 'https://a.b/two.gguf');
    assert.deepEqual(whats(await next.unended('url')), ['https://a.b/three.gguf']);
    await next.forget('gpu');
    assert.deepEqual(whats(await page().unended('gpu')), []);
});

test('a page that was left while it loaded is not to blame', async () => {
    const { page, kept } = browser();
    const first = page();
    await first.begin('gpu', 'one');
    first.leave();
    assert.deepEqual(await page().unended('gpu'), []);
    assert.equal(kept.size, 0, 'and nothing of it is kept');
});

test('who cannot remember goes on without', async () => {
    const broken = async (): Promise<never> => await Promise.reject(new Error('no storage here'));
    const page = new Attempts({ put: broken, all: broken, remove: broken }, { get: () => '{', set: () => undefined });
    const end = await page.begin('gpu', 'one');
    assert.deepEqual(await page.unended('gpu'), []);
    await page.forget('gpu');
    page.leave();
    await end();
});
