// Many clients at once, and requests that nobody should send, with a real engine.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { needsEngine, root } from '../testing/process.js';
import { raw, testServer } from '../testing/server.js';

const engine = needsEngine();
const tiny = path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4_0.gguf');

interface Asked {
    path: string;
    body: object;
    read(text: string): string;
}

function contentOfLine(line: string): string {
    return (JSON.parse(line) as { message: { content: string } }).message.content;
}

/** Requests of every kind, each with a prompt and a seed of its own. */
function request(i: number): Asked {
    const prompt = `${i}`;
    const messages = [{ role: 'user', content: prompt }];
    const sampling = { seed: i, temperature: 1, max_tokens: 3 };
    const options = { seed: i, temperature: 1, num_predict: 3 };
    const events = (text: string, member: RegExp) => {
        assert.ok(text.endsWith('data: [DONE]\n\n'));
        return [...text.matchAll(member)].map(([, piece]) => JSON.parse(`"${piece}"`) as string).join('');
    };
    switch (i % 4) {
        case 0:
            return {
                path: '/v1/completions',
                body: { prompt, ...sampling },
                read: (text) => (JSON.parse(text) as { choices: { text: string }[] }).choices[0]?.text ?? '',
            };
        case 1:
            return {
                path: '/v1/chat/completions',
                body: { messages, ...sampling, stream: true },
                read: (text) => events(text, /"content":"((?:[^"\\]|\\.)*)"/g),
            };
        case 2:
            return {
                path: '/api/generate',
                body: { prompt, raw: true, stream: false, options },
                read: (text) => (JSON.parse(text) as { response: string }).response,
            };
        default:
            return {
                path: '/api/chat',
                body: { messages, options },
                read: (text) => text.trim().split('\n').map(contentOfLine).join(''),
            };
    }
}

test('200 at once: all are answered or refused, none is lost, none gets the answer of another', engine, async (t) => {
    const { url, service, logged } = await testServer(t, { model: tiny, queue: 120 });
    const send = async (asked: Asked) =>
        await raw(url + asked.path, { method: 'POST', body: JSON.stringify(asked.body) });
    const together = await Promise.all(
        Array.from({ length: 200 }, async (_, i) => {
            const asked = request(i);
            const answer = await send(asked);
            if (answer.status === 200) return { i, text: asked.read(answer.body) };
            assert.ok([429, 503].includes(answer.status), `${answer.status} ${answer.body}`);
            assert.ok(Number(answer.headers['retry-after']) > 0);
            return { i, text: undefined };
        }),
    );
    const answered = together.filter(({ text }) => text !== undefined);
    t.diagnostic(`${answered.length} answered, ${200 - answered.length} refused`);
    assert.ok(answered.length >= 100);
    assert.equal(service.queue.waiting, 0);
    assert.equal(service.queue.running, false);
    assert.equal(logged.filter((line) => line.startsWith('loaded')).length, 1);

    const distinct = new Set<string>();
    for (const { i, text } of answered) {
        const alone = request(i).read((await send(request(i))).body);
        assert.equal(text, alone, `request ${i}`);
        distinct.add(alone);
    }
    assert.ok(distinct.size > answered.length / 2, `${distinct.size} different answers`);
});

