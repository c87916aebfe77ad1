// The whole library over the real engine and the built-in model, on the CPU.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LapidaryError } from './error.js';
import { Lapidary, type LoadedEngine } from './lapidary.js';
import type { ChatCompletionChunk, ChatCompletionParams, ToolChoice } from './openai.js';
import type { LoadProgress } from './options.js';

let engine: LoadedEngine;
const progress: LoadProgress[] = [];

before(async () => {
    engine = await Lapidary.load('builtin', { backend: 'cpu', contextLength: 256, onProgress: (one) => progress.push(one) });
});
after(async () => await engine.dispose());

const story = [{ role: 'user', content: 'Tell me a story about a cat.' }] as const;

function hasCode(code: string, words = /./): (error: unknown) => boolean {
    return (error) => {
        assert.ok(error instanceof LapidaryError, String(error));
        assert.equal(error.code, code, error.message);
        assert.match(error.message, words);
        return true;
    };
}

test('loading tells what was loaded, where it runs and why', () => {
    const { info } = engine;
    assert.equal(info.model, 'builtin');
    assert.equal(info.backend, 'cpu');
    assert.match(info.why, /asked for/);
    assert.equal(info.worker, false);
    assert.equal(info.contextLength, 256);
    assert.ok(info.weightBytes > 1e7);
    assert.equal(info.description['architecture'], 'gemma4');
    assert.equal(progress[0]?.stage, 'open');
    const last = progress.at(-1);
    assert.equal(last?.stage, 'weights');
    assert.equal(last?.done, last?.total);
});

test('without a GPU, auto computes on the CPU and says so', async () => {
    const other = await Lapidary.load('builtin', { gpu: async () => undefined, contextLength: 16 });
    assert.equal(other.info.backend, 'cpu');
    assert.match(other.info.why, /no WebGPU/);
    await other.dispose();
    await assert.rejects(Lapidary.load('builtin', { backend: 'gpu', gpu: async () => undefined }), hasCode('unsupported', /no WebGPU/));
});

test('a chat completion has the shape that OpenAI gave it', async () => {
    const completion = await engine.chat.completions.create({
        model: 'whatever',
        messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user', content: [{ type: 'text', text: 'Hello!' }] }],
        max_tokens: 8,
        seed: 1,
    });
    assert.match(completion.id, /^chatcmpl-/);
    assert.equal(completion.object, 'chat.completion');
    assert.ok(Number.isSafeInteger(completion.created) && completion.created > 1.7e9 && completion.created < 1e11, 'in seconds');
    const [{ message, finish_reason }] = completion.choices;
    assert.equal(message.role, 'assistant');
    assert.ok(message.content !== null && message.content.length > 0);
    const { usage, timings } = completion;
    assert.ok(usage.prompt_tokens > 5);
    assert.ok(usage.completion_tokens <= 8);
    assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
    assert.equal(finish_reason, usage.completion_tokens === 8 ? 'length' : 'stop');
    assert.ok(timings.time_to_first_token_ms > 0 && timings.tokens_per_second > 0 && timings.prompt_ms > 0);
});

test('a stream adds up to the same answer', async () => {
    const params = { messages: story, max_tokens: 16, seed: 7 };
    const whole = await engine.chat.completions.create(params);
    const chunks: ChatCompletionChunk[] = [];
    const stream = await engine.chat.completions.create({ ...params, stream: true, stream_options: { include_usage: true } });
    for await (const chunk of stream) chunks.push(chunk);
    assert.deepEqual(chunks[0]?.choices[0]?.delta, { role: 'assistant', content: '' });
    const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    assert.equal(text, whole.choices[0].message.content);
    const finished = chunks.filter(({ choices }) => choices[0]?.finish_reason);
    assert.equal(finished.length, 1);
    const last = chunks.at(-1);
    assert.deepEqual(last?.choices, []);
    assert.equal(last?.usage?.completion_tokens, whole.usage.completion_tokens);
    assert.equal(new Set(chunks.map(({ id }) => id)).size, 1);
});

test('the usage is only streamed when it is asked for', async () => {
    const stream = await engine.chat.completions.create({ messages: story, max_tokens: 2, stream: true });
    const chunks: ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    assert.ok(chunks.every(({ usage, choices }) => usage === undefined && choices.length === 1));
    assert.ok((chunks.at(-1)?.timings?.prompt_ms ?? 0) > 0);
});

test('eight calls at once are answered like eight calls one after the other', async () => {
    const ask = async (seed: number) => {
        const messages = [{ role: 'user', content: `Tell me about the number ${seed % 3}.` }] as const;
        const { choices } = await engine.chat.completions.create({ messages, seed, max_tokens: 10, temperature: 1.2 });
        return choices[0].message.content;
    };
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    const together = await Promise.all(seeds.map(ask));
    const alone: (string | null)[] = [];
    for (const seed of seeds) alone.push(await ask(seed));
    assert.deepEqual(together, alone);
    assert.ok(new Set(alone).size > 4, 'the seeds make a difference');
});

