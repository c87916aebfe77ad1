import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitOf } from './fit.js';

test('a model is judged by the memory it needs', () => {
    const gpu = { backend: 'gpu' as const, estimatedMemory: 8e9 };
    assert.equal(fitOf(20e6, gpu).verdict, 'fits');
    assert.equal(fitOf(7e9, gpu).verdict, 'tight');
    assert.equal(fitOf(9e9, gpu).verdict, 'too large');
    const cpu = { backend: 'cpu' as const, estimatedMemory: 64e9 };
    assert.equal(fitOf(2e9, cpu).verdict, 'fits');
    assert.match(fitOf(4e9, cpu).why, /WebGPU/);
});
