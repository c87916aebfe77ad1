import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRemembered } from './remembered.js';

test('what was used last is found again, and anything else is the built-in model', () => {
    const builtin = { choice: { kind: 'builtin' } };
    assert.deepEqual(parseRemembered('{"kind":"ollama","model":"gemma4:e2b"}').choice, { kind: 'ollama', model: 'gemma4:e2b' });
    assert.deepEqual(parseRemembered('{"kind":"url","url":"https://a/b.gguf"}').choice, { kind: 'url', url: 'https://a/b.gguf' });
    const kept = { kind: 'kept', name: 'gemma-4-e2b', title: 'Gemma 4 E2B' };
    assert.deepEqual(parseRemembered(JSON.stringify(kept)).choice, kept);
    assert.deepEqual(parseRemembered('{"kind":"files","name":"a.gguf"}'), { ...builtin, file: 'a.gguf' });
    for (const damaged of [null, '', '{', 'null', '7', '{"kind":"url"}', '{"kind":"files","name":3}', '{"kind":"folder"}', '{"kind":"kept","name":1}']) {
        assert.deepEqual(parseRemembered(damaged), builtin, String(damaged));
    }
});
