// OpenAI's own client against the server, with the built-in model on the CPU.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { needsEngine } from '../testing/process.js';
import { canEmbed, keepsToSchemas, testServer, withToolCalls, type TestServer } from '../testing/server.js';

const engine = needsEngine();
const cleanups: (() => unknown)[] = [];
let server: TestServer;
let client: OpenAI;

function clientOf(url: string): OpenAI {
    return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
}

before(async () => {
    server = await testServer({ after: (fn) => cleanups.push(fn as () => unknown) });
    client = clientOf(server.url);
});
after(async () => {
    for (const cleanup of cleanups) await cleanup();
});

const hello = [{ role: 'user', content: 'Hello!' }] as const;

test('models are listed and found', engine, async () => {
    const models = (await client.models.list()).data;
    assert.deepEqual(models.map(({ id }) => id), ['builtin']);
    assert.equal((await client.models.retrieve('builtin')).object, 'model');
    await assert.rejects(client.models.retrieve('nosuch'), (error) => {
        assert.ok(error instanceof OpenAI.NotFoundError);
        assert.equal(error.code, 'model_not_found');
        assert.equal(error.param, 'model');
        return true;
    });
});

test('a chat is answered, and a stream of it says the same', engine, async () => {
    const request = { model: 'builtin', messages: [...hello], max_completion_tokens: 6, seed: 5 };
    const whole = await client.chat.completions.create(request);
    assert.equal(whole.model, 'builtin');
    const choice = whole.choices[0];
    assert.ok((choice?.message.content ?? '').length > 0);
    assert.ok(['stop', 'length'].includes(choice?.finish_reason ?? ''));
    assert.ok((whole.usage?.prompt_tokens ?? 0) > 5);
    assert.ok((whole.usage?.completion_tokens ?? 0) <= 6);

    const streaming = { stream: true, stream_options: { include_usage: true } } as const;
    const stream = await client.chat.completions.create({ ...request, ...streaming });
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    let finish: string | null | undefined;
    for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
        finish = chunk.choices[0]?.finish_reason ?? finish;
        usage = chunk.usage ?? usage;
    }
    assert.equal(text, choice?.message.content);
    assert.equal(finish, choice?.finish_reason);
    assert.equal(usage?.completion_tokens, whole.usage?.completion_tokens);
});

test('a text is continued', engine, async () => {
    const request = { model: 'builtin', prompt: 'Once upon a', max_tokens: 3, temperature: 0 };
    const answer = await client.completions.create(request);
    assert.match(answer.choices[0]?.text ?? '', /^ time/);
    let text = '';
    const stream = await client.completions.create({ ...request, stream: true });
    for await (const chunk of stream) text += chunk.choices[0]?.text ?? '';
    assert.equal(text, answer.choices[0]?.text);
});

test('tools may be offered, and their results told', engine, async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    const weather = { name: 'weather', description: 'Tells the weather', parameters };
    const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: weather }];
    const called = { name: 'weather', arguments: '{"city":"Oslo"}' };
    const call = { id: 'call_1', type: 'function', function: called } as const;
    const answer = await client.chat.completions.create({
        model: 'builtin',
        max_tokens: 3,
        tools,
        messages: [
            { role: 'user', content: 'How is the weather in Oslo?' },
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'call_1', content: '{"sky":"clear"}' },
        ],
    });
    assert.equal(answer.choices.length, 1);
});

test('calls of a model reach the client, whole and in a stream', async (t) => {
    const { url } = await testServer(t, { loadModel: withToolCalls });
    const talker = clientOf(url);
    const request = { model: 'builtin', messages: [...hello] };
    const stream = talker.chat.completions.stream(request);
    const message = await stream.finalMessage();
    assert.equal(message.tool_calls?.[0]?.id, 'call_7');
    const [call] = message.tool_calls ?? [];
    assert.ok(call?.type === 'function');
    assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Oslo' });
    assert.equal((await stream.finalChatCompletion()).choices[0]?.finish_reason, 'tool_calls');
});

test('a custom tool is called with a text, whole and in a stream, and the conversation goes on', engine, async (t) => {
    if (!(await keepsToSchemas(server.url))) return t.skip('this engine does not know schemas yet');
    const format = { type: 'grammar', grammar: { syntax: 'regex', definition: '(left|right) [1-9]' } } as const;
    const tools: OpenAI.ChatCompletionTool[] = [{ type: 'custom', custom: { name: 'walk', format } }];
    const asked = { model: 'builtin', messages: [...hello], tools, max_tokens: 60, seed: 4 };
    const request = { ...asked, tool_choice: { type: 'custom', custom: { name: 'walk' } } } as const;
    const [choice] = (await client.chat.completions.create(request)).choices;
    assert.equal(choice?.finish_reason, 'tool_calls');
    const [call] = choice.message.tool_calls ?? [];
    assert.ok(call?.type === 'custom');
    assert.equal(call.custom.name, 'walk');
    assert.match(call.custom.input, /^(left|right) [1-9]$/);

    const streamed: unknown[] = [];
    for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
        for (const piece of chunk.choices[0]?.delta.tool_calls ?? []) streamed.push((piece as { custom?: unknown }).custom);
    }
    assert.deepEqual(streamed, [call.custom]);

    const result = { role: 'tool', tool_call_id: call.id, content: 'You walked.' } as const;
    const next = await client.chat.completions.create({ ...asked, messages: [...hello, choice.message, result] });
    assert.ok((next.usage?.prompt_tokens ?? 0) > 30);
});

