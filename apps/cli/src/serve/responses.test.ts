// What the server remembers of responses, and for how long.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import type { JsonObject } from 'lapidary';
import { ScriptedEngine } from '../testing/scripted-engine.js';
import { EchoEngine, raw, testServer } from '../testing/server.js';
import { ResponseStore } from './response-store.js';

async function scripted(t: Parameters<typeof testServer>[0]) {
    const engine = new ScriptedEngine();
    const { url } = await testServer(t, { loadModel: engine.load });
    const ask = async (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
        const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
        const response = await fetch(`${url}/v1/responses${path}`, init);
        return { status: response.status, told: (await response.json()) as JsonObject };
    };
    return { engine, ask, url };
}

test('a response is gone on with, read and deleted', async (t) => {
    const { engine, ask } = await scripted(t);
    const first = (await ask('', { input: 'thoughts', instructions: 'Be kind.', reasoning: { effort: 'low' } })).told;
    engine.asked.length = 0;
    const second = (await ask('', { input: 'words', previous_response_id: first['id'] })).told;
    const [{ messages } = {}] = engine.asked;
    // The instructions were those of the first request alone.
    assert.deepEqual(messages, [
        { role: 'user', content: 'thoughts' },
        { role: 'assistant', content: 'Hello!', reasoning_content: 'They greet.' },
        { role: 'user', content: 'words' },
    ]);
    assert.equal(second['previous_response_id'], first['id']);
    assert.deepEqual((await ask(`/${String(first['id'])}`)).told, first);
    const { data } = (await ask(`/${String(second['id'])}/input_items?order=asc`)).told as { data: JsonObject[] };
    assert.deepEqual(data.map(({ type }) => type), ['message', 'reasoning', 'message', 'message']);
    assert.deepEqual((await ask(`/${String(first['id'])}`, undefined, 'DELETE')).told['deleted'], true);
    assert.equal((await ask(`/${String(first['id'])}`)).status, 404);
    assert.equal((await ask('', { input: 'x', previous_response_id: first['id'] })).status, 404);
    // What was said is the later one's too.
    assert.equal((await ask('', { input: 'x', previous_response_id: second['id'] })).status, 200);
});

test('items are named instead of sent again, unless they were not to be kept', async (t) => {
    const { engine, ask } = await scripted(t);
    const calling = (await ask('', { input: 'call' })).told as { output: JsonObject[] };
    const [{ id, call_id } = {} as JsonObject] = calling.output;
    const input = [{ role: 'user', content: 'call' }, { type: 'item_reference', id }, { type: 'function_call_output', call_id, output: 'words' }];
    engine.asked.length = 0;
    assert.equal((await ask('', { input })).status, 200);
    const messages = engine.asked[0]?.['messages'] as JsonObject[];
    assert.deepEqual(messages.map(({ role }) => role), ['user', 'assistant', 'tool']);
    assert.equal(messages[2]?.['tool_call_id'], call_id);

    const kept = (await ask('', { input: 'words', store: false })).told as { id: string; output: JsonObject[] };
    assert.equal((await ask(`/${kept.id}`)).status, 404);
    assert.equal((await ask('', { input: [{ type: 'item_reference', id: kept.output[0]?.['id'] }] })).status, 404);
});

test('the oldest are forgotten when there are too many, or they are too large', () => {
    const store = new ResponseStore(2, 10_000);
    const add = (id: string, text: string) =>
        store.add({ response: { id, output: [{ id: `msg_${id}`, type: 'message', text }] }, items: [{ type: 'message', text }] }, 1);
    for (const id of ['a', 'b', 'c']) add(id, 'short');
    assert.equal(store.get('a'), undefined);
    assert.equal(store.item('msg_a'), undefined);
    assert.ok(store.get('b') && store.item('msg_c'));
    add('d', 'x'.repeat(4000));
    assert.ok(!store.get('b') && !store.get('c') && !store.get('d'));
    assert.equal(store.item('msg_d'), undefined);
});

