import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldOf } from './fold.js';

test('what fits on a screen is shown whole', () => {
    assert.equal(foldOf(''), undefined);
    assert.equal(foldOf(Array.from({ length: 20 }, (_, i) => `line ${i}`).join('\n')), undefined);
    assert.equal(foldOf('x'.repeat(4000)), undefined);
});

test('many lines are folded after the first ones', () => {
    const fold = foldOf(Array.from({ length: 1412 }, (_, i) => `line ${i}`).join('\n'));
    assert.equal(fold?.all, 'Show all 1,412 lines');
    assert.ok(fold?.beginning.startsWith('line 0\nline 1\n'));
    assert.ok(fold?.beginning.endsWith('line 11…'), fold?.beginning);
    assert.equal(foldOf('\n'.repeat(30))?.beginning, `${'\n'.repeat(11)}…`);
});

test('one endless line is folded too, and no emoji is cut in half', () => {
    const fold = foldOf('😀'.repeat(50_001));
    assert.equal(fold?.all, 'Show all 100,002 characters');
    assert.equal(fold?.beginning, `${'😀'.repeat(600)}…`);
    assert.equal(foldOf(`a${'😀'.repeat(5000)}`)?.beginning, `a${'😀'.repeat(599)}…`);
});
