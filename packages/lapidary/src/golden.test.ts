// What the library tells of many calls, event by event, and what it asks the engine, which answers by a script:
// tests/data/golden/library.json. LAPIDARY_GOLDEN=write writes it anew; a commit that changes a row says why.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { languageModel } from './ai-sdk.js';
import { LapidaryError } from './error.js';
import { LoadedEngine } from './lapidary.js';
import type { ChatCompletionParams } from './openai.js';
import { promptApi } from './prompt-api.js';
import type { GenerateRequest } from './session.js';
import { FakeModel, type FakeGenerate } from './testing/fake-model.js';

type Tell = (event: unknown) => void;
/** What is called, what it tells meanwhile, and what it gives. */
type Row = [name: string, call: (engine: LoadedEngine, tell: Tell) => Promise<unknown>];

interface Told {
    call: string;
    events: unknown[];
    result?: unknown;
    error?: { code: string; message: string; details?: unknown };
    /** In the engine's own words. */
    asked: unknown[];
}

const file = fileURLToPath(new URL('../../../tests/data/golden/library.json', import.meta.url));

const bytes = (text: string) => [...new TextEncoder().encode(text)];
const score = (text: string, logprob: number) => ({ token: 7, text, bytes: bytes(text), logprob, top: [{ token: 8, text: 'x', bytes: [120], logprob: -3 }] });
const content = (text: string) => ({ type: 'content', text });
const oslo = '{"city":"Oslo"}';
const toolCalls = (text: string) => [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: text } }];

/** By the last word of what the engine is asked. */
const scripts: Record<string, { events: object[]; result?: object; error?: [code: string, sentence: string] }> = {
    words: { events: [{ type: 'progress', done: 1, total: 2 }, content('Once'), content(''), content(' upon 🦊.')], result: { text: 'Once upon 🦊.' } },
    thoughts: {
        events: [{ type: 'reasoning', text: 'They ' }, { type: 'reasoning', text: 'greet.' }, content('Hello')],
        result: { text: 'Hello', message: { role: 'assistant', content: 'Hello', reasoning_content: 'They greet.' } },
    },
    call: {
        events: [content('So:'), { type: 'tool_call', index: 0, id: 'call_0', name: 'weather', arguments: '{"city"' }, { type: 'arguments', index: 0, text: ':"Oslo"}' }],
        result: { text: 'So:', finish_reason: 'tool_calls', message: { role: 'assistant', content: 'So:', tool_calls: toolCalls(oslo) } },
    },
    unfinished: {
        events: [{ type: 'tool_call', index: 0, id: 'call_0', name: 'weather', arguments: '{"city":"Os' }],
        result: { finish_reason: 'length', message: { role: 'assistant', content: '', tool_calls: toolCalls('{"city":"Os') } },
    },
    mumble: { events: [content('Well'), { type: 'invalid_tool_call', text: 'call:{', error: 'it has no name' }], result: { text: 'Well' } },
    scores: { events: [{ type: 'content', text: 'Hi', logprobs: [score('Hi', -0.5)] }, { type: 'content', text: '!', logprobs: [score('!', -2)] }], result: { text: 'Hi!' } },
    cut: { events: [content('Once')], result: { text: 'Once', finish_reason: 'length', dropped_messages: 2 } },
    settling: {
        events: [{ type: 'draft', text: 'Onse', firm: [0, 2], settled: 1, tokens: 3, step: 1, steps: 4 }, content('Once')],
        result: { text: 'Once' },
    },
    nothing: { events: [] },
    refused: { events: [], error: ['limit', 'the prompt has 200 tokens, the context 100'] },
    broken: { events: [content('Once'), content(' upon')], error: ['internal', 'the engine fell over'] },
};

function answerByScript({ args, emit, finish, fail }: FakeGenerate): void {
    const { messages, prompt } = args as { messages?: { content: unknown }[]; prompt?: string };
    const said = messages ? JSON.stringify(messages.at(-1)?.content) : (prompt ?? '');
    const { events, result, error } = scripts[/(\w+)\W*$/.exec(said)?.[1] ?? ''] ?? { events: [] };
    // Without messages the answer is text.
    for (const event of events) emit(messages || (event as { type: string }).type !== 'content' ? event : { ...event, type: 'text', tokens: [7] });
    if (error) fail(...error);
    else finish(result);
}

