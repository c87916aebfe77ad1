// Ollama's own client against the server, with the built-in model on the CPU.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ollama } from 'ollama';
import { needsEngine } from '../testing/process.js';
import { canEmbed, keepsToSchemas, testServer, withToolCalls, type TestServer } from '../testing/server.js';

const engine = needsEngine();
const cleanups: (() => unknown)[] = [];
let server: TestServer;
let client: Ollama;

before(async () => {
    server = await testServer({ after: (fn) => cleanups.push(fn as () => unknown) });
    client = new Ollama({ host: server.url });
});
after(async () => {
    for (const cleanup of cleanups) await cleanup();
});

const hello = [{ role: 'user', content: 'Hello!' }];
const model = 'builtin';

test('models are listed and shown', engine, async () => {
    const { models } = await client.list();
    assert.deepEqual(models.map(({ name }) => name), [model]);
    assert.equal(models[0]?.details.family, 'gemma4');
    const shown = await client.show({ model });
    // `embedding` would make Ollama's own command print vectors; the others it was never taught.
    assert.deepEqual(shown.capabilities, ['completion']);
    assert.equal((shown.model_info as unknown as Record<string, unknown>)['gemma4.context_length'], 2048);
    assert.equal((await client.version()).version, '0.14.0');
});

test('a chat is answered, and a stream of it says the same', engine, async () => {
    const request = { model, messages: hello, options: { num_predict: 6, seed: 5 } };
    const whole = await client.chat(request);
    assert.equal(whole.message.role, 'assistant');
    assert.ok(whole.message.content.length > 0);
    assert.equal(whole.done, true);
    assert.ok(['stop', 'length'].includes(whole.done_reason));
    assert.ok(whole.prompt_eval_count > 5 && whole.eval_count <= 6);
    assert.ok(whole.eval_duration > 0 && whole.total_duration >= whole.eval_duration);
    let text = '';
    let done = 0;
    for await (const part of await client.chat({ ...request, stream: true })) {
        text += part.message.content;
        if (part.done) done++;
    }
    assert.equal(text, whole.message.content);
    assert.equal(done, 1);
    assert.deepEqual((await client.ps()).models.map(({ name }) => name), [model]);
});

test('a prompt is answered, and with raw continued', engine, async () => {
    const options = { num_predict: 3, temperature: 0 };
    const continued = await client.generate({ model, prompt: 'Once upon a', raw: true, options });
    assert.match(continued.response ?? '', /^ time/);
    assert.equal(continued.done_reason, 'length');
    let text = '';
    const request = { model, prompt: 'Hello!', system: 'Be brief.', options };
    for await (const part of await client.generate({ ...request, stream: true })) text += part.response ?? '';
    assert.ok(text.length > 0);
});

test('calls of a model reach the client as objects, and results go back', async (t) => {
    const { url } = await testServer(t, { loadModel: withToolCalls });
    const talker = new Ollama({ host: url });
    const { message } = await talker.chat({ model, messages: hello });
    const called = { index: 0, name: 'weather', arguments: { city: 'Oslo' } };
    assert.deepEqual(message.tool_calls, [{ id: 'call_7', function: called }]);
});

test('a conversation with calls and their results goes on', engine, async () => {
    const call = { function: { name: 'weather', arguments: { city: 'Oslo' } } };
    const { message } = await client.chat({
        model,
        messages: [
            { role: 'user', content: 'How is the weather?' },
            { role: 'assistant', content: '', tool_calls: [call] },
            { role: 'tool', content: 'clear', tool_name: 'weather' },
        ],
        tools: [{ type: 'function', function: { name: 'weather', description: 'Tells the weather' } }],
        options: { num_predict: 2 },
    });
    assert.equal(message.role, 'assistant');
});

test('an answer keeps to a format', engine, async (t) => {
    if (!(await keepsToSchemas(server.url))) return t.skip('this engine does not know schemas yet');
    const properties = { ok: { type: 'boolean' } };
    const format = { type: 'object', properties, required: ['ok'], additionalProperties: false };
    const { message } = await client.chat({ model, messages: hello, format, options: { num_predict: 100 } });
    assert.equal(typeof (JSON.parse(message.content) as { ok: unknown }).ok, 'boolean');
    return undefined;
});

test('texts become vectors', engine, async (t) => {
    if (!(await canEmbed(server.url))) return t.skip('this engine does not know embeddings yet');
    const { embeddings, prompt_eval_count } = await client.embed({ model, input: ['a cat', 'a dog'] });
    assert.equal(embeddings.length, 2);
    assert.ok(prompt_eval_count > 2);
    const { embedding } = await client.embeddings({ model, prompt: 'a cat' });
    assert.deepEqual(embedding, embeddings[0]);
    return undefined;
});

