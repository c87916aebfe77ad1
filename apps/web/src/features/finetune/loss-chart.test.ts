import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inWords, niceTicks, smoothed } from './loss-chart.js';

test('the axis has round numbers and reaches over the highest loss', () => {
    assert.deepEqual(niceTicks(0, 4.2), [0, 2, 4, 6]);
    assert.deepEqual(niceTicks(0, 0.03), [0, 0.01, 0.02, 0.03]);
    for (const high of [1e-3, 0.7, 1, 9.99, 123]) {
        const ticks = niceTicks(0, high);
        assert.ok((ticks.at(-1) ?? 0) >= high && ticks.length >= 3 && ticks.length <= 6, `${high}: ${ticks.join()}`);
    }
});

test('the curve in words', () => {
    assert.match(inWords([], []), /no step/);
    assert.equal(
        inWords([[1, 4], [9, 0.5]], [[9, 0.75]]),
        'The loss went from 4.00 at step 1 to 0.50 at step 9; on examples kept back it is 0.75',
    );
});

test('the smoothed curve begins where the loss does and stays within it', () => {
    const points = [4, 3, 5, 2, 1].map((loss, i): [number, number] => [i + 1, loss]);
    const even = smoothed(points);
    assert.deepEqual(even[0], [1, 4]);
    assert.ok(even.every(([, loss]) => loss >= 1 && loss <= 5));
});
