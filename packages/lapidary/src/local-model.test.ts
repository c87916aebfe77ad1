import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { keptModelsHere } from './hub/kept-node.js';
import { resolveModel } from './hub/resolve.js';
import { openLocalModel } from './local-model.js';
import { nodeRuntime } from './node-runtime.js';
import { RegistryServer } from './testing/registry-server.js';

const gguf = (text: string) => new TextEncoder().encode(`GGUF${text}`);

test('a downloaded model is opened by its names, with what came along; a file of that name wins, unless it is meant', async (t) => {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-local-'));
    const [models, ollama] = [process.env['LAPIDARY_MODELS'], process.env['OLLAMA_MODELS']];
    const put = (name: string, value: string | undefined) => (value === undefined ? delete process.env[name] : (process.env[name] = value));
    put('LAPIDARY_MODELS', path.join(folder, 'models'));
    put('OLLAMA_MODELS', '/nonexistent');
    const model = { model: gguf('downloaded'), adapter: gguf('adapter'), params: { temperature: 0.5 }, system: 'Be brief.' };
    const server = await RegistryServer.start({ 'library/gemma4:e2b': model });
    t.after(async () => {
        await server.stop();
        await fs.rm(folder, { recursive: true });
        put('LAPIDARY_MODELS', models);
        put('OLLAMA_MODELS', ollama);
    });
    const endpoints = { ollama: server.endpoint, huggingface: 'http://127.0.0.1:9' };
    await assert.rejects(openLocalModel('e2b'), { code: 'not_found' });
    await keptModelsHere().pull(await resolveModel('e2b', { endpoints, retries: 0 }));

    const textOf = async (name: string, open: typeof openLocalModel) => {
        const { sources, openAdapters, params, system } = await open(name);
        const adapters = (await openAdapters?.()) ?? [];
        const texts = await Promise.all([...sources, ...adapters].map(async (source) => {
            const bytes = await source.read(4, source.size - 4);
            await source.close();
            return new TextDecoder().decode(bytes);
        }));
        return { texts, params, system };
    };
    const expected = { texts: ['downloaded', 'adapter'], params: { temperature: 0.5 }, system: 'Be brief.' };
    for (const name of ['e2b', 'gemma4:e2b', 'gemma-4-e2b']) assert.deepEqual(await textOf(name, openLocalModel), expected);
    const file = path.join(folder, 'e2b');
    await fs.writeFile(file, gguf('a file'));
    assert.deepEqual((await textOf(file, openLocalModel)).texts, ['a file']);
    const meant = await nodeRuntime.openLocal?.('kept:e2b', undefined);
    assert.equal(meant?.sources[0]?.size, 14);
    await Promise.all(meant?.sources.map((source) => source.close()) ?? []);
    await assert.rejects(async () => await nodeRuntime.openLocal?.(`kept:${file}`, undefined), /there is no model/);
});