const user = (text: unknown) => [{ role: 'user', content: text }];
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];
const schema = { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object', properties: { a: { type: 'integer' } } } } };

const chat = (params: object): Row[1] => {
    return async (engine, tell) => {
        const answer = await engine.chat.completions.create(params as ChatCompletionParams, { onProgress: (progress) => tell({ progress }) });
        if (!('choices' in answer)) for await (const chunk of answer) tell(chunk);
        return 'choices' in answer ? answer : undefined;
    };
};
const complete = (params: object): Row[1] => {
    return async (engine, tell) => {
        const answer = await engine.completions.create(params as never);
        const stream = answer as unknown as AsyncIterable<object>;
        if (Symbol.asyncIterator in answer) for await (const chunk of stream) tell(chunk);
        return Symbol.asyncIterator in answer ? undefined : answer;
    };
};

function rows(): Row[] {
    const all: Row[] = [];
    for (const word of Object.keys(scripts)) {
        const request = { messages: user(word), max_tokens: 9 } as unknown as GenerateRequest;
        all.push([`generate ${word}`, async (engine, tell) => await engine.generate(request, { onEvent: tell })]);
        all.push([`chat ${word}`, chat({ messages: user(word), ...(word === 'scores' ? { logprobs: true, top_logprobs: 1 } : {}) })]);
        all.push([`chat, a stream: ${word}`, chat({ messages: user(word), stream: true, stream_options: { include_usage: true } })]);
    }
    all.push(['text', complete({ prompt: 'words' })], ['text, a stream', complete({ prompt: 'words', stream: true })]);
    all.push(['text with scores', complete({ prompt: 'scores', logprobs: 1, echo: false })]);
    all.push(['complete', async (engine) => await engine.complete('words', { max_tokens: 3, temperature: 0 })]);
    all.push(['everything that can be asked for', chat({
        messages: [{ role: 'system', content: 'Be kind.' }, ...user([{ type: 'text', text: 'words' }])],
        tools, tool_choice: 'auto', response_format: { type: 'text' }, temperature: 0.5, top_p: 0.9, top_k: 5, min_p: 0.1, repeat_penalty: 1.1,
        seed: 3, stop: ['x'], max_tokens: 5, logit_bias: { 5: 1 }, presence_penalty: 0.1, frequency_penalty: 0.2, overflow: 'slide',
    })]);
    all.push(['a schema', chat({ messages: user('words'), response_format: schema })]);
    all.push(['results of tools', chat({
        messages: [...user('Where?'), { role: 'assistant', content: null, tool_calls: toolCalls(oslo) }, { role: 'tool', tool_call_id: 'call_0', content: 'warm words' }],
        tools,
    })]);
    for (const [why, params] of Object.entries({
        'no messages': {},
        'a role that nobody has': { messages: [{ role: 'king', content: 'x' }] },
        'too hot': { messages: user('x'), temperature: 5 },
        'a choice without tools': { messages: user('x'), tool_choice: 'required' },
        'a tool without a name': { messages: user('x'), tools: [{ type: 'function' }] },
        'scores without being asked': { messages: user('x'), top_logprobs: 3 },
    })) all.push([`refused: ${why}`, chat(params)]);
    all.push(['vectors', async (engine) => await engine.embeddings.create({ input: ['ab', 'c'] })]);
    all.push(['vectors, packed', async (engine) => await engine.embeddings.create({ input: 'ab', encoding_format: 'base64' })]);
    all.push(['vectors of nothing', async (engine) => await engine.embeddings.create({ input: '' })]);
    all.push(['embed', async (engine) => (await engine.embed(['ab'])).map((vector) => [...vector])]);
    all.push(['tokens', async (engine) => [...(await engine.tokenize('ab'))]], ['text of tokens', async (engine) => await engine.detokenize([1, 2])]);
    all.push(['one that was stopped before', async (engine) => await engine.generate({ messages: user('words') as never, max_tokens: 1 }, { signal: AbortSignal.abort() })]);
    all.push(['AI SDK', async (engine) => await languageModel(engine).doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'call' }] }] } as never)]);
    all.push(['AI SDK, a stream', async (engine, tell) => {
        const { stream } = await languageModel(engine).doStream({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'thoughts' }] }] } as never);
        for await (const part of stream as unknown as AsyncIterable<object>) tell(part);
    }]);
    all.push(['Prompt API', async (engine) => await (await promptApi(engine).create()).prompt('words')]);
    return all;
}

/** What differs from run to run: names, times, durations. */
function steady(value: unknown): unknown {
    const text = JSON.stringify(value ?? null)
        .replace(/"(created|time_to_first_token_ms)":[\d.e-]+/g, '"$1":0')
        .replace(/"(system_fingerprint|timestamp)":"[^"]*"/g, '"$1":"…"')
        .replace(/\b(chatcmpl|cmpl|aitxt)-[A-Za-z0-9]+/g, '$1-…')
        .replace(/call_[a-z0-9]{8}_(\d+)/g, 'call_…_$1');
    return JSON.parse(text);
}

async function transcript(): Promise<Told[]> {
    const all: Told[] = [];
    for (const [call, make] of rows()) {
        const fake = new FakeModel();
        fake.onGenerate = answerByScript;
        const engine = new LoadedEngine(await fake.start());
        const told: Told = { call, events: [], asked: [] };
        try {
            const result = await make(engine, (event) => void told.events.push(steady(event)));
            if (result !== undefined) told.result = steady(result);
        } catch (error) {
            assert.ok(error instanceof LapidaryError, `${call}: ${String(error)}`);
            const { code, message, details } = error;
            told.error = { code, message, ...(details ? { details } : {}) };
        }
        told.asked = fake.generated.map(({ args }) => steady(args));
        all.push(told);
        await engine.dispose();
    }
    return all;
}

test('every call tells what it has always told', async () => {
    const told = await transcript();
    if (process.env['LAPIDARY_GOLDEN'] === 'write') {
        await fs.writeFile(file, `[\n${told.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
        return;
    }
    const golden = JSON.parse(await fs.readFile(file, 'utf8')) as Told[];
    for (const [i, row] of told.entries()) assert.deepEqual(row, golden[i], row.call);
    assert.equal(told.length, golden.length);
});