test('an answer keeps to a JSON schema', engine, async (t) => {
    if (!(await keepsToSchemas(server.url))) return t.skip('this engine does not know schemas yet');
    const schema = {
        type: 'object',
        properties: {
            name: { type: 'string', maxLength: 5 },
            age: { type: 'integer' },
            kind: { enum: ['cat', 'dog'] },
        },
        required: ['name', 'age', 'kind'],
        additionalProperties: false,
    };
    const answer = await client.chat.completions.create({
        model: 'builtin',
        messages: [{ role: 'user', content: 'Who is your pet?' }],
        response_format: { type: 'json_schema', json_schema: { name: 'pet', schema, strict: true } },
        max_tokens: 200,
    });
    const choice = answer.choices[0];
    assert.equal(choice?.finish_reason, 'stop');
    const pet = JSON.parse(choice.message.content ?? '') as { name: unknown; age: unknown; kind: unknown };
    assert.equal(typeof pet.name, 'string');
    assert.ok(Number.isInteger(pet.age));
    assert.ok(pet.kind === 'cat' || pet.kind === 'dog');
    return undefined;
});

test('texts become vectors, as numbers and as base64', engine, async (t) => {
    if (!(await canEmbed(server.url))) return t.skip('this engine does not know embeddings yet');
    const input = ['The cat sleeps.', 'A dog barks.', 'The cat sleeps.'];
    const floats = await client.embeddings.create({ model: 'builtin', input, encoding_format: 'float' });
    const [first, second, third] = floats.data.map(({ embedding }) => embedding);
    assert.ok(first && second && third);
    assert.ok(Math.abs(Math.hypot(...first) - 1) < 1e-3);
    assert.deepEqual(first, third);
    assert.notDeepEqual(first, second);
    // Without a wish the client asks for base64 and decodes it itself.
    const decoded = await client.embeddings.create({ model: 'builtin', input: input[0] ?? '' });
    const same = decoded.data[0]?.embedding ?? [];
    assert.equal(same.length, first.length);
    same.forEach((value, i) => assert.ok(Math.abs(value - (first[i] ?? NaN)) < 1e-6));
    assert.ok(floats.usage.prompt_tokens > decoded.usage.prompt_tokens);
    return undefined;
});

test('texts that are too long for their vectors are cut unless that is refused, and vectors may be shorter', engine, async () => {
    const long = 'word '.repeat(2500);
    const cut = await client.embeddings.create({ model: 'builtin', input: long, dimensions: 16 }).withResponse();
    assert.equal(cut.response.headers.get('x-lapidary-truncated'), '1');
    assert.match(cut.response.headers.get('x-lapidary-embeddings') ?? '', /mean of the last hidden states/);
    assert.equal(cut.data.usage.prompt_tokens, 2048);
    const [{ embedding } = { embedding: [] as number[] }] = cut.data.data;
    assert.equal(embedding.length, 16);
    assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-3);
    const whole = { model: 'builtin', input: long, truncate: false };
    await assert.rejects(client.embeddings.create(whole), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.match(error.message, /tokens and the context holds 2048/);
        return true;
    });
    await assert.rejects(client.embeddings.create({ model: 'builtin', input: 'a', dimensions: 9999 }), OpenAI.BadRequestError);
});

test('a text is scored as evaluation harnesses ask for it', engine, async () => {
    const prompt = 'Once upon a time';
    const read = await client.completions.create({ model: 'builtin', prompt, max_tokens: 0, echo: true, logprobs: 2 });
    const [choice] = read.choices;
    assert.equal(choice?.text, prompt);
    assert.equal(read.usage?.completion_tokens, 0);
    const { tokens = [], token_logprobs = [], text_offset = [], top_logprobs = [] } = choice.logprobs ?? {};
    assert.equal(tokens.join(''), prompt);
    assert.equal(token_logprobs.length, tokens.length);
    assert.ok(token_logprobs.every((one) => one < 0));
    assert.deepEqual(text_offset, tokens.map((_, i) => tokens.slice(0, i).join('').length));
    assert.equal(Object.keys(top_logprobs[1] ?? {}).length, 2);
    // The probability of what follows is the same, read or written.
    const asked = { model: 'builtin', prompt, max_tokens: 1, logprobs: 0, temperature: 0 };
    const written = (await client.completions.create(asked)).choices[0];
    const longer = `${prompt}${written?.text ?? ''}`;
    const again = await client.completions.create({ ...asked, prompt: longer, max_tokens: 0, echo: true });
    const expected = written?.logprobs?.token_logprobs?.[0] ?? NaN;
    assert.ok(Math.abs((again.choices[0]?.logprobs?.token_logprobs?.at(-1) ?? NaN) - expected) < 1e-3);
    // As tokens nothing is before the first of them.
    const ids = await client.completions.create({ ...asked, prompt: [300, 301], max_tokens: 0, echo: true });
    assert.equal(ids.choices[0]?.logprobs?.token_logprobs?.[0], null);
    const several = await client.completions.create({ model: 'builtin', prompt: ['Once', 'The'], n: 2, max_tokens: 1, seed: 2 });
    assert.deepEqual(several.choices.map(({ index }) => index), [0, 1, 2, 3]);
});