test('a conversation goes on without being read again, also when another one came between', async () => {
    const first = await engine.chat.completions.create({ messages: story, max_tokens: 10, seed: 3 });
    const other = [{ role: 'user', content: 'Say hello to my little dog, please.' }] as const;
    await engine.chat.completions.create({ messages: other, max_tokens: 4, seed: 3 });
    const answer = first.choices[0].message;
    const next = await engine.chat.completions.create({
        messages: [...story, { role: 'assistant', content: answer.content }, { role: 'user', content: 'And then?' }],
        max_tokens: 4,
    });
    const { prompt_tokens, prompt_tokens_details } = next.usage;
    const known = first.usage.prompt_tokens + first.usage.completion_tokens;
    assert.ok(prompt_tokens_details.cached_tokens >= known - 2, `${prompt_tokens_details.cached_tokens} of ${known} were known`);
    assert.ok(prompt_tokens > known);
});

test('a signal stops an answer half-way, and the next call is well', async () => {
    const stop = new AbortController();
    const stream = await engine.chat.completions.create({ messages: story, stream: true }, { signal: stop.signal });
    let chunks = 0;
    await assert.rejects(async () => {
        for await (const chunk of stream) {
            assert.equal(chunk.choices[0]?.finish_reason, null);
            if (++chunks === 4) stop.abort();
        }
    }, hasCode('cancelled'));
    assert.ok(chunks < 30);
    const { choices } = await engine.chat.completions.create({ messages: story, max_tokens: 2 });
    assert.ok(choices[0].message.content);
});

test('leaving the loop stops the answer', async () => {
    const stream = await engine.chat.completions.create({ messages: story, stream: true });
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
    assert.ok((await engine.chat.completions.create({ messages: story, max_tokens: 1 })).choices[0].message.content);
});

test('who waits in the queue can leave it', async () => {
    const busy = engine.chat.completions.create({ messages: story, max_tokens: 20 });
    const stop = new AbortController();
    const waiting = engine.chat.completions.create({ messages: story, max_tokens: 20 }, { signal: stop.signal });
    stop.abort();
    await assert.rejects(waiting, hasCode('cancelled'));
    assert.equal((await busy).usage.completion_tokens, 20);
});

test('a stop text ends the answer and is not shown', async () => {
    const params = { messages: story, temperature: 0, max_tokens: 20 };
    const full = (await engine.chat.completions.create(params)).choices[0].message.content ?? '';
    const stop = full.slice(12, 16);
    const { choices } = await engine.chat.completions.create({ ...params, stop });
    assert.equal(choices[0].message.content, full.slice(0, full.indexOf(stop)));
    assert.equal(choices[0].finish_reason, 'stop');
});

test('a prompt that does not fit is refused with both numbers', async () => {
    const content = 'a long story '.repeat(200);
    await assert.rejects(
        engine.chat.completions.create({ messages: [{ role: 'user', content }] }),
        hasCode('limit', /holds 256/),
    );
});

test('plain text goes on', async () => {
    const params = { prompt: 'Once upon a time', max_tokens: 8, seed: 2 };
    const completion = await engine.completions.create(params);
    assert.equal(completion.object, 'text_completion');
    assert.equal(completion.choices[0]?.finish_reason, 'length');
    assert.equal(completion.usage?.completion_tokens, 8);
    let text = '';
    for await (const chunk of await engine.completions.create({ ...params, stream: true })) text += chunk.choices[0]?.text ?? '';
    assert.equal(text, completion.choices[0]?.text);
    assert.equal(await engine.complete('Once upon a time', { max_tokens: 8, seed: 2 }), text);
});

test('an answer keeps to a schema', async () => {
    const schema = {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 8 }, age: { type: 'integer', minimum: 1, maximum: 9 } },
        required: ['name', 'age'],
        additionalProperties: false,
    };
    const { choices } = await engine.chat.completions.create({
        messages: story,
        seed: 1,
        response_format: { type: 'json_schema', json_schema: { name: 'animal', schema } },
    });
    assert.equal(choices[0].finish_reason, 'stop');
    const answer = JSON.parse(choices[0].message.content ?? '') as { name: unknown; age: unknown };
    assert.deepEqual(Object.keys(answer).sort(), ['age', 'name']);
    assert.ok(Number(answer.age) >= 1 && Number(answer.age) <= 9);
    const impossible = { type: 'array', unevaluatedItems: false };
    await assert.rejects(
        engine.chat.completions.create({
            messages: story,
            response_format: { type: 'json_schema', json_schema: { name: 'animal', schema: impossible } },
        }),
        hasCode('invalid_argument', /unevaluatedItems/),
    );
});

