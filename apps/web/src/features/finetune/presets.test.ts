import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleText } from './example.js';
import { presets, settingsFor } from './presets.js';

test('few examples are seen more often than many', () => {
    const few = settingsFor('balanced', { examples: 10, longest: 40 });
    const many = settingsFor('balanced', { examples: 5000, longest: 400 });
    assert.ok((few.epochs ?? 0) > 10);
    assert.equal(many.epochs, 1);
    assert.equal(few.validation, 0);
    assert.equal(many.validation, 0.1);
    assert.equal(few.seq, 64);
    assert.equal(many.seq, 416);
});

test('a single example can be learnt, and every preset takes longer than the one before', () => {
    let last = 0;
    for (const { name } of presets) {
        const { batch = 0, epochs = 0 } = settingsFor(name, { examples: 1, longest: 9 });
        assert.equal(batch, 1);
        assert.ok(epochs > last);
        last = epochs;
    }
});

test('the example is lines of JSON', () => {
    const rows = exampleText.split('\n').map((line) => JSON.parse(line) as { prompt: string; completion: string });
    assert.equal(rows.length, 10);
    assert.equal(new Set(rows.map(({ prompt }) => prompt)).size, 10);
});
