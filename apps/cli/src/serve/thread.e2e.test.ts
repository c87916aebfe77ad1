// The engine has a thread of its own: the server hears others while it computes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { raw, testServer } from '../testing/server.js';

test('a small request sent while an answer is computed is answered before the next token comes', async (t) => {
    const { url } = await testServer(t);
    const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ messages: [{ role: 'user', content: 'Tell me a story.' }], stream: true, max_tokens: 40, temperature: 0 }),
    });
    const decoder = new TextDecoder();
    const asked: { at: number; answered?: number }[] = [];
    const replies: Promise<void>[] = [];
    let tokens = 0;
    for await (const bytes of response.body ?? []) {
        tokens += decoder.decode(bytes, { stream: true }).split('"content":').length - 1;
        const one: { at: number; answered?: number } = { at: tokens };
        asked.push(one);
        replies.push(raw(`${url}/health`).then(() => void (one.answered = tokens)));
    }
    await Promise.all(replies);
    assert.ok(tokens >= 20, `${tokens} tokens`);
    // A machine that is busy with something else may hold one of them up; an engine in the way would nearly all.
    const during = asked.slice(0, -1);
    const inTime = during.filter(({ at, answered }) => answered === at).length;
    t.diagnostic(`${inTime} of ${during.length} were answered before the next token`);
    assert.ok(inTime * 2 > during.length, `${inTime} of ${during.length}`);
});

test('the server tells how it is, and what its answers took', async (t) => {
    const { url } = await testServer(t);
    assert.deepEqual(JSON.parse((await raw(`${url}/health`)).body), { status: 'ok', models: [], running: false, waiting: 0 });
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3, keep_alive: 0 });
    assert.equal((await raw(`${url}/v1/chat/completions`, { method: 'POST', body })).status, 200);
    const { body: text, headers } = await raw(`${url}/metrics`);
    assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
    assert.match(text, /^lapidary_answers_total\{model="builtin"\} 1$/m);
    assert.match(text, /^lapidary_completion_tokens_total\{model="builtin"\} 3$/m);
    assert.match(text, /^# TYPE lapidary_requests_waiting gauge\nlapidary_requests_waiting 0$/m);
});
