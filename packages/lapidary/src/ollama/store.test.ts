import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { isPlainName } from './directory.js';
import { parseModelName } from './name.js';
import { NodeDirectory, findStores, storeCandidates } from './node.js';
import { OllamaStore } from './store.js';
import { verifyLayer } from './verify.js';

interface LayerJson {
    mediaType: string;
    digest: string;
    size: number;
}

/** A store in a folder of its own. */
class TestStore {
    private constructor(readonly root: string) {}

    static async make(t: TestContext): Promise<TestStore> {
        const root = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-store-'));
        t.after(() => fs.rm(root, { recursive: true, force: true }));
        await fs.mkdir(path.join(root, 'blobs'));
        await fs.mkdir(path.join(root, 'manifests'));
        return new TestStore(root);
    }

    get store(): OllamaStore {
        return new OllamaStore(new NodeDirectory(this.root));
    }

    async layer(kind: string, contents: string): Promise<LayerJson> {
        const digest = createHash('sha256').update(contents).digest('hex');
        await fs.writeFile(this.blob(`sha256:${digest}`), contents);
        const mediaType = kind === 'config' ? 'application/vnd.docker.container.image.v1+json' : `application/vnd.ollama.image.${kind}`;
        return { mediaType, digest: `sha256:${digest}`, size: Buffer.byteLength(contents) };
    }

    blob(digest: string): string {
        return path.join(this.root, 'blobs', digest.replace(':', '-'));
    }

    async manifest(where: string, contents: object | string): Promise<void> {
        const file = path.join(this.root, 'manifests', where);
        await fs.mkdir(path.dirname(file), { recursive: true });
        await fs.writeFile(file, typeof contents === 'string' ? contents : JSON.stringify(contents));
    }

    /** A model as Ollama would have stored it. */
    async model(where: string, layers: LayerJson[], config: object = { model_format: 'gguf' }): Promise<void> {
        const configLayer = await this.layer('config', JSON.stringify(config));
        await this.manifest(where, { schemaVersion: 2, config: configLayer, layers });
    }
}

const e2b = 'registry.ollama.ai/library/gemma4/e2b';

test('a model is found with everything that belongs to it', async (t) => {
    const made = await TestStore.make(t);
    await made.model(e2b, [
        await made.layer('model', 'GGUF weights'),
        await made.layer('license', 'free'),
        await made.layer('params', '{"temperature":1,"top_k":64}'),
        await made.layer('params', '{"top_k":32}'),
        await made.layer('system', 'Be brief.'),
        await made.layer('projector', 'GGUF eyes'),
        await made.layer('adapter', 'GGUF habit'),
    ]);
    const model = await made.store.resolve(parseModelName('gemma4:e2b'));
    assert.ok(model);
    assert.equal(model.name, 'gemma4:e2b');
    assert.deepEqual(model.params, { temperature: 1, top_k: 32 });
    assert.equal(model.system, 'Be brief.');
    assert.deepEqual(await made.store.texts(model, 'license'), ['free']);
    assert.deepEqual(await made.store.texts(model, 'template'), []);
    assert.deepEqual([model.models.length, model.projectors.length, model.adapters.length, model.all.length], [1, 1, 1, 8]);
    const [source] = await made.store.openLayers(model.models);
    assert.equal(Buffer.from((await source?.read(0, 12)) ?? []).toString(), 'GGUF weights');
    await source?.close();
    for (const layer of model.all) await verifyLayer(made.store, layer);
});

test('a model that is not there is no error, just not there', async (t) => {
    const made = await TestStore.make(t);
    await made.model(e2b, [await made.layer('model', 'x')]);
    assert.equal(await made.store.resolve(parseModelName('gemma4:e4b')), undefined);
    assert.equal(await made.store.resolve(parseModelName('other')), undefined);
});

test('names are found whatever their case, the exact one first', async (t) => {
    const made = await TestStore.make(t);
    await made.model('hf.co/Unsloth/Gemma-4-GGUF/Q4_K_M', [await made.layer('model', 'upper')]);
    const found = await made.store.resolve(parseModelName('HF.co/unsloth/gemma-4-gguf:q4_k_m'));
    assert.equal(found?.name, 'hf.co/Unsloth/Gemma-4-GGUF:Q4_K_M');
    await made.model('hf.co/unsloth/gemma-4-gguf/q4_k_m', [await made.layer('model', 'lower')]);
    const exact = await made.store.resolve(parseModelName('hf.co/unsloth/gemma-4-gguf:q4_k_m'));
    assert.equal(exact?.name, 'hf.co/unsloth/gemma-4-gguf:q4_k_m');
});

