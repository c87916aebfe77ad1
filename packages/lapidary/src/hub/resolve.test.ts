import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { HubServer, goodToken, tokenWithoutAccess, type FakeRepository } from '../testing/hub-server.js';
import { RegistryServer, type FakeOllamaModel } from '../testing/registry-server.js';
import { problemOf } from './problem.js';
import { projectorOf, withProjector } from './projector.js';
import { resolveModel, type ResolveOptions } from './resolve.js';
import { searchHub } from './search.js';

const quick = { retries: 2, retryDelayMs: 1 };
const gguf = (text: string) => new TextEncoder().encode(`GGUF${text}`);

const e2b: FakeRepository = {
    files: {
        'README.md': gguf('no model'),
        'gemma-4-E2B_q4_0-it.gguf': gguf('e2b'),
        'gemma-4-E2B-it-mmproj.gguf': gguf('eyes'),
    },
    licence: 'apache-2.0',
    architecture: 'gemma4',
    downloads: 5,
};
const several: FakeRepository = {
    files: {
        'gemma-4-E4B-it-BF16.gguf': gguf('bf16'),
        'gemma-4-E4B-it-Q4_K_M.gguf': gguf('q4'),
        'big/gemma-4-E4B-it-Q8_0-00001-of-00002.gguf': gguf('q8 one'),
        'big/gemma-4-E4B-it-Q8_0-00002-of-00002.gguf': gguf('q8 two'),
        'gemma-4-E4B-it-Q6_K-00001-of-00002.gguf': gguf('its second half is missing'),
    },
    downloads: 50,
};

async function withHub(
    repositories: Record<string, FakeRepository>,
    work: (server: HubServer, options: ResolveOptions) => Promise<void>,
    token?: string,
): Promise<void> {
    const server = await HubServer.start(repositories);
    // Nothing listens at the other one.
    const endpoints = { huggingface: server.endpoint, ollama: 'http://127.0.0.1:9', ...(token === undefined ? {} : { token }) };
    try {
        await work(server, { endpoints, ...quick });
    } finally {
        await server.stop();
    }
}

async function refusedAs(promise: Promise<unknown>, kind: string, message: RegExp): Promise<void> {
    await assert.rejects(promise, (error: unknown) => {
        assert.ok(error instanceof LapidaryError, String(error));
        assert.match(error.message, message);
        assert.equal(problemOf(error).kind, kind);
        return true;
    });
}

test('a name of the catalogue becomes a file with its size, digest, licence and commit', async () => {
    await withHub({ 'google/gemma-4-E2B-it-qat-q4_0-gguf': e2b }, async (server, options) => {
        const found = await resolveModel('e2b', options);
        assert.equal(found.name, 'gemma-4-e2b');
        assert.equal(found.entry?.id, 'gemma-4-e2b');
        assert.equal(found.bytes, 7);
        assert.ok(found.checked && !found.gated);
        assert.equal(found.licence?.id, 'apache-2.0');
        assert.equal(found.licence?.mustAgree, false);
        const [file] = found.files;
        assert.match(file?.sha256 ?? '', /^[0-9a-f]{64}$/);
        const commit = server.commitOf('google/gemma-4-E2B-it-qat-q4_0-gguf');
        assert.equal(file?.url, `${server.endpoint}/google/gemma-4-E2B-it-qat-q4_0-gguf/resolve/${commit}/gemma-4-E2B_q4_0-it.gguf`);
        assert.deepEqual(found.projectors.map(({ name }) => name), ['gemma-4-E2B-it-mmproj.gguf']);
        assert.equal(server.asked('bytes').length, 0, 'nothing is downloaded yet');
        const seeing = withProjector(found);
        assert.deepEqual(seeing.files.map(({ role, name }) => `${role} ${name}`), [
            'model gemma-4-E2B_q4_0-it.gguf',
            'projector gemma-4-E2B-it-mmproj.gguf',
        ]);
        assert.equal(seeing.bytes, 7 + (found.projectors[0]?.bytes ?? NaN));
        assert.ok(seeing.checked);
    });
});

