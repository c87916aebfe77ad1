import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bodyOf } from './body.js';

test('an answer is taken whole, or refused when it has more than it may', async () => {
    assert.equal(await (await bodyOf(new Response('hello'), 'it', 5)).text(), 'hello');
    assert.equal((await bodyOf(new Response(null), 'it', 5)).size, 0);
    await assert.rejects(bodyOf(new Response('hello'), 'it', 4), { code: 'limit', message: /it has more than 4 bytes/ });
    const announced = new Response('', { headers: { 'content-length': '9007199254740991' } });
    await assert.rejects(bodyOf(announced, 'it', 4), { code: 'limit' });
});

test('of an answer without an end only so much is read', async () => {
    let given = 0;
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array((given += 1000) && 1000)),
        cancel: () => void (cancelled = true),
    });
    await assert.rejects(bodyOf(new Response(endless), 'it', 10_000), { code: 'limit' });
    assert.ok(cancelled && given <= 15_000, String(given));
});
