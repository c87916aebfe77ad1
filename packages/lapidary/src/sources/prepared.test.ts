import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import type { ModelSource } from '../options.js';
import { openPrepared } from './open.js';
import { prepareSource, type PreparedSource } from './prepared.js';
import { MemorySource } from './source.js';

const inPage = { hasDisk: false, base: 'https://example.org/app/index.html' };
const onDisk = { hasDisk: true, base: undefined };

/** A folder as a browser shows it: names and what is in them. */
interface Folder {
    [name: string]: string | Folder;
}

function handleOf(name: string, entry: string | Folder): FileSystemFileHandle | FileSystemDirectoryHandle {
    if (typeof entry === 'string') {
        return { kind: 'file', name, getFile: async () => new Blob([entry]) } as unknown as FileSystemFileHandle;
    }
    const find = async (wanted: string, kind: string) => {
        const found = Object.hasOwn(entry, wanted) ? entry[wanted] : undefined;
        if (found === undefined) throw new DOMException('not there', 'NotFoundError');
        const handle = handleOf(wanted, found);
        if (handle.kind !== kind) throw new DOMException('of another kind', 'TypeMismatchError');
        return handle;
    };
    return {
        kind: 'directory',
        name,
        getDirectoryHandle: (wanted: string) => find(wanted, 'directory'),
        getFileHandle: (wanted: string) => find(wanted, 'file'),
        entries: async function* () {
            for (const [wanted, inner] of Object.entries(entry)) yield [wanted, handleOf(wanted, inner)];
        },
    } as unknown as FileSystemDirectoryHandle;
}

const digest = `sha256:${'ab'.repeat(32)}`;
const manifest = JSON.stringify({
    layers: [{ mediaType: 'application/vnd.ollama.image.model', digest, size: 5 }],
});
const store: Folder = {
    manifests: { 'registry.ollama.ai': { library: { gemma4: { e2b: manifest } } } },
    blobs: { [digest.replace(':', '-')]: 'hello' },
};

async function textOf(prepared: PreparedSource): Promise<string> {
    const { sources } = await openPrepared(prepared, undefined, undefined);
    const bytes = await Promise.all(sources.map((source) => source.read(0, source.size)));
    await Promise.all(sources.map((source) => source.close()));
    return bytes.map((piece) => new TextDecoder().decode(piece)).join('');
}

test('addresses are those of the page', () => {
    const urlOf = (source: ModelSource, options = {}) => {
        const prepared = prepareSource(source, options, inPage);
        return prepared.kind === 'url' ? prepared.url : prepared.kind;
    };
    assert.equal(urlOf('models/a.gguf'), 'https://example.org/app/models/a.gguf');
    assert.equal(urlOf('https://other.org/a.gguf'), 'https://other.org/a.gguf');
    assert.equal(urlOf(new URL('https://other.org/a.gguf')), 'https://other.org/a.gguf');
    assert.equal(urlOf('builtin'), 'https://example.org/app/models/storyteller-q4_k_m.gguf');
    assert.equal(urlOf('builtin', { builtinUrl: '/b.gguf' }), 'https://example.org/b.gguf');
});

test('where there is a disk, words are paths and names', () => {
    assert.deepEqual(prepareSource('builtin', {}, onDisk), { kind: 'local', name: 'builtin' });
    assert.deepEqual(prepareSource('gemma4:e2b', {}, onDisk), { kind: 'local', name: 'gemma4:e2b' });
    assert.deepEqual(prepareSource({ ollama: 'gemma4:e2b' }, {}, onDisk), { kind: 'local', name: 'gemma4:e2b' });
    const shelf = prepareSource({ kept: 'e2b' }, { headers: { a: 'b' } }, onDisk);
    assert.deepEqual(shelf, { kind: 'shelf', name: 'e2b', headers: { a: 'b' } });
    assert.equal(prepareSource('https://other.org/a.gguf', {}, onDisk).kind, 'url');
});

test('every kind of source is known by what it is', () => {
    const file = handleOf('a.gguf', 'x') as FileSystemFileHandle;
    const source = new MemorySource(new Uint8Array(1));
    const directory = handleOf('models', {}) as FileSystemDirectoryHandle;
    const kinds = [new Blob(['x']), [new Blob(['x'])], file, [file, file], source, [source], { directory, model: 'a' }].map(
        (given) => prepareSource(given, {}, inPage).kind,
    );
    assert.deepEqual(kinds, ['blobs', 'blobs', 'files', 'files', 'open', 'open', 'folder']);
    assert.deepEqual(prepareSource({ ollama: 'a' }, {}, inPage), {
        kind: 'server',
        server: 'https://example.org/',
        model: 'a',
        headers: {},
    });
    for (const wrong of [5, [], [new Blob(['x']), file], {}, null, { directory }]) {
        assert.throws(() => prepareSource(wrong as never, {}, inPage), LapidaryError);
    }
});

