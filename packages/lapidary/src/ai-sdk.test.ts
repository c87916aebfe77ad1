// Through the AI SDKs themselves, over a fake engine and once over the real one.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import * as sdk7 from 'ai';
import * as sdk5 from 'ai-5';
import * as sdk6 from 'ai-6';
import { embeddingModel, languageModel, type ModelSettings } from './ai-sdk.js';
import { Lapidary, LoadedEngine } from './lapidary.js';
import { FakeModel } from './testing/fake-model.js';

// That these compile is half of the test: each SDK has its own types of what a model is. What is tested of them is
// alike, so that the types of one serve for all.
type Sdk = Pick<typeof sdk7, 'generateText' | 'streamText' | 'embedMany' | 'tool' | 'jsonSchema'>;
interface Way {
    sdk: Sdk;
    model(engine: LoadedEngine, settings?: ModelSettings): sdk7.LanguageModel;
    embedding(engine: LoadedEngine): sdk7.EmbeddingModel;
}
const model5 = (engine: LoadedEngine, settings: ModelSettings = {}): sdk5.LanguageModel =>
    languageModel(engine, { ...settings, specification: 'v2' });
const embedding5 = (engine: LoadedEngine): sdk5.EmbeddingModel<string> => embeddingModel(engine, { specification: 'v2' });
const model6 = (engine: LoadedEngine, settings?: ModelSettings): sdk6.LanguageModel => languageModel(engine, settings);
const embedding6 = (engine: LoadedEngine): sdk6.EmbeddingModel => embeddingModel(engine);
const model7 = (engine: LoadedEngine, settings: ModelSettings = {}): sdk7.LanguageModel =>
    languageModel(engine, { ...settings, specification: 'v4' });
const ways: Record<string, Way> = {
    'AI SDK 5': {
        sdk: sdk5 as unknown as Sdk,
        model: model5 as unknown as Way['model'],
        embedding: embedding5 as unknown as Way['embedding'],
    },
    'AI SDK 6': { sdk: sdk6 as unknown as Sdk, model: model6 as Way['model'], embedding: embedding6 as Way['embedding'] },
    'AI SDK 7': { sdk: sdk7, model: languageModel, embedding: embeddingModel },
    'AI SDK 7, v4': { sdk: sdk7, model: model7, embedding: (engine) => embeddingModel(engine, { specification: 'v4' }) },
};

async function loaded(fake: FakeModel): Promise<LoadedEngine> {
    return new LoadedEngine(await fake.start());
}

/** What the SDKs print about models they would rather not have. */
function complaints(t: TestContext): unknown[][] {
    const all: unknown[][] = [];
    for (const level of ['warn', 'info', 'error'] as const) t.mock.method(console, level, (...args: unknown[]) => void all.push(args));
    t.mock.method(process, 'emitWarning', (...args: unknown[]) => void all.push(args));
    return all;
}

