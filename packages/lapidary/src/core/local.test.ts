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
            emit({ type: 'text', text: ' upon', tokens: [12] });
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

test('a prompt that costs the GPU is read in smaller pieces, one whose answer was cut off is not', async () => {
    const fake = new FakeModel();
    const log: string[] = [];
    const engine = await loaded(fake, {}, log);
    const blocks = () => fake.sessions.map(({ block }) => block);
    fake.onGenerate = ({ engine: number, finish, fail }) => {
        if (number < 2) return fail('device_lost', 'the GPU was lost: it took too long');
        finish({ text: 'Once' });
    };
    await engine.chat.completions.create({ messages: hello });
    assert.deepEqual(blocks(), [undefined, 128, 16]);
    assert.equal(log.filter((line) => line.includes('tokens at a time from now on')).length, 2);

    await engine.dispose();

    const other = new FakeModel();
    const writes = await loaded(other);
    other.onGenerate = ({ engine: number, emit, finish, fail }) => {
        if (number > 0) return finish({ text: 'Once' });
        emit({ type: 'text', text: 'Once', tokens: [11] });
        fail('device_lost', 'the GPU was lost: sleep');
    };
    await writes.complete('Say: ');
    assert.deepEqual(other.sessions.map(({ block }) => block), [undefined, undefined]);
    await writes.dispose();
});

test('a text whose vector costs the GPU is read in smaller pieces too', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    let asked = 0;
    fake.failEmbed = () => (asked++ === 0 ? { code: 'device_lost', message: 'the GPU was lost: it took too long' } : undefined);
    await engine.embeddings.create({ input: 'A text' });
    assert.deepEqual(fake.sessions.map(({ block }) => block), [undefined, undefined, 128, 128]);
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

test('who leaves the loop stops the answer, and the next call does not wait for the rest of it', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    let stopped = 0;
    fake.onGenerate = ({ args, emit, finish, cancelled }) => {
        if ((args as { max_tokens?: number }).max_tokens === 1) return finish();
        emit({ type: 'content', text: 'Once', tokens: [1] }); // and never an end
        void cancelled.then(() => stopped++);
    };
    const stream = await engine.chat.completions.create({ messages: hello, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    await engine.chat.completions.create({ messages: hello, max_tokens: 1 });
    assert.equal(stopped, 1);
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

test('a conversation that went on outlives the small questions a program asks beside it', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake, { maxConversations: 2 });
    fake.onGenerate = ({ finish }) => finish({ message: { role: 'assistant', content: 'Indeed.' } });
    const ask = async (...contents: string[]) => {
        const messages = contents.map((content, i) => ({ role: i % 2 === 0 ? ('user' as const) : ('assistant' as const), content }));
        await engine.chat.completions.create({ messages });
        return fake.generated.at(-1)?.session;
    };
    const talk = ['Tell me about cats.', 'Indeed.', 'Why do they sleep so much?'];
    assert.equal(await ask(talk[0] ?? ''), 1);
    for (const wish of ['A title for it?', 'Tags for it?', 'Which questions could follow?']) assert.equal(await ask(wish), 2);
    assert.equal(await ask(...talk), 1, 'also when it has only begun');
    for (let turn = 0; turn < 3; turn++) {
        assert.equal(await ask(`A title, please, for: ${turn}`), 2);
        assert.equal(await ask(`Some tags for what was said: ${turn}`), 2);
        assert.equal(await ask(`Which questions could follow? ${turn}`), 2);
        talk.push('Indeed.', `And ${turn}?`);
        assert.equal(await ask(...talk), 1, 'it is still remembered');
    }
    // But not for ever.
    const sessions: (number | undefined)[] = [];
    for (let i = 0; i < 80; i++) sessions.push(await ask(`${i} is a number, is it not?`));
    assert.ok(sessions.includes(1));
    await engine.dispose();
});

test('instructions and tools in common are not a conversation in common', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake, { maxConversations: 2 });
    const system = { role: 'system' as const, content: 'You are a helpful assistant. '.repeat(50) };
    const tools = [{ type: 'function' as const, function: { name: 'weather', description: 'Tells the weather. '.repeat(20) } }];
    for (const content of ['What is a cat?', 'How far is the moon?']) {
        await engine.chat.completions.create({ messages: [system, { role: 'user', content }], tools });
    }
    assert.deepEqual(fake.generated.map(({ session }) => session), [1, 2]);
    await engine.dispose();
});

