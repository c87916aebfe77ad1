// Models of embeddings from the outside: the command, the endpoints, and what such a model refuses.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { Lapidary } from 'lapidary';
import { relativeError } from './testing/floats.js';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { readTensor } from './testing/safetensors.js';
import { raw, testServer, type TestServer } from './testing/server.js';

const engine = needsEngine();
const fixture = (name: string) => path.join(root, 'tests', 'data', 'fixtures', `tiny-embedding-${name}`);
const expected = async (i: number, what = 'embedding') => await readTensor(`${fixture('q8_0')}.safetensors`, `${i}.${what}`);
// f32 against f64, times ten: the fixture's own limit.
const most = 2e-5;

// The fixture's texts 1 to 3; two of them begin with what a task puts in front.
const sky = 'why is the sky blue?';
const tire = 'Once upon a time, there was a little tire. The tire was very';

interface Vectors {
    embeddings: number[][];
}

async function near(actual: ArrayLike<number> | undefined, i: number, what = 'embedding'): Promise<void> {
    const error = relativeError(Float32Array.from(actual ?? []), await expected(i, what));
    assert.ok(error <= most, `text ${i}: relative error ${error}`);
}

for (const name of ['q8_0', 'ollama-bf16']) {
    test(`texts become the expected vectors on the command line, with ${name}`, engine, async (t) => {
        const file = path.join(await temporaryFolder(t), 'texts');
        await fs.writeFile(file, `sky\n\nT\r\n`);
        const model = `${fixture(name)}.gguf`;
        const { stdout, stderr, status } = await lapidary(['embed', model, '--text', 'sky', '--text', 'T', '--file', file, '--json']);
        assert.equal(stderr, '');
        assert.equal(status, 0);
        const values = `${fixture(name)}.safetensors`;
        const { embeddings, ...others } = JSON.parse(stdout) as Vectors;
        assert.deepEqual(others, {});
        for (const [i, text] of [1, 0, 1, 0].entries()) {
            const error = relativeError(Float32Array.from(embeddings[i] ?? []), await readTensor(values, `${text}.embedding`));
            assert.ok(error <= most, `vector ${i}: relative error ${error}`);
        }
    });
}

