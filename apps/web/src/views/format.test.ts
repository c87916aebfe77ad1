import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayOf, formatBytes, formatDuration, formatPart, formatRate } from './format.js';

test('sizes have two figures and a unit', () => {
    assert.equal(formatBytes(999), '999 B');
    assert.equal(formatBytes(20_470_912), '20 MB');
    assert.equal(formatBytes(999_999), '1 MB');
    assert.equal(formatBytes(7_162_394_016), '7.2 GB');
    assert.equal(formatBytes(123_456_789), '123 MB');
    assert.equal(formatPart(1_200_000_000, 3_400_000_000), '1.2 of 3.4 GB');
    assert.equal(formatPart(900_000, 20_470_912), '900 kB of 20 MB');
    assert.equal(formatPart(5_000_000, 0), '5 MB');
});

test('durations are as exact as they need to be', () => {
    assert.equal(formatDuration(0.2), 'a moment');
    assert.equal(formatDuration(42.4), '42 s');
    assert.equal(formatDuration(150), '3 min');
    assert.equal(formatDuration(9000), '2.5 h');
    assert.equal(formatRate(7.26), '7.3');
    assert.equal(formatRate(250.7), '251');
});

test('days are counted by midnight, not by hours', () => {
    const now = new Date(2026, 10, 15, 0, 30).getTime();
    assert.equal(dayOf(now - 10 * 60_000, now), 'Today');
    assert.equal(dayOf(now - 60 * 60_000, now), 'Yesterday');
    assert.equal(dayOf(new Date(2026, 9, 1).getTime(), now), 'October 2026');
});
