// The small parts: addresses, ranges, paths and Ollama's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostCheck, isLoopback } from './addresses.js';
import { asHttpError } from './errors.js';
import { withDefaults } from './model-defaults.js';
import { readFormat, readKeepAlive, readMessages, readOptions, readThink } from './ollama-request.js';
import { pathParts } from './static.js';
import { LapidaryError } from 'lapidary';
import { parseRange } from 'lapidary/net';

test('loopback is what never leaves this computer', () => {
    const own = ['127.0.0.1', '127.8.9.1', 'localhost', 'LOCALHOST', 'app.localhost', '[::1]', '::ffff:127.0.0.1'];
    for (const host of own) assert.ok(isLoopback(host), host);
    const others = ['0.0.0.0', '192.168.1.2', '::', 'localhost.example.org', '127.0.0.1.example.org', '1270.0.0.1', ''];
    for (const host of others) assert.ok(!isLoopback(host), host);
});

test('on loopback only loopback names are believed', () => {
    const allowed = hostCheck('127.0.0.1', ['Gem.Test']);
    const known = ['127.0.0.1:8484', 'localhost', 'localhost:9', 'localhost.:9', '[::1]:8484', 'gem.test:80'];
    for (const host of known) assert.ok(allowed(host), host);
    const names = [undefined, '', 'evil.example', 'localhost@evil.example', 'a b', '127.0.0.1.nip.io:8484'];
    for (const host of [...names, '192.168.1.2:8484', '0.0.0.0:8484']) assert.ok(!allowed(host), String(host));
});

test('elsewhere also IP addresses are, but no foreign names', () => {
    const allowed = hostCheck('0.0.0.0');
    for (const host of ['192.168.1.2:8484', '[fe80::1]:8484', 'localhost:8484']) assert.ok(allowed(host), host);
    assert.ok(!allowed('evil.example:8484'));
});

test('a range is a range, or everything', () => {
    assert.deepEqual(parseRange('bytes=0-3', 10), { start: 0, end: 4 });
    assert.deepEqual(parseRange('bytes=5-', 10), { start: 5, end: 10 });
    assert.deepEqual(parseRange('bytes=-3', 10), { start: 7, end: 10 });
    assert.deepEqual(parseRange('bytes=-30', 10), { start: 0, end: 10 });
    assert.deepEqual(parseRange('bytes=8-99', 10), { start: 8, end: 10 });
    const beyond = ['bytes=10-', 'bytes=10-12', 'bytes=-0'];
    for (const header of beyond) assert.equal(parseRange(header, 10), 'unsatisfiable');
    assert.equal(parseRange('bytes=-1', 0), 'unsatisfiable');
    for (const header of [undefined, '', 'bytes=', 'bytes=-', 'bytes=5-2', 'bytes=0-1,3-4', 'lines=0-1', 'bytes=a-b']) {
        assert.equal(parseRange(header, 10), undefined);
    }
});

test('a path cannot climb', () => {
    assert.deepEqual(pathParts('/assets/a%20b.js'), ['assets', 'a b.js']);
    const climbing = ['/../x', '/a/%2e%2e/x', '/..%2f..%2fx', '/a%5c..%5cx', '/.git/config', '/a%00b', '/c:/x'];
    for (const path of [...climbing, '/%E0%A4%A']) assert.throws(() => pathParts(path), path);
});

test('keep_alive is seconds, a duration, or for ever', () => {
    assert.equal(readKeepAlive(undefined), undefined);
    assert.equal(readKeepAlive(0), 0);
    assert.equal(readKeepAlive('0'), 0);
    assert.equal(readKeepAlive('5m'), 300);
    assert.equal(readKeepAlive('1h30m'), 5400);
    assert.equal(readKeepAlive(-1), undefined);
    assert.equal(readKeepAlive('-1m'), undefined);
    for (const wrong of ['soon', '5 minutes', true, {}]) assert.throws(() => readKeepAlive(wrong), /keep_alive/);
});