test('a conversation of prompts goes on by its context', engine, async () => {
    const options = { num_predict: 4, seed: 1 };
    const first = await client.generate({ model, prompt: 'My name is Bob.', options });
    const next = await client.generate({ model, prompt: 'Who am I?', context: first.context, options });
    const alone = await client.generate({ model, prompt: 'Who am I?', options });
    assert.ok(next.prompt_eval_count > alone.prompt_eval_count + 4, 'what was said before is read too');
    assert.ok(next.context.length > first.context.length);
    const foreign = client.generate({ model, prompt: 'Who am I?', context: [2, 106, 1645], options });
    await assert.rejects(foreign, /was not given by this server/);
    const filled = await client.generate({ model, prompt: 'Once upon a', template: '{{ .Prompt }}', options: { ...options, temperature: 0 } });
    assert.match(filled.response ?? '', /^ time/);
});

test('a raw text tells how likely its tokens were', engine, async () => {
    const options = { num_predict: 2, temperature: 0 };
    const body = { model, prompt: 'Once upon a', raw: true, stream: false, logprobs: true, top_logprobs: 2, options };
    const response = await fetch(`${server.url}/api/generate`, { method: 'POST', body: JSON.stringify(body) });
    const { logprobs } = (await response.json()) as { logprobs: { token: string; logprob: number; top_logprobs: object[] }[] };
    assert.equal(logprobs.length, 2);
    assert.match(logprobs[0]?.token ?? '', /^ time/);
    assert.equal(logprobs[0]?.top_logprobs.length, 2);
});

test("a model is shown to Ollama's own command, which names it otherwise", engine, async () => {
    const show = async (body: object) => await fetch(`${server.url}/api/show`, { method: 'POST', body: JSON.stringify(body) });
    const shown = (await (await show({ model: '', name: 'builtin', verbose: true })).json()) as Record<string, unknown>;
    assert.deepEqual(shown['capabilities'], ['completion']);
    assert.equal((await show({ model: '', name: 'nosuch' })).status, 404);
});

test('a long text is cut for its vector as far as is wished', engine, async () => {
    const input = 'one two three four five six seven';
    const { prompt_eval_count } = await client.embed({ model, input, options: { num_ctx: 3 } });
    assert.equal(prompt_eval_count, 3);
    await assert.rejects(client.embed({ model, input, truncate: false, options: { num_ctx: 3 } }), /the context holds 3/);
    assert.equal((await client.embed({ model, input, dimensions: 4 })).embeddings[0]?.length, 4);
});

test('a context that no model holds is the one that this model holds', engine, async (t) => {
    const { url, logged } = await testServer(t, { load: { backend: 'cpu', contextLength: 100_000 } });
    const { done } = await new Ollama({ host: url }).chat({ model, messages: hello, options: { num_predict: 1, num_ctx: 131_072 } });
    assert.ok(done);
    assert.ok(logged.some((line) => /context 2048/.test(line)), logged.join('; '));
});

test('errors are told as Ollama tells them', engine, async () => {
    const status = (code: number, sentence: RegExp) => (error: unknown) => {
        assert.ok(error instanceof Error && 'status_code' in error);
        assert.equal(error.status_code, code);
        assert.match(error.message, sentence);
        return true;
    };
    await assert.rejects(client.chat({ model: 'nosuch', messages: hello }), status(404, /^model 'nosuch' not found$/));
    const picture = [{ role: 'user', content: 'What is it?', images: ['aGk='] }];
    await assert.rejects(client.chat({ model, messages: picture }), status(400, /this model cannot see/));
    await assert.rejects(client.chat({ model, messages: hello, options: { top_p: 7 } }), status(400, /top_p/));
    const long = { model, prompt: 'word '.repeat(3000) };
    await assert.rejects(client.generate(long), status(400, /context holds 2048/));
    await assert.rejects(client.generate({ ...long, stream: true }), status(400, /context holds 2048/));
    await assert.rejects(client.pull({ model: 'gemma4' }), status(501, /only reads models: 'lapidary pull'/));
    assert.equal((await client.pull({ model })).status, 'success', 'what is there need not be brought');
});

test('an aborted stream stops the model', engine, async () => {
    const messages = [{ role: 'user', content: 'Tell me a long story.' }];
    const stream = await client.chat({ model, messages, stream: true });
    await assert.rejects(async () => {
        for await (const part of stream) if (part.message.content) stream.abort();
    });
    assert.ok((await client.chat({ model, messages: hello, options: { num_predict: 1 } })).done);
    assert.equal(server.service.queue.running, false);
});

test('keep_alive decides how long a model stays', engine, async () => {
    await client.chat({ model, messages: hello, options: { num_predict: 1 }, keep_alive: 0 });
    assert.equal((await client.ps()).models.length, 0);
    await client.chat({ model, messages: [], keep_alive: -1 });
    assert.equal((await client.ps()).models.length, 1);
});
