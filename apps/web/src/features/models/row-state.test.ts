import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Prediction } from 'lapidary/hub';
import { inOrder, rowState, shareOf, type Known, type Transfer } from './row-state.js';

const fits: Prediction = { verdict: 'fits', fits: true, backend: 'gpu', memory: 3e9, available: 8e9, why: 'it should fit', cannotStore: false };
const tooLarge: Prediction = { ...fits, verdict: 'too large', fits: false, memory: 20e9 };
const known: Known = { prediction: fits, presence: undefined, transfer: undefined, answering: false, keeps: true };

test('a row goes from offered to kept, and what has arrived is never forgotten', () => {
    assert.deepEqual(rowState(known), { is: 'offered' });
    assert.deepEqual(rowState({ ...known, keeps: false }), { is: 'no place' });
    assert.deepEqual(rowState({ ...known, prediction: tooLarge }), { is: 'too large' });
    const downloading: Transfer = { is: 'downloading', done: 1, total: 4, rate: 2 };
    assert.equal(rowState({ ...known, transfer: downloading }), downloading);
    const partial = { complete: false, have: 3, bytes: 4 };
    assert.deepEqual(rowState({ ...known, presence: partial }), { is: 'paused', done: 3, total: 4 }, 'after a reload');
    assert.deepEqual(rowState({ ...known, presence: { ...partial, bytes: undefined } }), { is: 'paused', done: 3, total: 0 });
    const complete = { complete: true, have: 4, bytes: 4 };
    assert.deepEqual(rowState({ ...known, presence: complete }), { is: 'kept' });
    assert.deepEqual(rowState({ ...known, presence: complete, answering: true }), { is: 'answering' });
    // Who has it may use it, whatever was guessed.
    assert.deepEqual(rowState({ ...known, presence: complete, prediction: tooLarge }), { is: 'kept' });
});

test('the bar shows a share where there is one', () => {
    assert.equal(shareOf({ is: 'downloading', done: 1, total: 4, rate: 0 }), 0.25);
    assert.equal(shareOf({ is: 'paused', done: 9, total: 4 }), 1);
    assert.equal(shareOf({ is: 'paused', done: 1, total: 0 }), undefined);
    assert.equal(shareOf({ is: 'offered' }), undefined);
});

test('the recommended one is first, then by size', () => {
    const entries = [30, 10, 20].map((about) => ({ id: String(about), bytes: { about } }));
    assert.deepEqual(inOrder(entries, '20').map(({ id }) => id), ['20', '10', '30']);
    assert.deepEqual(inOrder(entries, undefined).map(({ id }) => id), ['10', '20', '30']);
});