for (const [name, { sdk, model, embedding }] of Object.entries(ways)) {
    const { generateText, streamText, embedMany, jsonSchema, tool } = sdk;

    test(`${name}: a text is generated, and the same streamed, without a complaint`, async (t) => {
        const said = complaints(t);
        const engine = await Lapidary.load('builtin', { backend: 'cpu', contextLength: 128 });
        const call = { model: model(engine), prompt: 'Tell me a story.', maxOutputTokens: 8, seed: 1 };
        const { text, finishReason, usage } = await generateText(call);
        assert.ok(text.length > 0);
        assert.equal(finishReason, 'length');
        assert.equal(usage.outputTokens, 8);
        assert.equal(usage.totalTokens, 8 + (usage.inputTokens ?? 0));
        const stream = streamText(call);
        let streamed = '';
        for await (const delta of stream.textStream) streamed += delta;
        assert.equal(streamed, text);
        assert.equal((await stream.usage).outputTokens, 8);
        await engine.dispose();
        assert.deepEqual(said, []);
    });

    test(`${name}: tools are called and their results go back to the model`, async () => {
        const fake = new FakeModel();
        const engine = await loaded(fake);
        fake.onGenerate = ({ args, emit, finish }) => {
            const { messages } = args as { messages: { role: string; content: unknown }[] };
            if (messages.at(-1)?.role === 'tool') {
                emit({ type: 'content', text: 'Sunny.' });
                return finish({ text: 'Sunny.', message: { role: 'assistant', content: 'Sunny.' } });
            }
            emit({ type: 'reasoning', text: 'Hm.' });
            emit({ type: 'tool_call', index: 0, id: 'call_0', name: 'weather', arguments: '{"city":"Rome"}' });
            const calls = [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }];
            const message = { role: 'assistant', content: '', reasoning_content: 'Hm.', tool_calls: calls };
            finish({ finish_reason: 'tool_calls', message });
        };
        const asked: unknown[] = [];
        const call = {
            model: model(engine, { thinking: true }),
            prompt: 'What is the weather?',
            stopWhen: ({ steps }: { steps: unknown[] }) => steps.length >= 2,
            tools: {
                weather: tool({
                    description: 'Tells the weather.',
                    inputSchema: jsonSchema<{ city: string }>({ type: 'object', properties: { city: { type: 'string' } } }),
                    execute: async (input) => {
                        asked.push(input);
                        return { sky: 'clear' };
                    },
                }),
            },
        };
        const { text, steps } = await generateText(call);
        assert.equal(text, 'Sunny.');
        assert.equal(steps[0]?.reasoningText, 'Hm.');
        assert.equal(steps[0]?.finishReason, 'tool-calls');
        assert.equal(await streamText(call).text, 'Sunny.');
        assert.deepEqual(asked, [{ city: 'Rome' }, { city: 'Rome' }]);
        const { messages } = fake.generated[1]?.args as { messages: Record<string, unknown>[] };
        const [call0] = messages[1]?.['tool_calls'] as { id: string; function: unknown }[];
        assert.deepEqual(call0?.function, { name: 'weather', arguments: '{"city":"Rome"}' });
        assert.equal(messages[2]?.['tool_call_id'], call0?.id);
        assert.equal(messages[2]?.['content'], '{"sky":"clear"}');
        assert.equal(fake.generated[0]?.args['thinking'], true);
        await engine.dispose();
    });

    test(`${name}: an abort is told in the way the SDK expects`, async () => {
        const fake = new FakeModel();
        const engine = await loaded(fake);
        fake.onGenerate = () => undefined;
        const stop = new AbortController();
        const running = generateText({ model: model(engine), prompt: 'Hi', abortSignal: stop.signal });
        setTimeout(() => stop.abort(), 5);
        await assert.rejects(running, { name: 'AbortError' });
        await engine.dispose();
    });

    test(`${name}: texts are embedded`, async () => {
        const fake = new FakeModel();
        const engine = await loaded(fake);
        const { embeddings } = await embedMany({ model: embedding(engine), values: ['a', 'b'] });
        assert.equal(embeddings.length, 2);
        assert.ok(Math.abs((embeddings[0]?.[0] ?? 0) - 0.6) < 1e-6);
        await engine.dispose();
    });
}

test('a call comes in pieces, a picture is read, and the SDK says how much to think', async () => {
    const fake = new FakeModel();
    const engine = await loaded(fake);
    fake.onGenerate = ({ emit, finish }) => {
        emit({ type: 'tool_call', index: 0, id: 'call_0', name: 'weather', arguments: '{' });
        emit({ type: 'arguments', index: 0, text: '"city":' });
        emit({ type: 'arguments', index: 0, text: '"Rome"}' });
        const calls = [{ id: 'call_0', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }];
        finish({ finish_reason: 'tool_calls', message: { role: 'assistant', content: '', tool_calls: calls } });
    };
    const { stream } = await languageModel(engine, { specification: 'v4' }).doStream({
        prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
        tools: [{ type: 'function', name: 'weather', inputSchema: {} }],
        reasoning: 'high',
    });
    const parts = [];
    for await (const part of stream) parts.push(part);
    const kinds = ['stream-start', 'response-metadata', 'tool-input-start', ...Array(3).fill('tool-input-delta'), 'tool-input-end', 'tool-call', 'finish'];
    assert.deepEqual(parts.map(({ type }) => type), kinds);
    assert.ok(parts.some((part) => part.type === 'tool-call' && part.input === '{"city":"Rome"}'));
    assert.equal(fake.generated[0]?.args['thinking'], true);
    const [png, pdf] = ['image/png', 'application/pdf'].map((mediaType) => ({ type: 'file', mediaType, data: { type: 'data', data: new Uint8Array(4) } }) as const);
    const ask = async (part: typeof png) =>
        await languageModel(engine).doGenerate({ prompt: [{ role: 'user', content: part ? [part] : [] }] });
    await assert.rejects(ask(pdf), /a file of type 'application\/pdf' cannot be read/);
    await assert.rejects(ask(png), /look|picture|projector|see/, 'the model has no eyes, but the picture arrived');
    await engine.dispose();
});