test('blobs and files are read where they are opened', async () => {
    assert.equal(await textOf({ kind: 'blobs', blobs: [new Blob(['ab']), new Blob(['c'])] }), 'abc');
    assert.equal(await textOf({ kind: 'files', handles: [handleOf('a.gguf', 'abc') as FileSystemFileHandle] }), 'abc');
});

test('a file that must have a digest is given when it has it, and refused when not', async () => {
    const sha256 = createHash('sha256').update('abc').digest('hex');
    const given: [ModelSource, object][] = [
        [new Blob(['abc']), inPage],
        [handleOf('a.gguf', 'abc') as FileSystemFileHandle, inPage],
        [new MemorySource(new TextEncoder().encode('abc')), onDisk],
    ];
    for (const [source, place] of given) {
        const prepare = (digest: string) => prepareSource(source, { sha256: digest }, place as typeof inPage);
        assert.equal(await textOf(prepare(sha256.toUpperCase())), 'abc');
        assert.equal(await textOf(prepare(`sha256:${sha256}`)), 'abc');
        await assert.rejects(textOf(prepare('0'.repeat(64))), { code: 'bad_file', message: /0000 was expected/ });
        assert.throws(() => prepare('abc'), { code: 'invalid_argument', message: /not a SHA-256 digest/ });
    }
    const pieces = prepareSource([new Blob(['a']), new Blob(['b'])], { sha256 }, inPage);
    await assert.rejects(textOf(pieces), { code: 'invalid_argument', message: /2 pieces/ });
});

test("a model is found in a picked folder of Ollama's, also when one above it was picked", async () => {
    for (const picked of [store, { models: store }, { '.ollama': { models: store } }]) {
        const directory = handleOf('picked', picked) as FileSystemDirectoryHandle;
        const prepared: PreparedSource = { kind: 'folder', directory, model: 'gemma4:e2b' };
        assert.equal(await textOf(prepared), 'hello');
        assert.equal((await openPrepared(prepared, undefined, undefined)).name, 'gemma4:e2b');
    }
    const empty = handleOf('Downloads', {}) as FileSystemDirectoryHandle;
    await assert.rejects(textOf({ kind: 'folder', directory: empty, model: 'gemma4:e2b' }), /'Downloads' has no Ollama models/);
    const full = handleOf('models', store) as FileSystemDirectoryHandle;
    await assert.rejects(textOf({ kind: 'folder', directory: full, model: 'gemma4:e4b' }), /no model 'gemma4:e4b'/);
});

test('an Ollama model comes through the local server, blob by blob', async (t) => {
    const models = [
        { name: 'gemma4:e2b', bytes: 5, blobs: [{ digest, size: 5 }] },
        { name: 'broken:latest', bytes: 5, blobs: [], problem: 'its blob is missing' },
        { name: 'evil:latest', bytes: 5, blobs: [{ digest: '../../secret', size: 5 }] },
        { name: 'learnt:latest', bytes: 10, blobs: [{ digest, size: 5 }], adapters: [{ digest, size: 5 }] },
        { name: 'odd:latest', bytes: 10, blobs: [{ digest, size: 5 }], adapters: [{ digest: '../../secret', size: 5 }] },
    ];
    const server = createServer((request, response) => {
        if (request.url === '/api/ollama/models') return response.end(JSON.stringify({ models }));
        if (request.url !== `/api/ollama/blob/${digest}`) return response.writeHead(404).end();
        const [, first = 0, last = 0] = (/(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? []).map(Number);
        response.writeHead(206, { 'content-range': `bytes ${first}-${last}/5` });
        return response.end('hello'.slice(first, last + 1));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const from = (model: string): PreparedSource => ({ kind: 'server', server: address, model, headers: {} });
    assert.equal(await textOf(from('gemma4:e2b')), 'hello');
    assert.equal(await textOf(from('Gemma4:E2B')), 'hello');
    await assert.rejects(textOf(from('gemma4:e4b')), /has no model 'gemma4:e4b'/);
    await assert.rejects(textOf(from('broken')), /its blob is missing/);
    await assert.rejects(textOf(from('evil')), /has no model file/);
    await assert.rejects(textOf(from('odd')), /its adapter/);
    assert.equal((await openPrepared(from('gemma4:e2b'), undefined, undefined)).openAdapters, undefined);
    const { openAdapters } = await openPrepared(from('learnt'), undefined, undefined);
    assert.deepEqual((await openAdapters?.())?.map(({ size }) => size), [5]);
    await assert.rejects(textOf({ ...from('a'), server: 'http://127.0.0.1:1/' } as PreparedSource), /does 'lapidary serve' run there/);
});
