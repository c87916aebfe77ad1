import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { noise } from '../testing/fake-remote.js';
import { prove } from './prove.js';
import { MemorySource } from './source.js';

const file = noise(5 * 1024 * 1024 + 77);
const sha256 = createHash('sha256').update(file).digest('hex');

test('what was proven is read in any part, and nothing else is', async () => {
    const bytes = file.slice();
    const shown: number[] = [];
    const source = await prove(new MemorySource(bytes), sha256, { onProgress: ({ done }) => void shown.push(done) });
    assert.equal(shown.at(-1), file.length);
    for (const [offset, length] of [[0, 0], [0, 1], [1_048_575, 2], [77, 3_000_000], [file.length - 5, 5]] as const) {
        assert.deepEqual(await source.read(offset, length), file.slice(offset, offset + length));
    }
    await assert.rejects(source.read(file.length, 1), { code: 'truncated' });
    // The same place shows other bytes now: those far from the change are still the proven ones.
    bytes[2_000_000] = (bytes[2_000_000] ?? 0) ^ 1;
    assert.deepEqual(await source.read(0, 100), file.slice(0, 100));
    await assert.rejects(source.read(1_999_990, 5), { code: 'io', message: /changed after its SHA-256 was compared/ });
});

test('another digest, no digest and an absurd size are refused before anything is made of the source', async () => {
    await assert.rejects(prove(new MemorySource(file), '0'.repeat(64)), { code: 'bad_file', message: new RegExp(sha256) });
    await assert.rejects(prove(new MemorySource(file), sha256.slice(1)), { code: 'invalid_argument' });
    const absurd = { size: Number.MAX_SAFE_INTEGER, name: 'x', read: () => assert.fail('read'), close: async () => undefined };
    await assert.rejects(prove(absurd, sha256), { code: 'limit' });
});

test('it can be stopped', async () => {
    const stop = AbortSignal.abort();
    await assert.rejects(prove(new MemorySource(file), sha256, { signal: stop }), { code: 'cancelled' });
});