test('of several projectors one comes along: as it was trained, if it can be; none that no engine of ours reads', async () => {
    await withHub({ 'a/b': several }, async (_, options) => {
        const found = await resolveModel('hf:a/b', options);
        const named = (...names: string[]) => ({
            ...found,
            architecture: 'gemma4',
            projectors: names.map((name) => ({ ...found.files[0]!, role: 'projector' as const, name })),
        });
        assert.equal(projectorOf(named('mmproj-F32.gguf', 'mmproj-Q8_0.gguf', 'mmproj-F16.gguf', 'mmproj-BF16.gguf'))?.name, 'mmproj-BF16.gguf');
        assert.equal(projectorOf(named('mmproj-F32.gguf', 'mmproj-Q8_0.gguf'))?.name, 'mmproj-Q8_0.gguf');
        assert.equal(projectorOf(named()), undefined);
        assert.equal(projectorOf({ ...named('mmproj-F16.gguf'), architecture: 'gemma3' }), undefined);
        assert.equal(withProjector(named()).files.length, found.files.length);
    });
});

test('a source of the catalogue that is not there gives way to the next', async () => {
    await withHub({ 'ggml-org/gemma-4-E4B-it-GGUF': several }, async (_, options) => {
        const found = await resolveModel('gemma4:e4b', options);
        assert.equal(found.files[0]?.name, 'gemma-4-E4B-it-Q4_K_M.gguf');
        assert.equal(found.name, 'gemma-4-e4b');
        assert.equal(found.licence?.id, 'apache-2.0', 'the catalogue knows it where the repository does not say');
    });
});

test('of several files one is chosen, or asked for by name or quantisation; pieces stay together', async () => {
    await withHub({ 'a/b': several }, async (_, options) => {
        const best = await resolveModel('hf:a/b', options);
        assert.equal(best.quantisation, 'Q4_K_M');
        assert.deepEqual(best.others.map(({ quantisation }) => quantisation), ['Q8_0', 'BF16'], 'half a model is none');
        const split = await resolveModel('hf:a/b:q8_0', options);
        assert.equal(split.files.length, 2);
        assert.equal(split.bytes, 20);
        assert.equal(split.name, 'gemma-4-E4B-it-Q8_0');
        const second = await resolveModel('hf:a/b/big/gemma-4-E4B-it-Q8_0-00002-of-00002.gguf', options);
        assert.deepEqual(second.files, split.files, 'any piece leads to all of them');
        await refusedAs(resolveModel('hf:a/b:Q5_0', options), 'other', /has no Q5_0; there are Q4_K_M, Q8_0, BF16/);
        await refusedAs(resolveModel('hf:a/b/c.gguf', options), 'other', /no model file 'c\.gguf'/);
        await refusedAs(resolveModel('hf:a/b@v9', options), 'missing', /does not have the model a\/b at v9/);
    });
});

test('what is not there, needs an account, or is busy is said as such', async () => {
    await withHub({ 'a/gated': { ...e2b, gated: 'manual' } }, async (server, options) => {
        await refusedAs(resolveModel('hf:a/none', options), 'missing', /does not have the model a\/none, or shows it to some accounts/);
        assert.equal((await resolveModel('hf:a/gated', options)).gated, true);
        server.faults.busy = { answers: 9, retryAfter: '40' };
        await refusedAs(resolveModel('hf:a/gated', options), 'busy', /asks to wait 40 s/);
    });
    await withHub({ 'a/gated': { ...e2b, gated: 'auto' } }, async (server, options) => {
        await resolveModel('hf:a/gated', options);
        assert.equal(server.log[0]?.authorization, `Bearer ${goodToken}`);
    }, goodToken);
    await refusedAs(resolveModel('hf:a/b', { endpoints: { huggingface: 'http://127.0.0.1:9' }, ...quick }), 'offline', /cannot be reached/);
});

