import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { ListedDirectory, isListedFolder } from './listed.js';
import { parseModelName } from './name.js';
import { OllamaStore } from './store.js';

function file(path: string, text: string): File {
    const made = new Blob([text]) as File;
    return Object.defineProperties(made, {
        webkitRelativePath: { value: path },
        name: { value: path.split('/').pop() },
    });
}

/** As a browser lists a home in which Ollama keeps its models. */
function home(): File[] {
    const weights = 'weights';
    const config = JSON.stringify({ model_format: 'gguf' });
    const layer = (kind: string, text: string) => ({
        mediaType: kind,
        digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
        size: text.length,
    });
    const blob = (text: string) => file(`ann/.ollama/models/blobs/sha256-${createHash('sha256').update(text).digest('hex')}`, text);
    const manifest = {
        schemaVersion: 2,
        config: layer('application/vnd.docker.container.image.v1+json', config),
        layers: [layer('application/vnd.ollama.image.model', weights)],
    };
    return [
        file('ann/letter.txt', 'Dear Bob'),
        file('ann/.ollama/models/manifests/registry.ollama.ai/library/gemma4/e2b', JSON.stringify(manifest)),
        blob(weights),
        blob(config),
    ];
}

test('models are found in a folder that is a list of files', async () => {
    const files = home();
    assert.ok(isListedFolder(files));
    const store = new OllamaStore(ListedDirectory.find(files));
    assert.equal(store.directory.label, "the folder 'ann/.ollama/models'");
    assert.deepEqual((await store.list()).map(({ name, problem }) => [name, problem]), [['gemma4:e2b', undefined]]);
    const model = await store.resolve(parseModelName('gemma4:e2b'));
    assert.equal(model?.models[0]?.size, 7);
    assert.equal(await store.directory.open(['..', 'letter.txt']), undefined, 'nothing outside of the store');
    assert.deepEqual(await store.directory.list(['blobs', 'none']), []);
});

test('a folder without models is told what to pick', () => {
    assert.throws(
        () => ListedDirectory.find([file('ann/letter.txt', 'Dear Bob')]),
        (error: unknown) => error instanceof LapidaryError && /^the folder 'ann' has no Ollama models: pick/.test(error.message),
    );
    assert.equal(isListedFolder([new Blob(['picked one by one'])]), false);
    assert.equal(isListedFolder([]), false);
});