test('several model layers are the pieces of a split model', async (t) => {
    const made = await TestStore.make(t);
    await made.model(e2b, [await made.layer('model', 'one'), await made.layer('model', 'two')]);
    const model = await made.store.resolve(parseModelName('gemma4:e2b'));
    assert.equal(model?.models.length, 2);
});

test('models that are not GGUF files are refused by name', async (t) => {
    const made = await TestStore.make(t);
    const layers = [await made.layer('model', 'x')];
    await made.model('registry.ollama.ai/library/a/mlx', layers, { model_format: 'safetensors' });
    await made.model('registry.ollama.ai/library/b/mlx', [await made.layer('tensor', 't'), await made.layer('json', '{}')], {});
    await made.model('registry.ollama.ai/library/c/none', [await made.layer('license', 'l')]);
    await made.model('registry.ollama.ai/library/d/old', layers, { model_format: '' });
    const resolve = (name: string) => made.store.resolve(parseModelName(name));
    await assert.rejects(resolve('a:mlx'), { code: 'unsupported', message: /'a:mlx' is a safetensors model/ });
    await assert.rejects(resolve('b:mlx'), /safetensors \(MLX\) model/);
    await assert.rejects(resolve('c:none'), /has no model file/);
    assert.ok(await resolve('d:old'));
});

test('a blob that is missing, unfinished or cut short is told apart', async (t) => {
    const made = await TestStore.make(t);
    const layer = await made.layer('model', 'weights');
    await made.model(e2b, [layer]);
    const open = () => made.store.openLayers([layer]);
    await fs.writeFile(made.blob(layer.digest), 'weight');
    await assert.rejects(open(), { code: 'truncated', message: /has 6 bytes where the manifest says 7/ });
    await fs.rename(made.blob(layer.digest), `${made.blob(layer.digest)}-partial`);
    await assert.rejects(open(), { code: 'not_found', message: /only partly downloaded/ });
    await fs.rm(`${made.blob(layer.digest)}-partial`);
    await assert.rejects(open(), { code: 'not_found', message: /is missing/ });
});

test('verifying finds a single wrong byte', async (t) => {
    const made = await TestStore.make(t);
    const contents = 'x'.repeat(10_000_000); // more than two pieces of reading
    const layer = await made.layer('model', contents);
    const steps: number[] = [];
    await verifyLayer(made.store, layer, { onProgress: ({ done }) => steps.push(done) });
    assert.equal(steps.at(-1), 10_000_000);
    const handle = await fs.open(made.blob(layer.digest), 'r+');
    await handle.write('y', 9_999_999);
    await handle.close();
    await assert.rejects(verifyLayer(made.store, layer), { code: 'bad_file', message: /damaged/ });
    await assert.rejects(verifyLayer(made.store, layer, { signal: AbortSignal.abort() }), { code: 'cancelled' });
});

const digest = `sha256:${'a'.repeat(64)}`;
const good = { mediaType: 'application/vnd.ollama.image.model', digest, size: 1 };
const brokenManifests: [what: string, contents: object | string][] = [
    ['not JSON', '{"layers": ['],
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['without layers', {}],
    ['with layers of another type', { layers: { length: 3 } }],
    ['with a layer that is a number', { layers: [7] }],
    ['with a layer without a type', { layers: [{ ...good, mediaType: 3 }] }],
    ['with a digest that is a path', { layers: [{ ...good, digest: 'sha256:../../../etc/passwd' }] }],
    ['with a digest that climbs', { layers: [{ ...good, digest: `../${digest}` }] }],
    ['with a digest of another kind', { layers: [{ ...good, digest: 'md5:00' }] }],
    ['with a digest and a line break', { layers: [{ ...good, digest: `${digest}\n` }] }],
    ['with a negative size', { layers: [{ ...good, size: -1 }] }],
    ['with half a byte', { layers: [{ ...good, size: 0.5 }] }],
    ['with a size in words', { layers: [{ ...good, size: '1' }] }],
    ['with an endless size', '{"layers":[{"mediaType":"application/vnd.ollama.image.model","digest":"' + digest + '","size":1e999}]}'],
    ['with a broken config', { config: { ...good, digest: '/etc/passwd' }, layers: [good] }],
    ['that is huge', ' '.repeat(4 * 1024 * 1024 + 1)],
];
test('a broken manifest is an error with a sentence, and is listed as a problem', async (t) => {
    const made = await TestStore.make(t);
    for (const [what, contents] of brokenManifests) {
        await made.manifest(e2b, contents);
        await assert.rejects(made.store.resolve(parseModelName('gemma4:e2b')), { name: 'LapidaryError' }, what);
        const [listed] = await made.store.list();
        assert.equal(listed?.name, 'gemma4:e2b', what);
        assert.match(listed?.problem ?? '', /manifest/, what);
    }
});

