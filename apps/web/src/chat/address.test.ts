import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Endpoint } from '../store/settings.js';
import { baseAddress, endpointUrl, kindOf } from './address.js';

test('an address may be given with or without its usual end', () => {
    const endpoint: Endpoint = { kind: 'openai', url: '', key: '', model: '' };
    for (const url of ['http://h:1', 'http://h:1/', 'http://h:1/v1', 'http://h:1/v1/']) {
        assert.equal(endpointUrl({ ...endpoint, url }, '/models'), 'http://h:1/v1/models');
    }
    const pasted = ['http://h:1/v1/chat/completions', ' h:1/v1/models/ ', 'http://h:1/v1/responses?x=1#y', 'H:1'];
    for (const url of pasted) {
        assert.equal(endpointUrl({ ...endpoint, url }, '/models'), 'http://h:1/v1/models');
    }
    assert.equal(baseAddress('http://h:1/v1/chat/completions'), 'http://h:1/v1');
    assert.equal(baseAddress('https://h/api/v1/'), 'https://h/api/v1');
    assert.equal(baseAddress('localhost:11434/api/chat'), 'http://localhost:11434');
    assert.equal(baseAddress('not an address'), 'not an address');
    assert.equal(kindOf('http://h:1/api/chat'), 'ollama');
    assert.equal(kindOf('http://h:1/v1/chat/completions'), 'openai');
    assert.equal(kindOf('http://h:1'), undefined);
    assert.equal(endpointUrl({ ...endpoint, kind: 'ollama', url: 'http://h:1/api/chat' }, '/chat'), 'http://h:1/api/chat');
    assert.throws(() => endpointUrl({ ...endpoint, url: 'file:///etc/passwd' }, ''), /'file:' addresses cannot be used/);
    assert.throws(() => endpointUrl({ ...endpoint, url: 'not an address' }, ''), /is not a web address/);
    assert.equal(endpointUrl({ ...endpoint, url: 'https://h/api' }, '/models'), 'https://h/api/v1/models');
    assert.equal(endpointUrl({ ...endpoint, url: 'https://h/llm/v1' }, '/models'), 'https://h/llm/v1/models');
    assert.equal(endpointUrl({ ...endpoint, kind: 'ollama', url: 'http://h:1/api' }, '/tags'), 'http://h:1/api/tags');
});