test('logprobs tell how likely the tokens were', async () => {
    const { choices, usage } = await engine.chat.completions.create({
        messages: story,
        temperature: 0,
        max_tokens: 6,
        logprobs: true,
        top_logprobs: 2,
    });
    const told = choices[0].logprobs?.content ?? [];
    assert.equal(told.length, usage.completion_tokens);
    assert.equal(told.map(({ token }) => token).join(''), choices[0].message.content);
    for (const { token, logprob, top_logprobs } of told) {
        assert.ok(logprob <= 0);
        assert.equal(top_logprobs.length, 2);
        assert.equal(top_logprobs[0]?.token, token, 'the likeliest was taken');
    }
});

test('a conversation that is too long is shortened when that is asked for', async () => {
    const long = { role: 'user', content: 'Tell me about the sea and the sky, please. '.repeat(12) } as const;
    const messages = [long, { role: 'assistant', content: 'No.' }, long, { role: 'assistant', content: 'No.' }, ...story] as const;
    const completion = await engine.chat.completions.create({ messages, overflow: 'slide', max_tokens: 4 });
    assert.ok((completion.dropped_messages ?? 0) >= 2);
    assert.ok(completion.usage.prompt_tokens < 256);
});

test('texts are embedded, and near ones are near', async () => {
    const [cat, kitten, car] = await engine.embed(['The cat is sleeping.', 'The kitten is sleeping.', 'Cars go very fast!']);
    assert.ok(cat && kitten && car);
    const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
    assert.ok(Math.abs(dot(cat, cat) - 1) < 1e-4);
    assert.ok(dot(cat, kitten) > dot(cat, car));
    const { data, usage } = await engine.embeddings.create({ input: 'The cat is sleeping.' });
    assert.deepEqual(data[0]?.embedding, [...cat]);
    assert.ok(usage.prompt_tokens > 3);
});

test('text becomes tokens and text again', async () => {
    const tokens = await engine.tokenize('A cat sat.', { addBos: false });
    assert.ok(tokens instanceof Int32Array && tokens.length > 2);
    assert.equal(await engine.detokenize(tokens), 'A cat sat.');
    assert.equal(await engine.detokenize([...tokens]), 'A cat sat.');
    await assert.rejects(engine.detokenize([999_999]), hasCode('invalid_argument', /999999/));
});

