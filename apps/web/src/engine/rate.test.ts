import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateMeter } from './rate.js';

test('rate and time left follow the last seconds', () => {
    const meter = new RateMeter();
    assert.deepEqual(meter.measure(0, 1000, 0), { done: 0, total: 1000 });
    assert.equal(meter.measure(10, 1000, 200).rate, undefined, 'too early to tell');
    const { rate = 0, secondsLeft = 0 } = meter.measure(100, 1000, 1000);
    assert.equal(rate, 100);
    assert.equal(secondsLeft, 9);
    for (let second = 2; second <= 12; second++) meter.measure(100 + second, 1000, second * 1000);
    assert.ok((meter.measure(113, 1000, 13000).rate ?? 99) < 2, 'the fast beginning is forgotten');
});

test('a total that is not known gives no time left', () => {
    const meter = new RateMeter();
    meter.measure(0, 0, 0);
    assert.deepEqual(meter.measure(50, 0, 1000), { done: 50, total: 0, rate: 50 });
});

test('another transfer starts the measurement anew', () => {
    const meter = new RateMeter();
    meter.measure(0, 100, 0);
    meter.measure(100, 100, 1000);
    assert.equal(meter.measure(0, 100, 1100).rate, undefined);
    assert.equal(meter.measure(10, 100, 2100).rate, 10);
});
