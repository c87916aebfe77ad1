// The life of requests, over real HTTP, with an engine that only repeats what it is told.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import type { ByteSource } from 'lapidary';
import { EchoEngine, testServer } from '../testing/server.js';
import type { Context } from './http.js';
import { streamed, type OnReading } from './streams.js';

function withEcho(pauseMs: number) {
    const engine = new EchoEngine('echo', pauseMs);
    return { engine, loadModel: engine.load };
}

const message = (content: string, more: object = {}) =>
    JSON.stringify({ messages: [{ role: 'user', content }], ...more });

async function ask(url: string, content: string, more: object = {}, init: RequestInit = {}): Promise<Response> {
    return await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: message(content, more), ...init });
}

async function waitUntil(condition: () => boolean): Promise<void> {
    for (let i = 0; i < 6000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.ok(condition());
}

test('300 at once: one at a time, each gets its own answer, and those without room are told so', async (t) => {
    const { engine, loadModel } = withEcho(0);
    const { url, service } = await testServer(t, { loadModel, queue: 200 });
    const answers = await Promise.all(
        Array.from({ length: 300 }, async (_, i) => {
            const stream = i % 2 === 0;
            const response = await ask(url, `number ${i} of many`, { stream });
            const text = await response.text();
            if (response.status !== 200) {
                assert.ok([429, 503].includes(response.status), text);
                assert.ok(Number(response.headers.get('retry-after')) > 0);
                return 'refused';
            }
            const heard = stream
                ? [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word).join('')
                : (JSON.parse(text) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;
            assert.equal(heard, `number ${i} of many`);
            if (stream) assert.ok(text.endsWith('data: [DONE]\n\n'));
            return 'answered';
        }),
    );
    const answered = answers.filter((answer) => answer === 'answered').length;
    assert.ok(answered >= 180 && answered <= 300, `${answered}`);
    assert.equal(engine.mostRunning, 1);
    assert.equal(service.queue.waiting, 0);
    assert.equal(service.queue.running, false);
});

test('programs that use one library take turns, told apart by their keys, titles, pages or projects', async (t) => {
    for (const header of ['authorization', 'x-title', 'http-referer', 'openai-project']) {
        const { loadModel } = withEcho(5);
        const { url, service } = await testServer(t, { loadModel });
        const order: string[] = [];
        const waits = async (count: number) => await waitUntil(() => service.queue.waiting === count);
        const send = async (program: string) => {
            await (await ask(url, 'one two three ', {}, { headers: { [header]: `Bearer ${program}` } })).text();
            order.push(program);
        };
        const leaving = new AbortController();
        const first = ask(url, 'word '.repeat(10_000), {}, { signal: leaving.signal });
        await waitUntil(() => service.queue.running);
        const all: Promise<void>[] = [];
        for (const program of ['a', 'a', 'a', 'b', 'b']) {
            all.push(send(program));
            await waits(all.length);
        }
        leaving.abort();
        await assert.rejects(first);
        await Promise.all(all);
        assert.deepEqual(order, ['a', 'b', 'a', 'b', 'a'], header);
    }
});

test('a client that leaves in the middle of its answer frees the engine for the next', async (t) => {
    const { engine, loadModel } = withEcho(20);
    const { url, service } = await testServer(t, { loadModel });
    const leaving = new AbortController();
    const response = await ask(url, 'a very long story '.repeat(500), { stream: true }, { signal: leaving.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    const next = ask(url, 'and now something else');
    leaving.abort();
    assert.equal((await next).status, 200);
    await waitUntil(() => engine.stopped === 1 && !service.queue.running);
});

test('clients that leave while they wait, or before a whole answer, leave nothing behind', async (t) => {
    const { engine, loadModel } = withEcho(20);
    const { url, service } = await testServer(t, { loadModel });
    const leaving = new AbortController();
    const { signal } = leaving;
    const asked = ['slow '.repeat(500), 'never', 'ever'].map((text) => ask(url, text, {}, { signal }));
    await waitUntil(() => service.queue.waiting === 2);
    leaving.abort();
    for (const one of asked) await assert.rejects(one);
    await waitUntil(() => service.queue.waiting === 0 && !service.queue.running);
    assert.equal(engine.running, 0);
});

test('a client that does not read holds nobody up', async (t) => {
    const { loadModel } = withEcho(0);
    const { url, port } = await testServer(t, { loadModel });
    const request = http.request({ port, path: '/v1/chat/completions', method: 'POST', agent: false });
    request.on('error', () => undefined);
    request.on('response', (response) => response.pause());
    request.end(message(`${'x'.repeat(3000)} `.repeat(700), { stream: true }));
    await new Promise((resolve) => request.once('response', resolve));
    assert.equal((await ask(url, 'me too')).status, 200);
    request.destroy();
});

test('who takes nothing of what there is for so long is let go, and who waits for an answer is not', async (t) => {
    const { engine, loadModel } = withEcho(20);
    const timeouts = { headersMs: 15_000, requestMs: 60_000, everyMs: 5000, unreadMs: 200 };
    const lines: string[] = [];
    const accessLog = { write: (text: string) => lines.push(text) };
    const { port, url, service } = await testServer(t, { loadModel, timeouts, accessLog });
    const request = http.request({ port, path: '/models/storyteller-q4_k_m.gguf', agent: false });
    request.on('error', () => undefined);
    request.on('response', (response) => response.pause());
    request.end();
    // This one waits longer than that for its first word, in the queue and then for a slow engine.
    const slow = ask(url, 'word '.repeat(20));
    await waitUntil(() => service.queue.running);
    const waiting = ask(url, 'me too');
    await waitUntil(() => lines.some((line) => / left GET \/models\//.test(line)));
    assert.equal((await slow).status, 200);
    assert.equal((await waiting).status, 200);
    assert.equal(engine.stopped, 0);
    request.destroy();
});

test('an answer of which too much lies unread is cut off, and nothing goes on being written', async () => {
    let destroyed = 0;
    let written = 0;
    const context = { env: { outgoing: { destroy: () => destroyed++ } } } as unknown as Context;
    const shape = { contentType: 'text/plain', tellError: () => 'error' };
    const work = async (send: (text: string) => void) => {
        for (; written < 1000; written++) send('x'.repeat(100));
    };
    const response = await streamed(context, shape, work, () => ({}), { firstMs: 1e6, everyMs: 1e6, mostBytes: 1000 });
    assert.equal(response.status, 200);
    assert.equal(destroyed, 1);
    assert.equal(written, 9);
});

test('who waits long gets headers and signs of life, and an error then comes inside the answer', async () => {
    const context = { env: { outgoing: { destroy: () => undefined } } } as unknown as Context;
    const shape = { contentType: 'text/plain', tellError: ({ message }: Error) => `error: ${message}`, alive: (doing: string) => doing };
    const silence = { firstMs: 1, everyMs: 1, mostBytes: 1000 };
    let fail: ((error: Error) => void) | undefined;
    let read: OnReading | undefined;
    const work = (_: unknown, onReading: OnReading) => {
        read = onReading;
        return new Promise<void>((_, reject) => (fail = reject));
    };
    const response = await streamed(context, shape, work, () => ({}), silence);
    assert.equal(response.status, 200);
    const reader = response.body?.getReader();
    const next = async () => new TextDecoder().decode((await reader?.read())?.value);
    const after = async (before: string) => {
        for (;;) {
            const told = await next();
            if (told !== before) return told;
        }
    };
    assert.equal(await next(), 'waiting');
    read?.({ done: 409, total: 1000 });
    assert.equal(await after('waiting'), 'reading 40 %');
    fail?.(new Error('it is gone'));
    assert.equal(await after('reading 40 %'), 'error: it is gone');
    assert.equal((await reader?.read())?.done, true);
});

test('a stopping server finishes what it has begun and sends the others away', async (t) => {
    const { loadModel } = withEcho(10);
    const { url, stop, service } = await testServer(t, { loadModel });
    const running = ask(url, 'one two three four five');
    await waitUntil(() => service.queue.running);
    const waiting = ask(url, 'six');
    await waitUntil(() => service.queue.waiting === 1);
    const stopped = stop(300_000);
    assert.equal((await waiting).status, 503);
    const answer = (await (await running).json()) as { choices: { message: { content: string } }[] };
    assert.equal(answer.choices[0]?.message.content, 'one two three four five');
    await stopped;
    await assert.rejects(ask(url, 'too late'));
});

test('what does not finish in time is stopped, and told so', async (t) => {
    const { engine, loadModel } = withEcho(10);
    const { url, stop } = await testServer(t, { loadModel });
    const response = await ask(url, 'word '.repeat(100_000), { stream: true });
    const text = response.text();
    await stop(50);
    const said = await text;
    assert.match(said, /"message":"the server is stopping"/);
    assert.ok(said.split('"word "').length < 50_000, 'by far not all of it was said');
    assert.equal(engine.stopped, 1);
});

test('Ollama streams lines, and the last one is done', async (t) => {
    const { loadModel } = withEcho(0);
    const { url } = await testServer(t, { loadModel });
    const options = { num_ctx: 5000, mirostat: 2 };
    const response = await fetch(`${url}/api/chat`, { method: 'POST', body: message('one two', { options }) });
    assert.equal(response.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(response.headers.get('x-lapidary-ignored'), 'mirostat, num_ctx');
    const lines = (await response.text()).trim().split('\n').map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(lines.map(({ done }) => done), [false, false, true]);
    assert.deepEqual(lines[0]?.['message'], { role: 'assistant', content: 'one ' });
    assert.equal(lines[2]?.['done_reason'], 'stop');
    const body = JSON.stringify({ prompt: 'three four', stream: false });
    const whole = await fetch(`${url}/api/generate`, { method: 'POST', body });
    assert.equal(((await whole.json()) as { response: string }).response, 'three four');
});

test('several answers, addresses as people write them, and what is not there', async (t) => {
    const { loadModel } = withEcho(0);
    const { url } = await testServer(t, { loadModel });
    const post = async (path: string, body: string) => await fetch(url + path, { method: 'POST', body });
    for (const path of ['/chat/completions', '/v1/chat/completions/', '/chat/completions/']) {
        const response = await post(path, message('one two', { n: 2, mirostat: 1 }));
        assert.equal(response.headers.get('x-lapidary-ignored'), 'mirostat');
        const { choices } = (await response.json()) as { choices: { index: number; message: { content: string } }[] };
        assert.deepEqual(choices.map(({ index, message: { content } }) => [index, content]), [[0, 'one two'], [1, 'one two']]);
    }
    const stream = await (await post('/v1/chat/completions', message('one two', { n: 2, stream: true }))).text();
    const chunks = [...stream.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json ?? '') as { id: string; choices: { index: number }[] });
    assert.deepEqual(chunks.map(({ choices }) => choices[0]?.index), [0, 0, 0, 0, 1, 1, 1, 1]);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
    assert.equal((await fetch(`${url}/models`)).status, 200);
    const missing = await post('/chat', '{}');
    assert.equal(missing.status, 404);
    assert.match(await missing.text(), /there is no POST \/chat: programs find OpenAI's interface under \/v1/);
    const { port } = await testServer(t, { loadModel, apiKey: 'opal' });
    const keyed = await fetch(`http://127.0.0.1:${port}/chat/completions`, { method: 'POST', body: message('hi') });
    assert.equal(keyed.status, 401, 'the key is needed under every name');
});

test('what waits for its turn is asked as it was sent', async (t) => {
    const { loadModel } = withEcho(5);
    const { url, service } = await testServer(t, { loadModel });
    const first = ask(url, 'a b c d e f g h');
    await waitUntil(() => service.queue.running);
    const asked = Array.from({ length: 5 }, (_, i) => ask(url, `number ${i} `));
    const wrong = await ask(url, 'x', { grammar: 'root ::= "x"' });
    assert.equal(wrong.status, 400, 'told at once, not on its turn');
    assert.ok(service.queue.running);
    for (const [i, one] of asked.entries()) {
        const { choices } = (await (await one).json()) as { choices: { message: { content: string } }[] };
        assert.equal(choices[0]?.message.content, `number ${i} `);
    }
    assert.equal((await first).status, 200);
});

test('Ollama clients load and unload a model without asking anything', async (t) => {
    const { engine, loadModel } = withEcho(0);
    const { url, service } = await testServer(t, { loadModel });
    const post = async (body: object) => {
        const response = await fetch(`${url}/api/generate`, { method: 'POST', body: JSON.stringify(body) });
        return ((await response.json()) as { done_reason: string }).done_reason;
    };
    assert.equal(await post({ model: 'builtin' }), 'load');
    assert.equal(service.loaded.list().length, 1);
    assert.equal(await post({ model: 'builtin', keep_alive: 0 }), 'unload');
    assert.equal(service.loaded.list().length, 0);
    assert.equal(engine.disposed, true);
});

test('a model that cannot be loaded is an error for each who asks, and the server goes on', async (t) => {
    let attempts = 0;
    const { url } = await testServer(t, {
        loadModel: async (sources) => {
            attempts++;
            for (const source of sources as ByteSource[]) await source.close();
            throw new Error('no memory left');
        },
    });
    for (let i = 0; i < 2; i++) {
        const response = await ask(url, 'hello');
        assert.equal(response.status, 500);
        assert.match(await response.text(), /no memory left/);
    }
    assert.equal(attempts, 2);
});

test('an access log line tells what was asked, how it ended and how long it took', async (t) => {
    const lines: string[] = [];
    const { url } = await testServer(t, { accessLog: { write: (text) => lines.push(text) } });
    await (await fetch(`${url}/api/version?secret=1`)).text();
    await waitUntil(() => lines.length === 1);
    assert.match(lines[0] ?? '', /^\d\d:\d\d:\d\d 200 GET \/api\/version \d+\.\d{3} s 127\.0\.0\.1\n$/);
});
