import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { noise } from '../testing/fake-remote.js';
import { checksum } from './checksum.js';
import { newSha256 } from './hasher.js';
import { Sha256 } from './sha256-stream.js';

test('SHA-256 is that of everybody else, at every length and cut in pieces anywhere', () => {
    const bytes = noise(1000);
    for (let length = 0; length <= 300; length++) {
        const hash = new Sha256();
        const cut = (length * 7) % (length + 1);
        hash.update(bytes.subarray(0, cut));
        hash.update(bytes.subarray(cut, length));
        assert.equal(hash.digest(), createHash('sha256').update(bytes.subarray(0, length)).digest('hex'), `${length}`);
    }
    const hash = new Sha256();
    for (let at = 0; at < bytes.length; at += 37) hash.update(bytes.subarray(at, at + 37));
    assert.equal(hash.digest(), createHash('sha256').update(bytes).digest('hex'));
});

test('a checksum notices every flipped bit, a cut, and bytes that changed places', () => {
    const bytes = noise(203);
    const sum = checksum(bytes);
    assert.match(sum, /^[0-9a-f]{16}$/);
    const seen = new Set([sum]);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
        const changed = bytes.slice();
        changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        seen.add(checksum(changed));
    }
    for (let length = 0; length < bytes.length; length++) seen.add(checksum(bytes.subarray(0, length)));
    assert.equal(seen.size, 1 + bytes.length * 8 + bytes.length);
    assert.notEqual(checksum(new Uint8Array(16)), checksum(new Uint8Array(32)));
    const swapped = Uint8Array.of(...bytes.subarray(4, 8), ...bytes.subarray(0, 4));
    assert.notEqual(checksum(swapped), checksum(bytes.subarray(0, 8)));
});

test('a checksum does not depend on where the bytes lie in memory', () => {
    const bytes = noise(100);
    for (let shift = 0; shift < 8; shift++) {
        const moved = new Uint8Array(120);
        moved.set(bytes, shift);
        assert.equal(checksum(moved.subarray(shift, shift + 100)), checksum(bytes));
    }
});

test('whoever computes a SHA-256 here, it is the same', () => {
    const [own, quickest] = [new Sha256(), newSha256()];
    for (const length of [0, 1, 63, 64, 65, 1000]) {
        for (const hash of [own, quickest]) hash.update(new Uint8Array(length).fill(length));
    }
    assert.equal(quickest.digest(), own.digest());
});
