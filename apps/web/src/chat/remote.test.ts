import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { Endpoint } from '../store/settings.js';
import { buildRequest, type ChatDelta } from './backend.js';
import { readEvents, readLines } from './lines.js';
import { listRemoteModels, remoteBackend } from './remote.js';

interface Seen {
    path: string;
    key: string | undefined;
    body: Record<string, unknown>;
}

/** A server that answers every request with `chunks`. */
async function serving(t: TestContext, kind: Endpoint['kind'], chunks: string[], status = 200) {
    const seen: Seen[] = [];
    const server = createServer((request, response) => {
        let text = '';
        request.on('data', (piece: Buffer) => (text += piece.toString()));
        request.on('end', () => {
            const body = JSON.parse(text || '{}') as Record<string, unknown>;
            seen.push({ path: request.url ?? '', key: request.headers.authorization, body });
            response.writeHead(status);
            for (const chunk of chunks) response.write(chunk);
            response.end();
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const endpoint: Endpoint = { kind, url, key: 'secret', model: 'm' };
    return { endpoint, seen };
}

const signal = () => new AbortController().signal;
const request = buildRequest([{ role: 'user', content: 'hi' }], {
    system: 'Be kind.',
    thinking: true,
    tools: '',
    temperature: 0,
});

test('an OpenAI-compatible server streams its answer', async (t) => {
    const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
    const delta = (fields: object) => event({ choices: [{ delta: fields }] });
    const whole = [
        ': a comment\n\n',
        delta({ role: 'assistant', content: '' }),
        delta({ reasoning_content: 'hm' }),
        delta({ content: 'Hé' }),
        delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: '{"x"' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
        event({ choices: [{ delta: {}, finish_reason: 'tool_calls' }] }),
        event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }),
        'data: [DONE]\n\n',
    ].join('');
    // Cut where it hurts: in the middle of lines and letters.
    const { endpoint, seen } = await serving(t, 'openai', whole.match(/[^]{1,7}/g) ?? []);
    const deltas: ChatDelta[] = [];
    const outcome = await remoteBackend(endpoint).answer(request, (piece) => deltas.push(piece), signal());
    assert.deepEqual(deltas, [
        { type: 'reasoning', text: 'hm' },
        { type: 'content', text: 'Hé' },
        { type: 'tool_call', call: { id: 'a', name: 'look', arguments: '{"x":1}' } },
    ]);
    assert.equal(outcome.finish, 'tool_calls');
    assert.equal(outcome.stats?.completionTokens, 4);
    assert.equal(seen[0]?.path, '/v1/chat/completions');
    assert.equal(seen[0]?.key, 'Bearer secret');
    assert.deepEqual(seen[0]?.body['messages'], [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hi' },
    ]);
    assert.equal(seen[0]?.body['temperature'], 0);
    assert.equal('top_p' in (seen[0]?.body ?? {}), false);
});

test('Ollama streams its answer', async (t) => {
    const { endpoint, seen } = await serving(t, 'ollama', [
        '{"message":{"role":"assistant","thinking":"hm"}}\n',
        '{"message":{"content":"Hi"}}\n{"message":{"tool_calls":[{"function":{"name":"look","arguments":{"x":1}}}]}}\n',
        '{"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":2,"eval_duration":1000000}',
    ]);
    const deltas: ChatDelta[] = [];
    const outcome = await remoteBackend(endpoint).answer(request, (piece) => deltas.push(piece), signal());
    assert.deepEqual(
        deltas.map(({ type }) => type),
        ['reasoning', 'content', 'tool_call'],
    );
    assert.equal(outcome.stats?.promptTokens, 5);
    assert.equal(seen[0]?.path, '/api/chat');
    assert.equal(seen[0]?.body['think'], true);
});

test('a server is given what there is of an answer that is to go on', async (t) => {
    const said = { role: 'assistant', content: 'Once upon' };
    for (const kind of ['openai', 'ollama'] as const) {
        const { endpoint, seen } = await serving(t, kind, [kind === 'openai' ? 'data: [DONE]\n\n' : '{"done":true}\n']);
        const ask = async (content: string) =>
            await remoteBackend(endpoint).answer({ ...request, begun: { content } }, () => undefined, signal());
        await ask('Once upon');
        assert.deepEqual((seen[0]?.body['messages'] as unknown[]).at(-1), said);
        await ask('');
        assert.equal((seen[1]?.body['messages'] as unknown[]).length, 2, 'nothing is not an answer');
    }
});

test('what a server refuses is told in its own words', async (t) => {
    const { endpoint } = await serving(t, 'openai', ['{"error":{"message":"no such model"}}'], 404);
    const failing = remoteBackend(endpoint).answer(request, () => undefined, signal());
    await assert.rejects(failing, { message: 'the server answered 404: no such model' });
    const gone: Endpoint = { ...endpoint, url: 'http://127.0.0.1:9' };
    await assert.rejects(remoteBackend(gone).answer(request, () => undefined, signal()), /cannot be reached/);
    const nonsense: Endpoint = { ...endpoint, url: 'javascript:alert(1)' };
    await assert.rejects(remoteBackend(nonsense).answer(request, () => undefined, signal()), /cannot be used/);
});

test('the models of a server can be listed', async (t) => {
    const openai = await serving(t, 'openai', ['{"data":[{"id":"a"},{"id":"b"}]}']);
    assert.deepEqual(await listRemoteModels(openai.endpoint, signal()), ['a', 'b']);
    const ollama = await serving(t, 'ollama', ['{"models":[{"name":"gemma4:e2b"}]}']);
    assert.deepEqual(await listRemoteModels(ollama.endpoint, signal()), ['gemma4:e2b']);
    assert.equal(ollama.seen[0]?.path, '/api/tags');
});

test('lines and events survive any cut', async () => {
    const bytes = new TextEncoder().encode('data: é1\r\ndata: 2\n\ndata:3');
    for (let size = 1; size < 6; size++) {
        const stream = () =>
            new ReadableStream<Uint8Array>({
                start(controller) {
                    for (let i = 0; i < bytes.length; i += size) controller.enqueue(bytes.slice(i, i + size));
                    controller.close();
                },
            });
        const lines: string[] = [];
        for await (const line of readLines(stream())) lines.push(line);
        assert.deepEqual(lines, ['data: é1', 'data: 2', '', 'data:3']);
        const events: string[] = [];
        for await (const data of readEvents(stream())) events.push(data);
        assert.deepEqual(events, ['é1\n2', '3']);
    }
});