test('a context beyond what the model holds is what it holds, and is told', async () => {
    const fake = new FakeModel();
    const log: string[] = [];
    const engine = await loaded(fake, { contextLength: 100_000 }, log);
    assert.equal(fake.sessions[0]?.['context'], 8192);
    assert.ok(log.some((line) => /100000 tokens was asked for, but the model holds 8192/.test(line)));
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
    const chosen = { token: 5, text: 'Hé', bytes: [72, 195, 169], logprob: -0.5 };
    const logprobs = [{ ...chosen, top: [chosen, { token: 6, text: 'Ho', bytes: [72, 111], logprob: -2 }] }];
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

test('texts that are too long for their vectors are cut, or refused', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const read: number[][] = [];
    fake.onEmbed = (bytes) => {
        read.push([...new Int32Array(Uint8Array.from(bytes).buffer)]);
        return [3, 4, 12];
    };
    const long = 'x'.repeat(100);
    const cut = await engine.embeddings.create({ input: ['abc', long] });
    assert.deepEqual(read.map(({ length }) => length), [3, 64]);
    assert.equal(cut.truncated_inputs, 1);
    assert.equal(cut.usage.prompt_tokens, 67);
    await engine.embeddings.create({ input: long, max_input_tokens: 10 });
    assert.equal(read.at(-1)?.length, 10);
    const refused = engine.embeddings.create({ input: ['abc', long], truncate: false });
    await assert.rejects(refused, /text 2 has 100 tokens and the context holds 64/);
    const tokens = await engine.embeddings.create({ input: [[7, 8], [9]], dimensions: 2 });
    assert.deepEqual(read.slice(-2), [[7, 8], [9]]);
    assert.equal(tokens.truncated_inputs, undefined);
    const [x, y] = tokens.data[0]?.embedding as number[];
    assert.ok(Math.abs((x ?? 0) - 0.6) < 1e-6 && Math.abs((y ?? 0) - 0.8) < 1e-6, 'of length 1 again');
    await assert.rejects(engine.embeddings.create({ input: 'a', dimensions: 4 }), /vectors have 3 numbers/);
    for (const input of [[], [1.5], [-1], ['a', 5], [[1], 'a'], [[]], {}, new Array(2049).fill('a')]) {
        await assert.rejects(engine.embeddings.create({ input: input as never }), codeOf('invalid_argument'));
    }
    await engine.dispose();
});

test('seeds, limits and stops as programs write them', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const asked = async (params: object) => {
        await engine.chat.completions.create({ messages: hello, ...params });
        return fake.generated.at(-1)?.args as { sampling: Record<string, number>; max_tokens: number; stop: string[] };
    };
    const seedOf = async (seed: number) => (await asked({ seed })).sampling['seed'];
    assert.equal(await seedOf(5), 5);
    assert.equal(await seedOf(2 ** 52), 2 ** 52);
    assert.equal(await seedOf(-1), undefined);
    const large = [2 ** 63 - 2 ** 11, 2 ** 63 - 2 ** 12, 2 ** 53, -2, -3, 8_000_000_000_000_000_000];
    const reduced: (number | undefined)[] = [];
    for (const seed of large) reduced.push(await seedOf(seed));
    for (const seed of reduced) assert.ok(Number.isInteger(seed) && seed !== undefined && seed >= 0 && seed <= 2 ** 52);
    assert.equal(new Set(reduced).size, large.length, 'they stay apart');
    assert.equal(await seedOf(large[0] ?? 0), reduced[0]);
    await assert.rejects(asked({ seed: 1.5 }), /'seed' must be a whole number, not 1.5/);

    const open = await asked({ max_tokens: -1, top_k: -1, stop: '' });
    assert.equal(open.max_tokens, 0);
    assert.equal(open.sampling['top_k'], 0);
    assert.deepEqual(open.stop, []);
    assert.deepEqual((await asked({ stop: ['', 'END'] })).stop, ['END']);
    assert.equal((await asked({ max_completion_tokens: -1, max_tokens: 7 })).max_tokens, 0);
    assert.equal((await asked({ reasoning_effort: 'max' }) as { thinking?: boolean }).thinking, true);
    await assert.rejects(asked({ temperature: 2.5 }), /'temperature' must be a number from 0 to 2, not 2.5/);
    await assert.rejects(asked({ max_tokens: -2 }), codeOf('invalid_argument'));
    await engine.dispose();
});

