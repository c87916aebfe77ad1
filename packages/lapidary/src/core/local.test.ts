// What the real engine does too rarely: losing its GPU, trapping, calling tools, telling logprobs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { LoadedEngine } from '../lapidary.js';
import type { ChatCompletionChunk } from '../openai.js';
import { FakeModel } from '../testing/fake-model.js';

const hello = [{ role: 'user', content: 'Hello!' }] as const;

async function loaded(fake: FakeModel, options: Parameters<FakeModel['start']>[0] = {}, log: string[] = []) {
    return new LoadedEngine(await fake.start(options, { log: (_, text) => void log.push(text) }));
}

function codeOf(code: string): (error: unknown) => boolean {
    return (error) => error instanceof LapidaryError && error.code === code;
}

test('an answer goes on where it was when the GPU was lost', async () => {
    const fake = new FakeModel();
    const log: string[] = [];
    const engine = await loaded(fake, {}, log);
    fake.onGenerate = ({ engine: number, args, emit, finish, fail }) => {
        if (number === 0) {
            assert.equal(args['report_tokens'], true);
            emit({ type: 'tokens', tokens: [11] });
            emit({ type: 'content', text: 'Once ' });
            emit({ type: 'tokens', tokens: [12] });
            emit({ type: 'tokens', tokens: [13] });
            emit({ type: 'content', text: 'upon ' });
            return fail('device_lost', 'the GPU was lost: sleep');
        }
        assert.deepEqual(args['continue_tokens'], [11, 12, 13]);
        emit({ type: 'content', text: 'a time' });
        finish({ text: 'Once upon a time', message: { role: 'assistant', content: 'Once upon a time' } });
    };
    const stream = await engine.chat.completions.create({ messages: hello, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    assert.equal(text, 'Once upon a time');
    assert.equal(fake.engines.length, 2);
    assert.ok(log.some((line) => line.includes('the GPU was lost: sleep')));
    assert.deepEqual(fake.closed, [], 'the source is still needed');
    await engine.dispose();
    assert.deepEqual(fake.closed, ['fake.gguf']);
});

test('who asks is told the tokens too, and can have an answer that was broken off continued', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ engine: number, args, emit, finish, fail }) => {
        // What is known from before stays in front of what was told until the GPU was lost.
        assert.deepEqual(args['continue_tokens'], number === 0 ? [1, 2] : [1, 2, 11]);
        if (number === 0) {
            emit({ type: 'tokens', tokens: [11] });
            emit({ type: 'content', text: 'upon ' });
            emit({ type: 'tokens', tokens: [12] });
            return fail('device_lost', 'the GPU was lost: sleep');
        }
        emit({ type: 'tokens', tokens: [12] });
        emit({ type: 'content', text: 'a time' });
        emit({ type: 'tokens', tokens: [13] });
        finish({ text: 'Once upon a time', completion_tokens: 5, completion_ms: 100 });
    };
    const params = { messages: hello, continue_tokens: [1, 2], report_tokens: true, stream: true } as const;
    const told: [string, number[] | undefined][] = [];
    let rate = 0;
    for await (const { choices, timings } of await engine.chat.completions.create(params)) {
        const { content = '', tokens } = choices[0]?.delta ?? {};
        if (content || tokens) told.push([content ?? '', tokens]);
        rate = timings?.tokens_per_second ?? rate;
    }
    assert.deepEqual(told, [['upon ', [11]], ['a time', [12]], ['', [13]]]);
    assert.equal(rate, 20, 'three tokens are new');
    await engine.dispose();
});

test('a text goes on in the same way', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ engine: number, args, emit, finish, fail }) => {
        if (number === 1) {
            assert.deepEqual(args['continue_tokens'], [11]);
            return finish({ text: 'Once upon' });
        }
        emit({ type: 'text', text: 'Once', tokens: [11] });
        fail('device_lost', 'the GPU was lost: sleep');
    };
    assert.equal(await engine.complete('Say: '), 'Once upon');
    await engine.dispose();
});

test('a GPU that is lost again and again is given up', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ fail }) => fail('device_lost', 'the GPU was lost: again');
    await assert.rejects(engine.chat.completions.create({ messages: hello }), codeOf('device_lost'));
    assert.equal(fake.engines.length, 3);
    fake.onGenerate = ({ finish }) => finish();
    await engine.chat.completions.create({ messages: hello });
    await engine.dispose();
});

