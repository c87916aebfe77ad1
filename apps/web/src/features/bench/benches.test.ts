import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBenches } from './benches.js';

test('only measurements are read back, and no more than can be looked at', () => {
    assert.deepEqual(parseBenches(null), []);
    assert.deepEqual(parseBenches('{"a":1}'), []);
    assert.deepEqual(parseBenches('[1, null, [2], {"decode_tps": 3}]'), [{ decode_tps: 3 }]);
    assert.deepEqual(parseBenches('[{'), []);
    assert.equal(parseBenches(JSON.stringify(Array.from({ length: 30 }, () => ({})))).length, 20);
});