test('a task puts its words in front, dimensions cut, and a line is a vector', engine, async () => {
    const model = `${fixture('q8_0')}.gguf`;
    const query = await lapidary(['embed', model, '--task', 'query', '--text', sky, '--dimensions', '48']);
    assert.equal(query.status, 0, query.stderr);
    await near(JSON.parse(query.stdout) as number[], 2, 'embedding.48');
    const document = await lapidary(['embed', model, '--task', 'document', '--text', tire, '--json']);
    await near((JSON.parse(document.stdout) as Vectors).embeddings[0], 3);
    const titled = await lapidary(['embed', model, '--task', 'document', '--title', 'A tire', '--text', tire]);
    const spelt = await lapidary(['embed', model, '--text', `title: A tire | text: ${tire}`]);
    assert.equal(titled.status, 0, titled.stderr);
    assert.equal(titled.stdout, spelt.stdout);
    for (const [args, says] of [
        [['--task', 'poetry', '--text', 'a'], /there is no task 'poetry': it is one of query, document/],
        [['--task', 'query', '--title', 'b', '--text', 'a'], /a title is for the task 'document', not for 'query'/],
        [['--dimensions', '97', '--text', 'a'], /'dimensions' is 97, but this model's vectors have 96/],
        [[], /there is nothing to embed/],
        [['--text', ''], /an empty text has no vector/],
    ] as const) {
        const refused = await lapidary(['embed', model, ...args]);
        assert.notEqual(refused.status, 0);
        assert.match(refused.stderr, says);
    }
    const long = await lapidary(['embed', model, '--context', '8', '--no-truncate', '--text', tire]);
    assert.match(long.stderr, /has \d+ tokens and the context holds 8/);
});

test('a model of embeddings neither talks nor learns, and says what it is', engine, async () => {
    const model = `${fixture('q8_0')}.gguf`;
    for (const args of [['chat', model], ['generate', model, '--prompt', 'a'], ['perplexity', model, '--file', fileURLToPath(import.meta.url)]]) {
        const { status, stderr } = await lapidary(args, { input: 'Hello\n' });
        assert.notEqual(status, 0, args[0]);
        assert.match(stderr, /this is a model of embeddings/, args[0]);
    }
    const inspected = await lapidary(['inspect', model, '--json']);
    const told = JSON.parse(inspected.stdout) as Record<string, unknown>;
    assert.deepEqual(told['capabilities'], ['embedding']);
    assert.equal(told['embedding_size'], 96);
    const measured = await lapidary(['bench', model, '--texts', '3', '-p', '20', '--runs', '1', '--json']);
    assert.equal(measured.status, 0, measured.stderr);
    assert.ok(Number((JSON.parse(measured.stdout) as Record<string, unknown>)['texts_per_second']) > 0);
    const talking = await lapidary(['embed', 'builtin', '--text', 'a', '--json']);
    assert.match(talking.stderr, /no model of embeddings: each vector is the mean of the last hidden states/);
    const refused = await lapidary(['embed', 'builtin', '--text', 'a', '--task', 'query']);
    assert.match(refused.stderr, /'task' is for models of embeddings/);
});

const cleanups: (() => unknown)[] = [];
let server: TestServer;
before(async () => {
    server = await testServer({ after: (fn) => cleanups.push(fn as () => unknown) }, { model: `${fixture('q8_0')}.gguf` });
});
after(async () => {
    for (const cleanup of cleanups) await cleanup();
});

test("OpenAI's client gets the vectors of texts and of tokens", engine, async () => {
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none' });
    const [model] = (await client.models.list()).data;
    const ask = { model: model?.id ?? '' };
    const texts = await client.embeddings.create({ ...ask, input: ['sky', 'T'], encoding_format: 'float' });
    await near(texts.data[0]?.embedding, 1);
    await near(texts.data[1]?.embedding, 0);
    const lengths = [(await expected(0, 'ids')).length, (await expected(1, 'ids')).length];
    assert.deepEqual(texts.usage, { prompt_tokens: lengths[0]! + lengths[1]!, total_tokens: lengths[0]! + lengths[1]! });
    // Unless told otherwise this client asks for base64, and decodes it.
    await near((await client.embeddings.create({ ...ask, input: 'sky', dimensions: 24 })).data[0]?.embedding, 1, 'embedding.24');
    const tokens = [[...(await expected(4, 'ids'))], [...(await expected(1, 'ids'))]];
    const { data } = await client.embeddings.create({ ...ask, input: tokens });
    await near(data[0]?.embedding, 4);
    await near(data[1]?.embedding, 1);
    const body = JSON.stringify({ input: sky, task: 'query' });
    const answer = await raw(`${server.url}/v1/embeddings`, { method: 'POST', body });
    assert.equal(answer.headers['x-lapidary-embeddings'], undefined, 'this model was trained for it');
    await near((JSON.parse(answer.body) as { data: { embedding: number[] }[] }).data[0]?.embedding, 2);
    await assert.rejects(client.embeddings.create({ ...ask, input: 'a', dimensions: 97 }), { status: 400 });
    const chat = client.chat.completions.create({ ...ask, messages: [{ role: 'user', content: 'Hello' }] });
    await assert.rejects(chat, (error: Error & { status?: number }) => error.status === 400 && /this is a model of embeddings/.test(error.message));
});

test("Ollama's client gets them, and is told what the model can do", engine, async () => {
    const client = new Ollama({ host: server.url });
    const { models } = await client.list();
    const model = models[0]?.name ?? '';
    assert.deepEqual((await client.show({ model })).capabilities, ['embedding']);
    const { embeddings, prompt_eval_count } = await client.embed({ model, input: ['sky', 'T'] });
    await near(embeddings[0], 1);
    await near(embeddings[1], 0);
    assert.ok(prompt_eval_count > 0);
    await near((await client.embed({ model, input: 'sky', dimensions: 48 })).embeddings[0], 1, 'embedding.48');
    await near((await client.embeddings({ model, prompt: 'sky' })).embedding, 1);
    await assert.rejects(client.embed({ model, input: tire, truncate: false, options: { num_ctx: 8 } }), /tokens and the context holds 8/);
    assert.equal((await client.embed({ model, input: tire, options: { num_ctx: 8 } })).prompt_eval_count, 8);
    await assert.rejects(client.chat({ model, messages: [{ role: 'user', content: 'Hello' }] }), /this is a model of embeddings/);
});

test('the library gives them, all at once or one by one', engine, async (t) => {
    const loaded = await Lapidary.load(`${fixture('q8_0')}.gguf`, { backend: 'cpu' });
    t.after(() => loaded.dispose());
    assert.equal(loaded.info.description['embedding_size'], 96);
    const [first, second] = await loaded.embed(['sky', 'T']);
    await near(first, 1);
    await near(second, 0);
    const { data } = await loaded.embeddings.create({ input: tire, task: 'document' });
    await near(data[0]?.embedding as number[], 3);
    await assert.rejects(loaded.chat.completions.create({ messages: [{ role: 'user', content: 'Hello' }] }), /this is a model of embeddings/);
});