test('when building anew fails, the next call tries it again', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ engine: number, finish, fail }) => (number === 0 ? fail('device_lost', 'gone') : finish());
    fake.onLoad = (number) => (number === 1 ? { code: 'out_of_memory', message: 'no room' } : undefined);
    await assert.rejects(engine.chat.completions.create({ messages: hello }), codeOf('out_of_memory'));
    await engine.chat.completions.create({ messages: hello });
    assert.equal(fake.engines.length, 3);
    await engine.dispose();
});

test('who waits is asked once, before the first weights, and may refuse', async () => {
    const fake = new FakeModel();
    const steps: string[] = [];
    fake.onLoad = () => void steps.push('weights');
    const core = await fake.start({}, {
        onOpened: async ({ name }, backend) => {
            await Promise.resolve();
            steps.push(`opened ${String(name)} for the ${backend}`);
        },
    });
    const engine = new LoadedEngine(core);
    assert.deepEqual(steps, ['opened Fake for the cpu', 'weights']);
    fake.onGenerate = ({ engine: number, finish, fail }) => (number === 0 ? fail('device_lost', 'gone') : finish());
    await engine.chat.completions.create({ messages: hello });
    assert.deepEqual(steps, ['opened Fake for the cpu', 'weights', 'weights'], 'not again after a loss');
    await engine.dispose();

    const refused = new FakeModel();
    refused.onLoad = () => void steps.push('never');
    await assert.rejects(refused.start({}, { onOpened: () => Promise.reject(new Error('no')) }), /no/);
    assert.equal(steps.includes('never'), false);
    assert.deepEqual(refused.closed, ['fake.gguf']);
});

test('other errors are told and not tried again', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ fail }) => fail('limit', 'too long');
    await assert.rejects(engine.chat.completions.create({ messages: hello }), codeOf('limit'));
    assert.equal(fake.generated.length, 1);
    await engine.dispose();
});

test('an engine that trapped is replaced at the next call', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ engine: number, finish }) => {
        if (number === 0) throw new Error('unreachable');
        finish();
    };
    await assert.rejects(engine.chat.completions.create({ messages: hello }), codeOf('internal'));
    await engine.chat.completions.create({ messages: hello });
    assert.equal(fake.engines.length, 2);
    await engine.dispose();
});

test('calls are answered one at a time, in the order of asking', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const order: string[] = [];
    fake.onGenerate = ({ args, finish }) => {
        const { prompt } = args as { prompt: string };
        order.push(`begin ${prompt}`);
        setTimeout(() => {
            order.push(`end ${prompt}`);
            finish();
        }, 5);
    };
    await Promise.all(['a', 'b', 'c'].map((prompt) => engine.complete(prompt)));
    assert.deepEqual(order, ['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
    await engine.dispose();
});

test('each conversation keeps its session, and the one not used for longest makes room', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake, { maxConversations: 2 });
    fake.onGenerate = ({ args, finish }) => {
        const { messages } = args as { messages: { content: string }[] };
        finish({ message: { role: 'assistant', content: `you said ${messages.at(-1)?.content}` } });
    };
    const system = { role: 'system', content: 'Hi.' } as const;
    const say = async (history: { role: 'user' | 'assistant'; content: string }[], content: string) => {
        history.push({ role: 'user', content });
        const { choices } = await engine.chat.completions.create({ messages: [system, ...history] });
        history.push({ role: 'assistant', content: choices[0].message.content ?? '' });
        return fake.generated.at(-1)?.session;
    };
    const [cats, dogs, birds] = [[], [], []] as { role: 'user' | 'assistant'; content: string }[][];
    assert.ok(cats && dogs && birds);
    assert.equal(await say(cats, 'cats are best'), 1);
    assert.equal(await say(dogs, 'dogs are best'), 2);
    assert.equal(await say(cats, 'why?'), 1);
    assert.equal(await say(dogs, 'why not?'), 2);
    assert.equal(await say(cats, 'are you sure?'), 1);
    assert.equal(await say(birds, 'birds are best'), 2, 'dogs were not spoken of for longest');
    assert.equal(await say(cats, 'really?'), 1);
    cats.splice(-2);
    assert.equal(await say(cats, 'once more?'), 1, 'another last question is the same conversation');
    await engine.dispose();
});

test('without memory for a second conversation the first makes room', async () => {
    const fake = new FakeModel();
    fake.mostSessions = 1;
    const engine = await loaded(fake, { maxConversations: 2 });
    for (const prompt of ['a cat', 'the dog', 'some birds']) await engine.complete(prompt);
    assert.deepEqual(fake.generated.map(({ session }) => session), [1, 1, 1]);
    fake.mostSessions = 0;
    await assert.rejects(fake.start(), codeOf('out_of_memory'));
    await engine.dispose();
});

