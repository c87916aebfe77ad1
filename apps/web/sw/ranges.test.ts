import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerRange, parseRange } from './ranges.js';

test('ranges are understood as HTTP means them', () => {
    assert.deepEqual(parseRange('bytes=0-0', 10), { first: 0, last: 0 });
    assert.deepEqual(parseRange('bytes=3-', 10), { first: 3, last: 9 });
    assert.deepEqual(parseRange('bytes=-4', 10), { first: 6, last: 9 });
    assert.deepEqual(parseRange('bytes=-40', 10), { first: 0, last: 9 });
    assert.deepEqual(parseRange('bytes=8-99', 10), { first: 8, last: 9 });
    assert.equal(parseRange('bytes=10-12', 10), null);
    assert.equal(parseRange('bytes=-0', 10), null);
    for (const other of ['bytes=-', 'bytes=5-2', 'bytes=0-1,4-5', 'lines=0-1', '']) {
        assert.equal(parseRange(other, 10), undefined, other);
    }
});

test('a range of a cached file is a piece of it', async () => {
    const whole = () => new Response('0123456789', { headers: { etag: '"v1"' } });
    const piece = await answerRange(whole(), 'bytes=2-4');
    assert.equal(piece.status, 206);
    assert.equal(piece.headers.get('content-range'), 'bytes 2-4/10');
    assert.equal(piece.headers.get('content-length'), '3');
    assert.equal(piece.headers.get('etag'), '"v1"');
    assert.equal(await piece.text(), '234');
    assert.equal((await answerRange(whole(), 'bytes=10-')).status, 416);
    assert.equal(await (await answerRange(whole(), null)).text(), '0123456789');
    assert.equal(await (await answerRange(whole(), 'bytes=0-1,3-4')).text(), '0123456789');
});