test('a busy server is asked again when it says, and no sooner', async () => {
    await withHub({ 'a/b': e2b }, async (server, options) => {
        server.faults.busy = { answers: 2, retryAfter: '7' };
        const waits: number[] = [];
        await resolveModel('hf:a/b', { ...options, wait: async (ms) => void waits.push(ms) });
        assert.deepEqual(waits, [7000, 7000]);
        assert.equal(server.log.length, 3);
    });
});

test('a model that the engine cannot run is known before it is downloaded', async () => {
    await withHub({ 'a/llama': { ...e2b, architecture: 'llama' } }, async (_, options) => {
        assert.match((await resolveModel('hf:a/llama', options)).problem ?? '', /'llama' model; Lapidary runs Gemma 4/);
    });
});

test('an address alone gives size and, where the server promises one, a digest', async () => {
    await withHub({ 'a/b': e2b }, async (server, options) => {
        // As a mirror under another name would be: not one of the hosts we know to be Hugging Face.
        const elsewhere = { ...options, endpoints: { huggingface: 'https://huggingface.co' } };
        const found = await resolveModel(`${server.endpoint}/a/b/resolve/main/gemma-4-E2B_q4_0-it.gguf`, elsewhere);
        assert.equal(found.source, 'url');
        assert.equal(found.bytes, 7);
        assert.match(found.files[0]?.sha256 ?? '', /^[0-9a-f]{64}$/, 'X-Linked-ETag');
        assert.equal(found.title, 'Gemma 4 E2B Q4_0');
    });
});

const lies: [what: string, extra: Record<string, unknown>, check: RegExp | undefined][] = [
    ['no files', { siblings: undefined }, /no GGUF file/],
    ['files that are none', { siblings: [1, null, { rfilename: 5 }, { rfilename: '../../x.gguf' }] }, /no GGUF file/],
    ['another name', { id: 'a' }, /does not answer about a\/b as Hugging Face does/],
    ['a size below zero', { siblings: [{ rfilename: 'a.gguf', size: -5, lfs: { sha256: 'x', size: 1e300 } }] }, undefined],
];
for (const [what, extra, check] of lies) {
    test(`an answer with ${what} is not believed`, async () => {
        await withHub({ 'a/b': { ...e2b, extra } }, async (_, options) => {
            if (check) return await refusedAs(resolveModel('hf:a/b', options), 'other', check);
            const { bytes, checked, files } = await resolveModel('hf:a/b', options);
            assert.deepEqual([bytes, checked, files[0]?.sha256], [undefined, false, undefined]);
        });
    });
}

