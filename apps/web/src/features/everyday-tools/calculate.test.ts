import assert from 'node:assert/strict';
import { test } from 'node:test';
import { calculate } from './calculate.js';

test('an expression has the value that mathematics gives it', () => {
    const known: [string, number][] = [
        ['1 + 2 * 3', 7],
        ['(1 + 2) * 3', 9],
        ['2 ^ 3 ^ 2', 512],
        ['-2 ^ 2', -4],
        ['2 ** -1', 0.5],
        ['17 % 5', 2],
        ['1.5e3 / 3', 500],
        ['sqrt(16) + max(1, 2, 3)', 7],
        ['6 × 7 − 2 ÷ 1', 40],
        ['round(pi)', 3],
        ['--3', 3],
    ];
    for (const [text, value] of known) assert.equal(calculate(text), value, text);
});

test('what is no expression is refused in a sentence', () => {
    for (const [text, why] of [
        ['', /ends too soon/],
        ['1 +', /ends too soon/],
        ['(1', /'\)' is missing/],
        ['1 2', /not understood/],
        ['alert(1)', /neither a number nor a function/],
        ['constructor', /neither/],
        ['sqrt(0 - 1)', /no value/],
        ['('.repeat(500), /too many/],
        ['1'.repeat(2000), /at most/],
    ] as const) {
        assert.throws(() => calculate(text), why, text.slice(0, 20));
    }
});