test('an answer under way is cancelled by its name', async (t) => {
    const engine = new EchoEngine('slow', 20);
    const { url } = await testServer(t, { loadModel: engine.load });
    const response = await fetch(`${url}/v1/responses`, { method: 'POST', body: JSON.stringify({ input: 'word '.repeat(500), stream: true }) });
    const reader = response.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const [, id = ''] = /"id":"(resp_\w+)"/.exec(first) ?? [];
    const { status, body } = await raw(`${url}/v1/responses/${id}/cancel`, { method: 'POST' });
    assert.deepEqual([status, (JSON.parse(body) as JsonObject)['status']], [200, 'cancelled']);
    let rest = '';
    for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) rest += new TextDecoder().decode(piece.value);
    assert.match(rest, /event: response\.failed/);
    assert.equal(engine.stopped, 1);
});

test("OpenAI's own client streams, calls a tool and goes on", async (t) => {
    const { url } = await scripted(t);
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const tools: OpenAI.Responses.Tool[] = [{ type: 'function', name: 'weather', parameters, strict: false }];
    const stream = client.responses.stream({ model: 'builtin', input: 'writing', tools });
    const pieces: string[] = [];
    stream.on('response.function_call_arguments.delta', ({ delta }) => pieces.push(delta));
    const first = await stream.finalResponse();
    assert.deepEqual(pieces, ['{', '"city":', '"Os', 'lo"}']);
    const [call] = first.output;
    assert.ok(call?.type === 'function_call' && call.arguments === '{"city":"Oslo"}');
    const input: OpenAI.Responses.ResponseInput = [{ type: 'function_call_output', call_id: call.call_id, output: 'words' }];
    const second = await client.responses.create({ model: 'builtin', previous_response_id: first.id, input, tools });
    assert.equal(second.output_text, 'Once upon a time 🦊.');
    await assert.rejects(client.responses.create({ model: 'builtin', input: 'refused' }), { status: 400, code: 'context_length_exceeded' });
    let last: OpenAI.Responses.ResponseStreamEvent | undefined;
    for await (const event of await client.responses.create({ model: 'builtin', input: 'broken', stream: true })) last = event;
    assert.ok(last?.type === 'response.failed' && last.response.error?.message === 'the engine fell over');
});

test('another name stands for a model, and a star for many', async (t) => {
    const engine = new ScriptedEngine();
    const aliases = [['gpt-4o', 'builtin'], ['claude-*', 'builtin']] as const;
    const { url } = await testServer(t, { loadModel: engine.load, aliases });
    const ask = async (model: string) => await raw(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify({ model, messages: [{ role: 'user', content: 'words' }] }) });
    for (const model of ['builtin', 'gpt-4o', 'claude-sonnet-5']) assert.equal((await ask(model)).status, 200);
    assert.equal((await ask('gpt-5')).status, 404);
    const { data } = JSON.parse((await raw(`${url}/v1/models`)).body) as { data: JsonObject[] };
    assert.deepEqual(data.map(({ id }) => id), ['builtin', 'gpt-4o']);
    await assert.rejects(testServer(t, { aliases: [['x', 'nosuch']] }), /there is no model 'nosuch'/);
});

test('a key may come as either kind of client sends it', async (t) => {
    const engine = new ScriptedEngine();
    const { url } = await testServer(t, { loadModel: engine.load, apiKey: 'secret' });
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'words' }] });
    const ask = async (headers: Record<string, string>) => await raw(`${url}/v1/messages`, { method: 'POST', headers, body });
    for (const headers of [{ 'x-api-key': 'secret' }, { authorization: 'Bearer secret' }]) assert.equal((await ask(headers)).status, 200);
    const refused = await ask({ 'x-api-key': 'wrong' });
    assert.equal(refused.status, 401);
    assert.deepEqual((JSON.parse(refused.body) as JsonObject)['error'], { type: 'authentication_error', message: 'an API key is needed: Authorization: Bearer …' });
});