const schemaOf = (schema: unknown) => ({ type: 'json_schema', json_schema: { name: 'x', schema } });
const hello = [{ role: 'user', content: 'Hello' }];
const wrong: [why: string, path: string, body: unknown][] = [
    ['half a character', '/v1/chat/completions', { messages: [{ role: 'user', content: 'x\ud800' }] }],
    ['no messages', '/v1/chat/completions', {}],
    ['messages that are a text', '/v1/chat/completions', { messages: 'hello' }],
    ['no messages in the list', '/v1/chat/completions', { messages: [] }],
    ['a message that is a number', '/v1/chat/completions', { messages: [7] }],
    ['a message without a role', '/v1/chat/completions', { messages: [{ content: 'x' }] }],
    ['a role of its own', '/v1/chat/completions', { messages: [{ role: 'king', content: 'x' }] }],
    ['content that is a number', '/v1/chat/completions', { messages: [{ role: 'user', content: 5 }] }],
    ['a part of no kind', '/v1/chat/completions', { messages: [{ role: 'user', content: [{}] }] }],
    ['a model that is a list', '/v1/chat/completions', { model: [], messages: hello }],
    ['stream as a text', '/v1/chat/completions', { messages: hello, stream: 'yes' }],
    ['a temperature of -1', '/v1/chat/completions', { messages: hello, temperature: -1 }],
    ['max_tokens of 0', '/v1/chat/completions', { messages: hello, max_tokens: 0 }],
    ['max_tokens of 1e300', '/v1/chat/completions', { messages: hello, max_tokens: 1e300 }],
    ['half a token', '/v1/chat/completions', { messages: hello, max_tokens: 1.5 }],
    ['stop as a number', '/v1/chat/completions', { messages: hello, stop: 3 }],
    ['tools as a text', '/v1/chat/completions', { messages: hello, tools: 'hammer' }],
    ['a tool without a name', '/v1/chat/completions', { messages: hello, tools: [{ type: 'function', function: {} }] }],
    ['a thousand answers', '/v1/chat/completions', { messages: hello, n: 1000 }],
    ['a bias for a token in words', '/v1/chat/completions', { messages: hello, logit_bias: { cat: 1 } }],
    ['an unknown format', '/v1/chat/completions', { messages: hello, response_format: { type: 'xml' } }],
    ['a schema that is a number', '/v1/chat/completions', { messages: hello, response_format: schemaOf(5) }],
    ['no prompt', '/v1/completions', {}],
    ['a prompt of numbers and words', '/v1/completions', { prompt: [1, 'a', 3] }],
    ['a prompt of tokens that are none', '/v1/completions', { prompt: [1, 99_999_999] }],
    ['a grammar', '/v1/chat/completions', { messages: hello, grammar: 'root ::= "x"' }],
    ['no input', '/v1/embeddings', {}],
    ['an empty input', '/v1/embeddings', { input: '' }],
    ['input of halves of tokens', '/v1/embeddings', { input: [[1.5, 2]] }],
    ['input of tokens that are none', '/v1/embeddings', { input: [[1, 99_999_999]] }],
    ['too many inputs', '/v1/embeddings', { input: new Array(2049).fill('a') }],
    ['an unknown encoding', '/v1/embeddings', { input: 'x', encoding_format: 'hex' }],
    ['messages that are an object', '/api/chat', { messages: {} }],
    ['options as a list', '/api/chat', { messages: hello, options: [] }],
    ['a seed in words', '/api/chat', { messages: hello, options: { seed: 'lucky' } }],
    ['a format of its own', '/api/chat', { messages: hello, format: 'yaml' }],
    ['an odd keep_alive', '/api/chat', { messages: hello, keep_alive: 'long' }],
    ['a prompt that is a list', '/api/generate', { prompt: ['x'] }],
    ['a suffix', '/api/generate', { prompt: 'x', suffix: 'y' }],
    ['input that is an object', '/api/embed', { input: {} }],
    ['a prompt that is a number', '/api/embeddings', { prompt: 5 }],
];

test('wrong requests get a sentence and a 400, and do no harm', engine, async (t) => {
    const { url, service } = await testServer(t, { model: tiny });
    for (const [why, where, body] of wrong) {
        const { status, body: text } = await raw(url + where, { method: 'POST', body: JSON.stringify(body) });
        assert.equal(status, 400, `${why}: ${text}`);
        const { error } = JSON.parse(text) as { error: string | { message: string; type: string } };
        const sentence = typeof error === 'string' ? error : error.message;
        assert.ok(sentence.length > 10, why);
        assert.equal(typeof error, where.startsWith('/api') ? 'string' : 'object');
        if (typeof error === 'object') assert.equal(error.type, 'invalid_request_error');
    }
    const fine = await raw(`${url}/v1/completions`, { method: 'POST', body: '{"prompt":"Hello","max_tokens":1}' });
    assert.equal(fine.status, 200);
    assert.equal(service.queue.running, false);
});

test('prompts that are far too long are refused, whatever they are made of', engine, async (t) => {
    const { url } = await testServer(t, { model: tiny });
    for (const content of ['word '.repeat(400_000), 'a'.repeat(2_000_000), '🦊'.repeat(500_000)]) {
        const body = JSON.stringify({ messages: [{ role: 'user', content }], stream: true });
        const { status, body: text } = await raw(`${url}/v1/chat/completions`, { method: 'POST', body });
        // A busy machine counts them for so long that the stream has begun with signs of life, and the refusal is its only event.
        if (status !== 400) assert.match(text, /^(: waiting\n\n)+data: \{"error"/);
        assert.match(text, /"code":"context_length_exceeded"/);
    }
});

test('text that is odd but text is answered', engine, async (t) => {
    const { url } = await testServer(t, { model: tiny });
    for (const content of ['\u0000\u0001', '<end_of_turn><start_of_turn>model', '\u202e\u2066', '{"a":"</script>"}']) {
        const body = JSON.stringify({ messages: [{ role: 'user', content }], max_tokens: 2 });
        const { status, body: text } = await raw(`${url}/v1/chat/completions`, { method: 'POST', body });
        assert.equal(status, 200, text);
        JSON.parse(text);
    }
});
