import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerRange } from './ranges.js';

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