test('wrong members are refused by name', async () => {
    const refused: [Record<string, unknown>, RegExp, string?][] = [
        [{ messages: 'hello' }, /'messages' must be a list, not 'hello'/],
        [{ messages: undefined }, /'messages'/],
        [{ messages: [] }, /'messages' is empty/],
        [{ messages: [7] }, /'messages\[0\]' must be an object, not 7/],
        [{ messages: [{ content: 'hi' }] }, /'messages\[0\]\.role'/],
        [{ messages: [{ role: 'user', content: 7 }] }, /'messages\[0\]\.content'/],
        [{ messages: [{ role: 'user', content: [{ type: 'text' }] }] }, /'messages\[0\]\.content\[0\]\.text'/],
        [{ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, /image_url\.url' must be a data: or http address/],
        [{ temperature: 'hot' }, /'temperature' must be a number from 0 to 2, not 'hot'/],
        [{ temperature: NaN }, /'temperature'/],
        [{ top_p: 2 }, /'top_p'/],
        [{ top_k: 1.5 }, /'top_k'/],
        [{ min_p: -1 }, /'min_p'/],
        [{ seed: 1.5 }, /'seed'/],
        [{ stop: [1] }, /'stop'/],
        [{ stop: Array.from({ length: 65 }, () => 'x') }, /'stop' has 65/],
        [{ max_tokens: 0 }, /'max_tokens'/],
        [{ max_completion_tokens: '9' }, /'max_completion_tokens'/],
        [{ frequency_penalty: 3 }, /'frequency_penalty'/],
        [{ presence_penalty: true }, /'presence_penalty'/],
        [{ logit_bias: { cat: 1 } }, /'logit_bias'/],
        [{ logit_bias: { 5: 101 } }, /'logit_bias\.5'/],
        [{ top_logprobs: 3 }, /needs 'logprobs'/],
        [{ logprobs: true, top_logprobs: 21 }, /'top_logprobs'/],
        [{ response_format: { type: 'xml' } }, /'response_format\.type'/],
        [{ response_format: { type: 'json_schema', json_schema: {} } }, /'response_format\.json_schema\.schema'/],
        [{ n: 2 }, /'n' is 2/, 'unsupported'],
        [{ stream: 'yes' }, /'stream'/],
        [{ stream_options: { include_usage: 1 } }, /'stream_options\.include_usage'/],
        [{ thinking: 'deep' }, /'thinking'/],
        [{ overflow: 'flood' }, /'overflow'/],
        [{ continue_tokens: 'abc' }, /'continue_tokens' must be a list/],
        [{ continue_tokens: [3, -1] }, /'continue_tokens\[1\]' must be the number of a token, not -1/],
        [{ reasoning_effort: 'some' }, /'reasoning_effort'/],
        [{ tools: {} }, /'tools'/],
        [{ tools: [{ type: 'function', function: {} }] }, /'tools\[0\]\.function\.name'/],
        [{ tool_choice: 'maybe' }, /'tool_choice'/],
        [{ tool_choice: 'required' }, /no tools/],
        [{ model: 5 }, /'model'/],
    ];
    for (const [wrong, words, code = 'invalid_argument'] of refused) {
        const params = { messages: story, ...wrong } as unknown as ChatCompletionParams;
        await assert.rejects(engine.chat.completions.create(params), hasCode(code, words), JSON.stringify(wrong));
    }
    await assert.rejects(engine.completions.create({ prompt: 5 } as never), hasCode('invalid_argument', /'prompt'/));
    await assert.rejects(engine.completions.create({ prompt: ['a', 'b'] }), hasCode('unsupported', /2 texts/));
    await assert.rejects(Lapidary.load('builtin', { backend: 'tpu' as never }), hasCode('invalid_argument', /'backend'/));
    await assert.rejects(Lapidary.load(5 as never), hasCode('invalid_argument', /'source'/));
});

test('tools that may not be used are not shown to the model', async () => {
    const tools = [{ type: 'function', function: { name: 'weather', description: 'Tells the weather.' } }] as const;
    const plain = await engine.chat.completions.create({ messages: story, max_tokens: 1 });
    const none = await engine.chat.completions.create({ messages: story, tools, tool_choice: 'none', max_tokens: 1 });
    const auto = await engine.chat.completions.create({ messages: story, tools, max_tokens: 1 });
    assert.equal(none.usage.prompt_tokens, plain.usage.prompt_tokens);
    assert.ok(auto.usage.prompt_tokens > plain.usage.prompt_tokens);
});

test('a call that is demanded is made, whatever the model would rather say', async () => {
    const parameters = {
        type: 'object',
        properties: { city: { type: 'string', enum: ['Rome', 'Oslo'] } },
        required: ['city'],
        additionalProperties: false,
    };
    const tool = (name: string) => ({ type: 'function', function: { name, parameters } }) as const;
    const tools = [tool('weather'), tool('map')];
    const ask = async (tool_choice: ToolChoice) => {
        // Seed 3 once made it write a byte that no text has where a quotation mark belongs.
        const { choices } = await engine.chat.completions.create({ messages: story, tools, tool_choice, max_tokens: 60, seed: 3 });
        // The model was never taught to end a list of calls: the first must be right, whatever follows.
        const call = choices[0]?.message.tool_calls?.[0];
        assert.ok(call);
        const { city } = JSON.parse(call.function.arguments) as { city: string };
        assert.ok(['Rome', 'Oslo'].includes(city), city);
        return call.function.name;
    };
    assert.ok(['weather', 'map'].includes(await ask('required')));
    assert.equal(await ask({ type: 'function', function: { name: 'map' } }), 'map');
    const unknown = { type: 'function', function: { name: 'fly' } } as const;
    await assert.rejects(
        engine.chat.completions.create({ messages: story, tools, tool_choice: unknown }),
        hasCode('invalid_argument', /'fly'/),
    );
});

test('loading can be stopped', async () => {
    const stop = new AbortController();
    const loading = Lapidary.load('builtin', { backend: 'cpu', signal: stop.signal, onProgress: () => stop.abort() });
    await assert.rejects(loading, hasCode('cancelled'));
    await assert.rejects(Lapidary.load('builtin', { signal: stop.signal }), hasCode('cancelled'));
});

test('a model that would take too much is refused before it is loaded', async () => {
    const loading = Lapidary.load('builtin', { backend: 'cpu', memoryBudget: 1e6 });
    await assert.rejects(loading, hasCode('out_of_memory', /17 MB .* may take 1 MB/));
});

test('disposing stops what is under way, and may be done twice', async () => {
    const other = await Lapidary.load('builtin', { backend: 'cpu', contextLength: 64 });
    const running = other.chat.completions.create({ messages: story });
    const waiting = other.chat.completions.create({ messages: story });
    const results = Promise.allSettled([running, waiting]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await other.dispose();
    await other.dispose();
    for (const result of await results) {
        assert.equal(result.status, 'rejected');
        hasCode('cancelled')((result as PromiseRejectedResult).reason);
    }
    await assert.rejects(other.chat.completions.create({ messages: story }), hasCode('cancelled'));
    await assert.rejects(other.tokenize('a'), hasCode('cancelled'));
});