test("Ollama's options become the library's, and what has no effect is told", () => {
    const kept = { temperature: 0.5, top_k: 3, num_predict: 7, stop: 'x' };
    const { sampling, context, ignored } = readOptions({
        options: { ...kept, num_ctx: 99, mirostat: 1, num_gpu: 4, seed: -1 },
    });
    assert.deepEqual(sampling, { temperature: 0.5, top_k: 3, max_tokens: 7, stop: ['x'], seed: -1 });
    assert.equal(context, 99);
    assert.deepEqual(ignored, ['mirostat']);
    assert.deepEqual(readOptions({ options: { num_predict: -1 } }).sampling, {});
    assert.throws(() => readOptions({ options: { temperature: 'hot' } }), /option "temperature" must be a number/);
    assert.throws(() => readOptions({ options: [] }), /must be an object/);
});

test("Ollama's tool results find the calls they answer", () => {
    const call = (name: string) => ({ function: { name, arguments: { a: 1 } } });
    const messages = readMessages([
        { role: 'assistant', content: '', tool_calls: [call('one'), call('two')] },
        { role: 'tool', content: '2', tool_name: 'two' },
        { role: 'tool', content: '1' },
    ]);
    assert.equal(messages[0]?.tool_calls?.[1]?.function.arguments, '{"a":1}');
    assert.equal(messages[1]?.tool_call_id, messages[0]?.tool_calls?.[1]?.id);
    assert.equal(messages[2]?.tool_call_id, messages[0]?.tool_calls?.[0]?.id);
});

test("Ollama's pictures stand before the text of their message", () => {
    const [message] = readMessages([{ role: 'user', content: 'What is it?', images: ['aGk='] }]);
    const picture = { type: 'file', file: { file_data: 'aGk=', filename: 'images[0]' } };
    assert.deepEqual(message?.content, [picture, { type: 'text', text: 'What is it?' }]);
});

test('what Ollama clients may not send is refused with a sentence', () => {
    assert.throws(() => readMessages([{ role: 'user', content: 'What is it?', images: 'aGk=' }]), /'images' must be a list/);
    assert.throws(() => readMessages([{ role: 'user', content: 'What is it?', images: [3] }]), /images\[0\] must be a file in base64/);
    assert.throws(() => readMessages('hello'), /must be a list/);
    assert.throws(() => readMessages([{ content: 'hi' }]), /messages\[0\]\.role/);
    assert.throws(() => readMessages([{ role: 'user', content: 3 }]), /messages\[0\]\.content/);
    assert.throws(() => readMessages([{ role: 'assistant', tool_calls: [{}] }]), /tool_calls\[0\]/);
    assert.throws(() => readFormat('yaml'), /invalid format/);
    assert.throws(() => readThink('very hard'), /invalid think value/);
});

test('what a model brings along fills what a request leaves open', () => {
    const model = { params: { temperature: 0.25, stop: ['END'], num_predict: 9, top_k: 'many' }, system: 'Be kind.' };
    const filled = withDefaults({ messages: [{ role: 'user', content: 'hi' }], max_tokens: 0, sampling: { temperature: 1 } }, model);
    assert.deepEqual(filled.sampling, { temperature: 1 });
    assert.deepEqual(filled.stop, ['END']);
    assert.equal(filled.max_tokens, 9);
    assert.deepEqual(filled.messages?.map(({ role }) => role), ['system', 'user']);
    const messages = [{ role: 'system', content: 'Be rude.' }];
    const own = withDefaults({ messages, stop: ['x'], max_tokens: 3 }, model);
    assert.deepEqual(own.messages, messages);
    assert.deepEqual(own.stop, ['x']);
    assert.equal(own.max_tokens, 3);
});

test("the library's errors name the member that is to blame", () => {
    const error = asHttpError(new LapidaryError('invalid_argument', "'messages[0].role' must be one of …"));
    assert.equal(error.status, 400);
    assert.equal(error.details.param, 'messages[0].role');
    assert.equal(asHttpError(new LapidaryError('not_found', 'no')).status, 404);
    assert.equal(asHttpError(new Error('oh')).status, 500);
});