test('results of parallel calls are read in the order of the calls, whichever order they come in', engine, async () => {
    const call = (id: string, city: string) => {
        return { id, type: 'function', function: { name: 'weather', arguments: JSON.stringify({ city }) } } as const;
    };
    const results = { a: 'hot', b: 'cold' };
    const likely = async (order: readonly (keyof typeof results)[]) => {
        const { choices } = await client.chat.completions.create({
            model: 'builtin',
            messages: [
                { role: 'user', content: 'How is the weather?' },
                { role: 'assistant', content: null, tool_calls: [call('a', 'Rome'), call('b', 'Oslo')] },
                ...order.map((id) => ({ role: 'tool', tool_call_id: id, content: results[id] }) as const),
            ],
            max_tokens: 4,
            temperature: 0,
            logprobs: true,
        });
        return (choices[0]?.logprobs?.content ?? []).map(({ token, logprob }) => [token, logprob.toFixed(3)]);
    };
    const inOrder = await likely(['a', 'b']);
    assert.ok(inOrder.length > 0);
    assert.deepEqual(await likely(['b', 'a']), inOrder);
});

test('several answers, the first of which is the one that would have come alone', engine, async () => {
    const request = { model: 'builtin', messages: [...hello], max_tokens: 8, seed: 9_000_000_000_000_000_000 };
    const alone = await client.chat.completions.create(request);
    const { choices, usage } = await client.chat.completions.create({ ...request, n: 3 });
    assert.equal(choices[0]?.message.content, alone.choices[0]?.message.content);
    assert.deepEqual(choices.map(({ index }) => index), [0, 1, 2]);
    assert.ok(new Set(choices.map(({ message }) => message.content)).size > 1);
    assert.equal(usage?.prompt_tokens, alone.usage?.prompt_tokens);
});

test('a form may be asked for as other servers have it', engine, async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false };
    const ways = [{ guided_json: schema }, { json_schema: schema }, { structured_outputs: { json: schema } }];
    for (const way of ways) {
        const request = { model: 'builtin', messages: [...hello], max_tokens: 60, ...way };
        const { choices } = await client.chat.completions.create(request);
        assert.deepEqual(Object.keys(JSON.parse(choices[0]?.message.content ?? '') as object), ['ok']);
    }
    const grammar = { model: 'builtin', messages: [...hello], grammar: 'root ::= "yes"' };
    await assert.rejects(client.chat.completions.create(grammar), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.equal(error.param, 'grammar');
        return true;
    });
});

test('errors are those that the client has classes for', engine, async () => {
    const fine = { model: 'builtin', messages: [...hello], max_tokens: 1 };
    const create = (more: object) => client.chat.completions.create({ ...fine, ...more });
    const long = [{ role: 'user', content: 'word '.repeat(3000) }];
    await assert.rejects(create({ model: 'gpt-4o' }), OpenAI.NotFoundError);
    await assert.rejects(create({ temperature: 'hot' }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.equal(error.param, 'temperature');
        return true;
    });
    await assert.rejects(create({ messages: long }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.equal(error.code, 'context_length_exceeded');
        return true;
    });
    // Also when a stream was asked for: an error before the first word has its status.
    await assert.rejects(create({ stream: true, messages: long }), OpenAI.BadRequestError);
    for (const url of ['data:,', 'data:image/png;base64,aGk=', 'https://example.com/a.png']) {
        const picture = { type: 'image_url', image_url: { url } };
        await assert.rejects(create({ messages: [{ role: 'user', content: [picture] }] }), OpenAI.BadRequestError);
    }
    const sound = await OpenAI.toFile(Buffer.from('RIFF'), 'a.wav');
    await assert.rejects(client.audio.transcriptions.create({ model: 'builtin', file: sound }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError);
        assert.match(error.message, /this model cannot hear/);
        return true;
    });
    const keyed = await testServer({ after: (fn) => cleanups.push(fn as () => unknown) }, { apiKey: 'opal' });
    await assert.rejects(clientOf(keyed.url).models.list(), OpenAI.AuthenticationError);
});

test('leaving a stream stops the model', engine, async () => {
    const messages = [{ role: 'user', content: 'Tell me a long story.' }] as const;
    const stream = await client.chat.completions.create({ model: 'builtin', messages: [...messages], stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    const next = await client.chat.completions.create({ model: 'builtin', messages: [...hello], max_tokens: 1 });
    assert.ok(next.choices[0]);
    assert.equal(server.service.queue.running, false);
});
