import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadedEngine } from './lapidary.js';
import { DownloadProgressEvent, promptApi } from './prompt-api.js';
import { FakeModel } from './testing/fake-model.js';

/** Answers with what it heard last. */
async function echoing(): Promise<{ fake: FakeModel; engine: LoadedEngine }> {
    const fake = new FakeModel();
    const engine = new LoadedEngine(await fake.start());
    fake.onGenerate = ({ args, emit, finish }) => {
        const { messages } = args as { messages: { content: string }[] };
        emit({ type: 'content', text: 'You said: ' });
        emit({ type: 'content', text: String(messages.at(-1)?.content) });
        finish();
    };
    return { fake, engine };
}

function heard(fake: FakeModel): string[] {
    const { messages } = fake.generated.at(-1)?.args as { messages: { role: string; content: string }[] };
    return messages.map(({ role, content }) => `${role}: ${content}`);
}

test('the model is loaded with the first session, which hears how that goes', async () => {
    const LanguageModel = promptApi('builtin', { backend: 'cpu', contextLength: 64 });
    assert.equal(await LanguageModel.availability(), 'downloadable');
    const seen: number[] = [];
    const creating = LanguageModel.create({
        monitor: (monitor) => {
            monitor.addEventListener('downloadprogress', (event) => seen.push((event as DownloadProgressEvent).loaded));
        },
    });
    assert.equal(await LanguageModel.availability(), 'downloading');
    const session = await creating;
    assert.equal(await LanguageModel.availability(), 'available');
    assert.equal(seen.at(-1), 1);
    assert.equal(session.inputQuota, 64);
    session.destroy();
    await LanguageModel.dispose();
    assert.equal(await LanguageModel.availability(), 'downloadable');
});

test('a session remembers, and its copy remembers by itself', async () => {
    const { fake, engine } = await echoing();
    const LanguageModel = promptApi(engine);
    assert.equal(await LanguageModel.availability(), 'available');
    const session = await LanguageModel.create({
        initialPrompts: [{ role: 'system', content: 'Be kind.' }],
        temperature: 0.5,
        topK: 3,
    });
    assert.equal(await session.prompt('one'), 'You said: one');
    const copy = await session.clone();
    await session.append([{ role: 'user', content: [{ type: 'text', value: 'by the way' }] }]);
    let streamed = '';
    const reader = session.promptStreaming('two').getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) streamed += next.value;
    assert.equal(streamed, 'You said: two');
    assert.deepEqual(heard(fake), ['system: Be kind.', 'user: one', 'assistant: You said: one', 'user: by the way', 'user: two']);
    assert.deepEqual(fake.generated[0]?.args['sampling'], { temperature: 0.5, top_k: 3 });
    assert.equal(session.inputUsage, 5);
    await copy.prompt('three');
    assert.deepEqual(heard(fake), ['system: Be kind.', 'user: one', 'assistant: You said: one', 'user: three']);
    assert.equal(await copy.measureInputUsage('four'), 4);
    await engine.dispose();
});

test('prompts asked at once are answered in order', async () => {
    const { fake, engine } = await echoing();
    const session = await promptApi(engine).create();
    await Promise.all(['a', 'b', 'c'].map((text) => session.prompt(text)));
    assert.equal(heard(fake).length, 5);
    await engine.dispose();
});

test('what does not fit is forgotten from the front, but not the initial prompts', async () => {
    const { fake, engine } = await echoing();
    const answer = fake.onGenerate;
    fake.onGenerate = (call) => {
        const { messages } = call.args as { messages: unknown[] };
        if (messages.length > 3) call.fail('limit', 'there is no room');
        else answer(call);
    };
    const session = await promptApi(engine).create({ initialPrompts: [{ role: 'system', content: 'Be kind.' }] });
    let overflows = 0;
    session.addEventListener('quotaoverflow', () => overflows++);
    await session.prompt('one');
    await session.prompt('two');
    assert.equal(overflows, 1);
    assert.deepEqual(heard(fake), ['system: Be kind.', 'user: two']);
    fake.onGenerate = ({ fail }) => fail('limit', 'there is no room');
    await assert.rejects(session.prompt('three'), { name: 'QuotaExceededError' });
    await engine.dispose();
});

test('a prompt can be stopped, and a destroyed session answers no more', async () => {
    const { fake, engine } = await echoing();
    const answer = fake.onGenerate;
    fake.onGenerate = () => undefined;
    const session = await promptApi(engine).create();
    const stop = new AbortController();
    const running = session.prompt('one', { signal: stop.signal });
    setTimeout(() => stop.abort(), 5);
    await assert.rejects(running, { name: 'AbortError' });
    fake.onGenerate = answer;
    assert.equal(await session.prompt('two'), 'You said: two');
    assert.deepEqual(heard(fake), ['user: two']);
    fake.onGenerate = () => undefined;
    const last = session.prompt('three');
    setTimeout(() => session.destroy(), 5);
    await assert.rejects(last, { name: 'AbortError' });
    await assert.rejects(session.prompt('four'), { name: 'InvalidStateError' });
    await assert.rejects(promptApi(engine).create({ temperature: 1 }), { name: 'NotSupportedError' });
    await engine.dispose();
});

test('a schema is passed on', async () => {
    const { fake, engine } = await echoing();
    const session = await promptApi(engine).create();
    await session.prompt('one', { responseConstraint: { type: 'boolean' } });
    const format = fake.generated[0]?.args['response_format'] as { json_schema: { schema: unknown } };
    assert.deepEqual(format.json_schema.schema, { type: 'boolean' });
    await engine.dispose();
});