test('parts of messages in the words of several interfaces', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const content = [
        { type: 'input_text', text: 'a' },
        { type: 'thinking', thinking: 'hm', signature: 'x' },
        { type: 'refusal', refusal: 'No.' },
        { type: 'output_text', text: 'b' },
    ];
    await engine.chat.completions.create({ messages: [{ role: 'user', content: content as never }] });
    const [message] = fake.generated[0]?.args['messages'] as { content: { text: string }[] }[];
    assert.deepEqual(message?.content.map(({ text }) => text), ['a', 'No.', 'b']);
    const refused = (type: string) => engine.chat.completions.create({ messages: [{ role: 'user', content: [{ type }] as never }] });
    await assert.rejects(refused('image_url'), /must be the address of a picture/);
    await assert.rejects(refused('smell'), /'smell', which is not known here/);
    await engine.dispose();
});

test('the tools that are allowed are those that are offered', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const tools = ['a', 'b', 'c'].map((name) => ({ type: 'function' as const, function: { name } }));
    const choose = async (allowed_tools: object) => {
        const tool_choice = { type: 'allowed_tools', allowed_tools } as never;
        await engine.chat.completions.create({ messages: hello, tools, tool_choice });
        return fake.generated.at(-1)?.args;
    };
    const pick = (name: string) => ({ type: 'function', function: { name } });
    assert.deepEqual((await choose({ mode: 'auto', tools: [pick('c'), pick('a')] }))?.['tools'], [tools[0], tools[2]]);
    assert.equal((await choose({ mode: 'required', tools: [pick('b')] }))?.['tool_choice'], 'required');
    await assert.rejects(choose({ mode: 'auto', tools: [pick('z')] }), codeOf('invalid_argument'));
    await engine.dispose();
});

test('a stream that will tell the usage says so in every chunk', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ args, emit, finish }) => {
        emit({ type: args['messages'] ? 'content' : 'text', text: 'Hi', tokens: [5] });
        finish({ text: 'Hi' });
    };
    const stream = { stream: true, stream_options: { include_usage: true } } as const;
    for (const chunks of [
        await engine.chat.completions.create({ messages: hello, ...stream }),
        await engine.completions.create({ prompt: 'a', ...stream }),
    ]) {
        const usages: unknown[] = [];
        for await (const { usage, system_fingerprint } of chunks) {
            usages.push(usage);
            assert.match(system_fingerprint, /^fp_[0-9a-f]{8}$/);
        }
        assert.ok(usages.length >= 3);
        assert.deepEqual(new Set(usages.slice(0, -1)), new Set([null]));
        assert.ok(usages.at(-1));
    }
    await engine.dispose();
});

test('a schema is found wherever programs put it', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    const schema = { type: 'object' };
    const asked = async (response_format: object) => {
        await engine.chat.completions.create({ messages: hello, response_format: response_format as never });
        return fake.generated.at(-1)?.args['response_format'];
    };
    const expected = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } };
    assert.deepEqual(await asked({ type: 'json_schema', schema }), expected);
    assert.deepEqual(await asked({ type: 'json_object', schema }), expected);
    assert.deepEqual(await asked({ type: 'json_schema', json_schema: { schema } }), expected);
    assert.deepEqual(await asked({ type: 'json_object' }), { type: 'json_object' });
    await assert.rejects(asked({ type: 'json_schema' }), /'response_format.json_schema' must be an object with a schema/);
    await assert.rejects(asked({ type: 'json_object', schema: 5 }), /'response_format.schema' must be a JSON schema/);
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