test('an uppercase digest or one with a dash names the same blob', async (t) => {
    const made = await TestStore.make(t);
    const layer = await made.layer('model', 'x');
    const shouted = layer.digest.toUpperCase().replace('SHA256:', 'sha256-');
    await made.manifest(e2b, { layers: [{ ...layer, digest: shouted }] });
    const model = await made.store.resolve(parseModelName('gemma4:e2b'));
    assert.equal(model?.models[0]?.digest, layer.digest);
});

test('a prototype in the parameters stays an ordinary member', async (t) => {
    const made = await TestStore.make(t);
    await made.model(e2b, [await made.layer('model', 'x'), await made.layer('params', '{"__proto__":{"top_k":1}}')]);
    const model = await made.store.resolve(parseModelName('gemma4:e2b'));
    assert.equal(model?.params['top_k'], undefined);
});

test('the list tells size, family and type, and skips what is no model', async (t) => {
    const made = await TestStore.make(t);
    const config = { model_format: 'gguf', model_family: 'gemma4', model_type: '5.1B', file_type: 'Q4_K_M' };
    await made.model(e2b, [await made.layer('model', 'weights')], config);
    await made.manifest('registry.ollama.ai/library/gemma4/.DS_Store', 'x');
    await made.manifest('registry.ollama.ai/library/.cache/x', 'x');
    await made.manifest('stray-file', 'x');
    assert.deepEqual(await made.store.list(), [
        {
            name: 'gemma4:e2b',
            bytes: 7 + JSON.stringify(config).length,
            family: 'gemma4',
            parameters: '5.1B',
            quantization: 'Q4_K_M',
        },
    ]);
});

test('links to another disk are followed', { skip: process.platform === 'win32' }, async (t) => {
    const made = await TestStore.make(t);
    const elsewhere = await TestStore.make(t);
    await elsewhere.model(e2b, [await elsewhere.layer('model', 'x')]);
    await fs.rm(path.join(made.root, 'manifests'), { recursive: true });
    await fs.rm(path.join(made.root, 'blobs'), { recursive: true });
    await fs.mkdir(path.join(made.root, 'manifests'));
    await fs.symlink(path.join(elsewhere.root, 'blobs'), path.join(made.root, 'blobs'));
    const host = 'registry.ollama.ai';
    await fs.symlink(path.join(elsewhere.root, 'manifests', host), path.join(made.root, 'manifests', host));
    assert.equal((await made.store.list())[0]?.problem, undefined);
});

test('nothing outside the root can be asked for', async (t) => {
    const made = await TestStore.make(t);
    const directory = new NodeDirectory(made.root);
    for (const name of ['..', '.', '', 'a/b', 'a\\b', 'a\0']) {
        assert.equal(isPlainName(name), false);
        await assert.rejects(directory.open(['blobs', name]), { code: 'invalid_argument' });
        await assert.rejects(directory.list([name]), { code: 'invalid_argument' });
    }
    assert.equal(await directory.open(['blobs']), undefined, 'a folder is no file');
    assert.deepEqual(await directory.list(['nothing']), []);
});

test('the usual places are looked at in order, and OLLAMA_MODELS replaces them', async (t) => {
    const linux = { env: {}, platform: 'linux', home: '/home/ada' };
    assert.deepEqual(storeCandidates(linux), [
        '/home/ada/.ollama/models',
        '/usr/share/ollama/.ollama/models',
        '/var/lib/ollama/.ollama/models',
    ]);
    assert.deepEqual(storeCandidates({ ...linux, env: { OLLAMA_MODELS: '/data' } }), ['/data']);
    assert.deepEqual(storeCandidates({ ...linux, platform: 'darwin', home: '/Users/ada' }), ['/Users/ada/.ollama/models']);
    const windows = { env: { USERPROFILE: 'C:\\Users\\ada' }, platform: 'win32', home: '' };
    assert.deepEqual(storeCandidates(windows), ['C:\\Users\\ada\\.ollama\\models']);
    const made = await TestStore.make(t);
    const stores = await findStores({ ...linux, env: { OLLAMA_MODELS: made.root } });
    assert.deepEqual(
        stores.map((store) => store.directory.label),
        [made.root],
    );
    assert.deepEqual(await findStores({ ...linux, env: { OLLAMA_MODELS: '/nowhere' } }), []);
});