test('an answer without end is not read to its end', async () => {
    const server = createServer((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const piece = ' '.repeat(64 * 1024);
        const more = () => void (response.destroyed || response.write(piece, more));
        more();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const huggingface = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
        await refusedAs(resolveModel('hf:a/b', { endpoints: { huggingface }, mostBytes: 1e6, ...quick }), 'other', /longer than 1000000 bytes/);
    } finally {
        server.closeAllConnections();
        server.close();
    }
});

test('a search finds what there is, with sizes, and says what cannot be run', async () => {
    const repositories = {
        'a/gemma-4-E2B-GGUF': e2b,
        'b/gemma-4-E4B-GGUF': { ...several, gated: 'auto' as const },
        'c/gemma-3n-GGUF': { ...e2b, architecture: 'gemma3n', licence: 'gemma' },
        'd/llama-GGUF': { ...e2b, architecture: 'llama' },
    };
    await withHub(repositories, async (server, options) => {
        const found = await searchHub('4', options);
        assert.deepEqual(found.map(({ repository }) => repository), ['b/gemma-4-E4B-GGUF', 'a/gemma-4-E2B-GGUF']);
        assert.deepEqual(found.map(({ gated }) => gated), [true, false]);
        assert.equal(found[1]?.models[0]?.bytes, 7);
        assert.equal(found[0]?.downloads, 50);
        const [three] = await searchHub('gemma-3n', options);
        assert.equal(three?.readable, false);
        assert.equal(three?.licence?.mustAgree, true);
        assert.equal((await searchHub('llama', { ...options, everything: true })).length, 1);
        assert.equal((await searchHub('llama', options)).length, 0);
        server.log.length = 0;
        const brief = await searchHub('', { ...options, sizes: false, limit: 1 });
        assert.equal(brief.length, 1);
        assert.equal(server.log.length, 1);
    });
});

const ollamaE2b: FakeOllamaModel = {
    model: gguf('ollama e2b'),
    params: { temperature: 1, top_k: 64 },
    system: 'Be brief.',
    licence: 'Apache License\nVersion 2.0, January 2004',
};

async function withRegistry(
    models: Record<string, FakeOllamaModel>,
    work: (server: RegistryServer, options: ResolveOptions) => Promise<void>,
): Promise<void> {
    const server = await RegistryServer.start(models);
    try {
        await work(server, { endpoints: { ollama: server.endpoint, huggingface: 'http://127.0.0.1:9' }, ...quick });
    } finally {
        await server.stop();
    }
}

test("a model of Ollama's registry comes with its digest, parameters, instructions and licence", async () => {
    await withRegistry({ 'library/mine:7b': ollamaE2b }, async (_, options) => {
        const found = await resolveModel('mine:7b', options);
        assert.equal(found.source, 'ollama');
        assert.equal(found.name, 'mine:7b');
        assert.deepEqual(found.params, { temperature: 1, top_k: 64 });
        assert.equal(found.system, 'Be brief.');
        assert.equal(found.licence?.id, 'apache-2.0');
        assert.ok(found.checked);
        assert.equal(found.bytes, 14);
        await refusedAs(resolveModel('ollama:nobody', options), 'missing', /does not have the model 'nobody:latest'/);
    });
});

test('a registry that wants a token gives one to anybody', async () => {
    await withRegistry({ 'library/mine:7b': ollamaE2b }, async (server, options) => {
        server.wantsToken = true;
        const found = await resolveModel('mine:7b', options);
        assert.deepEqual(found.files[0]?.headers, { authorization: 'Bearer anonymous' });
    });
});

test('the catalogue falls back to Ollama when Hugging Face cannot be reached', async () => {
    await withRegistry({ 'library/gemma4:e2b': ollamaE2b }, async (_, options) => {
        const found = await resolveModel('e2b', options);
        assert.equal(found.source, 'ollama');
        assert.equal(found.name, 'gemma-4-e2b');
    });
});

const manifests: [what: string, manifest: unknown, message: RegExp][] = [
    ['is no object', [1], /not a JSON object/],
    ['has no layers', {}, /no list of layers/],
    ['has a digest that climbs', { layers: [{ mediaType: 'x', digest: 'sha256:../../x', size: 1 }] }, /SHA-256/],
    ['has no model', { layers: [] }, /no model file/],
    ['has too many layers', { layers: Array.from({ length: 1001 }, () => ({ mediaType: 'x', digest: `sha256:${'0'.repeat(64)}`, size: 1 })) }, /1001 layers/],
    [
        'has parameters of a gigabyte',
        {
            layers: [
                { mediaType: 'application/vnd.ollama.image.model', digest: `sha256:${'0'.repeat(64)}`, size: 1 },
                { mediaType: 'application/vnd.ollama.image.params', digest: `sha256:${'0'.repeat(64)}`, size: 1e9 },
            ],
        },
        /1000000000 bytes long, which cannot be right/,
    ],
];
for (const [what, manifest, message] of manifests) {
    test(`a manifest that ${what} is refused`, async () => {
        await withRegistry({}, async (server, options) => {
            server.putManifest('library/bad:latest', manifest);
            await assert.rejects(resolveModel('ollama:bad', options), message);
        });
    });
}

test('a token of somebody without access is said to need an account only when it downloads', async () => {
    await withHub({ 'a/gated': { ...e2b, gated: 'manual' } }, async (_, options) => {
        assert.ok((await resolveModel('hf:a/gated', options)).gated);
    }, tokenWithoutAccess);
});
