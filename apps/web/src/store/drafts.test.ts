import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drafts } from './drafts.js';

class FakeStore {
    readonly kept = new Map<string, string>();
    getItem = (key: string) => this.kept.get(key) ?? null;
    setItem = (key: string, value: string) => void this.kept.set(key, value);
    removeItem = (key: string) => void this.kept.delete(key);
}

test('each conversation has a draft of its own, and the next visit finds it', () => {
    const store = new FakeStore();
    const drafts = new Drafts(() => store);
    drafts.set('a', 'half a question');
    assert.equal(drafts.get('b'), '');
    const later = new Drafts(() => store);
    assert.equal(later.get('a'), 'half a question');
    later.set('a', '');
    assert.equal(store.kept.size, 0, 'what was sent leaves nothing behind');
});

test('a draft too long to be stored, or with no storage at all, lasts as long as the page', () => {
    const store = new FakeStore();
    const drafts = new Drafts(() => store);
    drafts.set('a', 'short');
    const long = 'x'.repeat(300_000);
    drafts.set('a', long);
    assert.equal(drafts.get('a'), long);
    assert.equal(new Drafts(() => store).get('a'), '', 'and no older text comes back');
    const forbidden = new Drafts(() => {
        throw new Error('SecurityError');
    });
    forbidden.set('a', 'kept here');
    assert.equal(forbidden.get('a'), 'kept here');
});
