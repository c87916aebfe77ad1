import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wordsOf } from './settling-words.js';

const firmOf = (text: string, firm: number[]) =>
    wordsOf({ text, firm })
        .filter((word) => word.firm && word.text.trim() !== '')
        .map((word) => word.text);

test('a word is firm when all of its letters are', () => {
    assert.deepEqual(firmOf('the boat knows', [0, 3, 4, 8]), ['the', 'boat']);
    assert.deepEqual(firmOf('the boat knows', [0, 6]), ['the']);
    assert.deepEqual(firmOf('the boat knows', []), []);
    assert.deepEqual(firmOf('', [0, 0]), []);
});

test('words are the whole text, from the first one on', () => {
    const text = '  two\n\nlines, and 🪨 ';
    assert.equal(wordsOf({ text, firm: [] }).map((word) => word.text).join(''), text.trimStart());
});