test('calls of tools have ids that differ from answer to answer', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ emit, finish }) => {
        emit({ type: 'reasoning', text: 'I should ask.' });
        emit({ type: 'tool_call', index: 0, id: 'call_0', name: 'weather', arguments: '{"city":"Rome"}' });
        emit({ type: 'invalid_tool_call', text: 'weather{', error: 'it has no end' });
        const calls = [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }];
        const message = { role: 'assistant', content: '', reasoning_content: 'I should ask.', tool_calls: calls };
        finish({ finish_reason: 'tool_calls', message });
    };
    const tools = [{ type: 'function', function: { name: 'weather' } }] as const;
    const [first, second] = await Promise.all(
        [1, 2].map(() => engine.chat.completions.create({ messages: hello, tools, reasoning_effort: 'high' })),
    );
    const message = first?.choices[0].message;
    assert.equal(first?.choices[0].finish_reason, 'tool_calls');
    assert.equal(message?.content, null);
    assert.equal(message?.reasoning_content, 'I should ask.');
    assert.deepEqual(message?.tool_calls?.[0]?.function, { name: 'weather', arguments: '{"city":"Rome"}' });
    assert.deepEqual(message?.invalid_tool_calls, [{ text: 'weather{', error: 'it has no end' }]);
    assert.notEqual(message?.tool_calls?.[0]?.id, second?.choices[0].message.tool_calls?.[0]?.id);
    assert.equal(fake.generated[0]?.args['thinking'], true);
    assert.deepEqual(fake.generated[0]?.args['tools'], tools);

    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of await engine.chat.completions.create({ messages: hello, tools, stream: true })) chunks.push(chunk);
    const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);
    assert.equal(calls.length, 1);
    assert.equal(calls[0]?.index, 0);
    await engine.dispose();
});

test('logprobs are told as OpenAI tells them', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const logprobs = [
        { token: 5, text: 'Hé', logprob: -0.5, top: [{ token: 5, text: 'Hé', logprob: -0.5 }, { token: 6, text: 'Ho', logprob: -2 }] },
    ];
    fake.onGenerate = ({ args, emit, finish }) => {
        emit({ type: args['messages'] ? 'content' : 'text', text: 'Hé', tokens: [5], logprobs });
        finish({ text: 'Hé' });
    };
    const { choices } = await engine.chat.completions.create({ messages: hello, logprobs: true, top_logprobs: 1 });
    const [told] = choices[0].logprobs?.content ?? [];
    assert.deepEqual(told, {
        token: 'Hé',
        logprob: -0.5,
        bytes: [72, 195, 169],
        top_logprobs: [{ token: 'Hé', logprob: -0.5, bytes: [72, 195, 169] }],
    });
    assert.equal(fake.generated[0]?.args['logprobs'], 1);
    await engine.chat.completions.create({ messages: hello, logprobs: true });
    assert.equal(fake.generated[1]?.args['logprobs'], 0);
    const text = await engine.completions.create({ prompt: 'a', logprobs: 2 });
    assert.deepEqual(text.choices[0]?.logprobs, {
        tokens: ['Hé'],
        token_logprobs: [-0.5],
        top_logprobs: [{ Hé: -0.5, Ho: -2 }],
        text_offset: [0],
    });
    await engine.dispose();
});

test('what the answer should look like is passed on to the engine', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const schema = { type: 'object' };
    await engine.chat.completions.create({
        messages: hello,
        response_format: { type: 'json_schema', json_schema: { name: 'thing', schema } },
    });
    await engine.chat.completions.create({ messages: hello, response_format: { type: 'text' } });
    assert.deepEqual(fake.generated[0]?.args['response_format'], {
        type: 'json_schema',
        json_schema: { name: 'thing', schema, strict: true },
    });
    assert.equal(fake.generated[1]?.args['response_format'], undefined);
    await engine.dispose();
});

test('embeddings have length one', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const [first, second] = await engine.embed(['a', 'bc']);
    assert.deepEqual([...(first ?? [])], [...Float32Array.of(0.6, 0.8)]);
    assert.equal(second?.length, 2);
    const response = await engine.embeddings.create({ input: 'abc', encoding_format: 'base64' });
    assert.equal(response.usage.prompt_tokens, 3);
    const bytes = Buffer.from(String(response.data[0]?.embedding), 'base64');
    assert.equal(bytes.readFloatLE(4), Math.fround(0.8));
    await assert.rejects(engine.embed(['']), codeOf('invalid_argument'));
    await assert.rejects(engine.embed('a' as never), codeOf('invalid_argument'));
    await engine.dispose();
});
