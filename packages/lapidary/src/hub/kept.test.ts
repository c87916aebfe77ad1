import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ModelCache } from '../cache/cache.js';
import { LocalLocks } from '../cache/share.js';
import { arrived } from '../testing/arrived.js';
import { noise } from '../testing/fake-remote.js';
import { HubServer, goodToken, tokenWithoutAccess, type FakeRepository } from '../testing/hub-server.js';
import { MemoryFs, type MemoryFsOptions } from '../testing/memory-fs.js';
import { RegistryServer } from '../testing/registry-server.js';
import { findEntry } from '../catalogue/catalogue.js';
import { KeptModels, type PullOptions, type PullProgress } from './kept.js';
import { problemOf } from './problem.js';
import { resolveModel, type ResolveOptions } from './resolve.js';

const size = 250_000;
const chunkBytes = 2_500;
const quick = { retries: 3, retryDelayMs: 1 };
const google = 'google/gemma-4-E2B-it-qat-q4_0-gguf';
const fileName = 'gemma-4-E2B_q4_0-it.gguf';

/** Different for different seeds. */
function gguf(seed = 0, length = size): Uint8Array {
    const bytes = noise(length).map((byte) => byte ^ seed);
    bytes.set(new TextEncoder().encode('GGUF'));
    return bytes;
}

interface Place {
    server: HubServer;
    fs: MemoryFs;
    options: ResolveOptions;
    /** As another start of the program finds it. */
    kept(): KeptModels;
    pull(name?: string, more?: PullOptions): Promise<unknown>;
    /** Of a server that sends no more than half. */
    stopHalfway(): Promise<void>;
}

async function withPlace(
    work: (place: Place) => Promise<void>,
    { repository = {}, token, disk = {} }: { repository?: Partial<FakeRepository>; token?: string; disk?: MemoryFsOptions } = {},
): Promise<void> {
    const server = await HubServer.start({ [google]: { files: { [fileName]: gguf() }, licence: 'apache-2.0', ...repository } });
    const fs = new MemoryFs(disk);
    const kept = () => new KeptModels(fs, new ModelCache({ fs, chunkBytes, locks: new LocalLocks() }), (name) => findEntry(name)?.id);
    const endpoints = { huggingface: server.endpoint, ollama: 'http://127.0.0.1:9', ...(token === undefined ? {} : { token }) };
    const options = { endpoints, ...quick };
    const pull = async (name = 'e2b', more: PullOptions = {}) =>
        await kept().pull(await resolveModel(name, options), { ...quick, ...more });
    const stopHalfway = async () => {
        const stop = new AbortController();
        const stopped = failsAs(pull('e2b', { signal: stop.signal }), 'stopped');
        await arrived(fs, 100_000);
        stop.abort();
        await stopped;
    };
    try {
        await work({ server, fs, options, kept, pull, stopHalfway });
    } finally {
        await server.stop();
    }
}

const downloads = (server: HubServer | RegistryServer) =>
    server.asked('bytes').filter(({ range }) => !/^bytes=0-[0-9]$/.test(range ?? ''));

async function bytesOf(kept: KeptModels, name: string): Promise<Uint8Array> {
    const model = await kept.find(name);
    assert.ok(model, `${name} is kept`);
    const sources = await kept.open(model);
    const pieces = await Promise.all(sources.map((source) => source.read(0, source.size)));
    await Promise.all(sources.map((source) => source.close()));
    return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

async function failsAs(promise: Promise<unknown>, kind: string): Promise<string> {
    let sentence = '';
    await assert.rejects(promise, (error: unknown) => {
        const problem = problemOf(error);
        assert.equal(problem.kind, kind, String(error));
        sentence = problem.sentence;
        return true;
    });
    return sentence;
}

test('a model is downloaded once, compared with its digest, and found by its names', async () => {
    await withPlace(async ({ server, kept, pull }) => {
        const seen: PullProgress[] = [];
        await pull('e2b', { onProgress: (progress) => void seen.push(progress), now: 86_400_000 });
        const [model, ...others] = await kept().list();
        assert.equal(others.length, 0);
        assert.equal(model?.state, 'complete');
        assert.equal(model?.checked, true);
        assert.equal(model?.bytes, size);
        assert.equal(model?.created.toISOString(), '1970-01-02T00:00:00.000Z');
        assert.equal(model?.licence?.name, 'Apache License 2.0');
        for (const name of ['e2b', 'gemma4:e2b', 'Gemma-4-E2B', fileName]) {
            assert.equal((await kept().find(name))?.name, 'gemma-4-e2b', name);
        }
        assert.equal(await kept().find('e4b'), undefined);
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
        assert.ok(seen.every(({ done, total }) => done <= total && total === size));
        assert.ok(seen.some(({ state }) => state === 'downloading'));
        assert.equal(downloads(server).length, 1);
        await pull();
        assert.equal(downloads(server).length, 1, 'what is there is not fetched again');
    });
});

test('a connection that is cut goes on where it broke', async () => {
    await withPlace(async ({ server, kept, pull }) => {
        server.faults.cut = { answers: 2, after: 75_000 };
        const pauses: string[] = [];
        await pull('e2b', { onProgress: ({ pause }) => void (pause && pauses.push(pause.reason)) });
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
        const starts = downloads(server).map(({ range }) => Number(/^bytes=(\d+)/.exec(range ?? '')?.[1]));
        assert.equal(starts.length, 3);
        assert.ok(starts[0] === 0 && starts[1]! > 0 && starts[2]! > starts[1]!, String(starts));
        assert.equal(pauses.length, 2);
    });
});

test('what has arrived when it is stopped is kept, shown as a part, and gone on with', async () => {
    await withPlace(async ({ server, kept, pull, stopHalfway }) => {
        server.faults.stallAt = 125_000;
        await stopHalfway();
        const part = await kept().find('e2b');
        assert.equal(part?.state, 'partial');
        assert.ok(part && part.have >= 75_000 && part.have < size, String(part?.have));
        await assert.rejects(bytesOf(kept(), 'e2b'), /is not complete.*'lapidary pull gemma-4-e2b' goes on with it/);
        server.faults.stallAt = Infinity;
        await pull();
        const [, second] = downloads(server);
        assert.ok(Number(/^bytes=(\d+)/.exec(second?.range ?? '')?.[1]) > 75_000);
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
    });
});

test('a wrong byte is noticed and fetched again', async () => {
    await withPlace(async ({ server, kept, pull }) => {
        server.faults.wrong = { answers: 1, at: 43_210 };
        const states = new Set<string>();
        await pull('e2b', { onProgress: ({ state }) => void states.add(state) });
        assert.ok(states.has('again'));
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
    });
});

test('bytes that are wrong again are not kept', async () => {
    await withPlace(async ({ server, kept, pull, fs }) => {
        server.faults.wrong = { answers: 9, at: 43_210 };
        assert.match(await failsAs(pull(), 'wrong'), /did not match its checksum, twice/);
        assert.deepEqual(await kept().list(), []);
        assert.ok(fs.names.every((name) => !name.endsWith('.data') && !name.endsWith('.part')), String(fs.names));
    });
});

test('a new version of a repository never mixes with the old one', async () => {
    await withPlace(async ({ server, kept, pull, fs, stopHalfway }) => {
        server.faults.stallAt = 125_000;
        await stopHalfway();
        server.put(google, { files: { [fileName]: gguf(7) } });
        server.faults.stallAt = Infinity;
        await pull();
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf(7));
        assert.equal(fs.names.filter((name) => /\.(data|part)$/.test(name)).length, 1, 'nothing is left of the other');
    });
});

test('a repository that needs an account says so, and the token goes to nobody else', async () => {
    const repository = { gated: 'manual' as const };
    await withPlace(async ({ pull, fs, kept }) => {
        assert.equal(await failsAs(pull(), 'account'), 'This file needs an account at its source.');
        assert.deepEqual(await kept().list(), []);
        assert.deepEqual(fs.names, [], 'nothing is left of what never began');
    }, { repository });
    await withPlace(async ({ pull }) => void (await failsAs(pull(), 'account')), { repository, token: tokenWithoutAccess });
    await withPlace(async ({ pull, server, fs }) => {
        await pull();
        assert.ok(server.asked('front').every(({ authorization }) => authorization === `Bearer ${goodToken}`));
        assert.ok(server.asked('bytes').every(({ authorization }) => authorization === undefined));
        const manifest = new TextDecoder().decode(await fs.readWhole(fs.names.find((name) => name.endsWith('.model'))!, 1e6));
        assert.doesNotMatch(manifest, /hf_good|secret/);
    }, { repository, token: goodToken });
});

test('a file that is gone, and a source that is busy', async () => {
    await withPlace(async ({ server, options, kept, pull }) => {
        const resolved = await resolveModel('e2b', options);
        server.faults.busy = { answers: 1, retryAfter: '0' };
        await kept().pull(resolved, quick);
        const [model] = await kept().list();
        await kept().remove(model!);
        server.faults.busy = { answers: 99, retryAfter: '0' };
        await failsAs(kept().pull(resolved, { ...quick, http: { ...quick } }), 'busy');
        server.faults.busy.answers = 0;
        server.remove(google);
        assert.equal(await failsAs(kept().pull(resolved, quick), 'missing'), 'The file is not there any more.');
        assert.deepEqual(await kept().list(), []);
        await failsAs(pull(), 'missing');
    });
});

test('a disk that is full is said with numbers, and nothing is deleted', async () => {
    await withPlace(async ({ kept, pull, fs }) => {
        await failsAs(pull(), 'full').then((sentence) => assert.match(sentence, /needs 250 KB\. Nothing was deleted/));
        fs.quota = Infinity;
        await pull();
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
    }, { disk: { quota: 125_000 } });
});

test('the pieces of a split model are one model', async () => {
    const files = {
        'gemma-4-E2B-it-Q8_0-00001-of-00002.gguf': gguf(1),
        'gemma-4-E2B-it-Q8_0-00002-of-00002.gguf': gguf(2, 125_000),
    };
    await withPlace(async ({ kept, pull }) => {
        let most = 0;
        await pull(`hf:${google}`, { onProgress: ({ done, total, files: count }) => {
            assert.equal(total, 375_000);
            assert.equal(count, 2);
            most = Math.max(most, done);
        } });
        assert.ok(most > 350_000);
        const model = await kept().find('gemma-4-E2B-it-Q8_0');
        assert.equal(model?.files.length, 2);
        assert.equal((await bytesOf(kept(), 'gemma-4-E2B-it-Q8_0')).length, 375_000);
    }, { repository: { files } });
});

test('what is not a GGUF file is refused before it is downloaded', async () => {
    const files = { [fileName]: new Uint8Array(size).fill(60) };
    await withPlace(async ({ server, kept, pull }) => {
        await assert.rejects(pull(), /is not a GGUF file: it does not begin like one/);
        assert.equal(downloads(server).length, 0);
        assert.deepEqual(await kept().list(), []);
    }, { repository: { files } });
});

test('removing takes the bytes along, but not those that another model needs', async () => {
    await withPlace(async ({ kept, pull, fs }) => {
        await pull('e2b');
        await pull(`hf:${google}`);
        assert.equal((await kept().list()).length, 2);
        await kept().remove((await kept().find('e2b'))!);
        assert.deepEqual(await bytesOf(kept(), fileName), gguf());
        await kept().remove((await kept().find(fileName))!);
        assert.deepEqual(fs.names, []);
    });
});

test('damage on disk is found when it is looked for, and mended by pulling again', async () => {
    await withPlace(async ({ kept, pull, fs, server }) => {
        await pull();
        fs.tamper(fs.names.find((name) => name.endsWith('.data'))!, (bytes) => bytes.fill(0, 5000, 5001));
        const [model] = await kept().list();
        const [check] = await kept().verify(model!);
        assert.equal(check?.ok, false);
        await pull();
        assert.deepEqual(await bytesOf(kept(), 'e2b'), gguf());
        assert.equal((await kept().verify((await kept().find('e2b'))!))[0]?.ok, true);
        assert.equal(downloads(server).at(-1)?.range, 'bytes=5000-7499', 'one chunk');
    });
});

test('what somebody wrote beside the models is not believed', async () => {
    await withPlace(async ({ kept, pull, fs }) => {
        await pull();
        const name = fs.names.find((entry) => entry.endsWith('.model'))!;
        const good = await fs.readWhole(name, 1e6);
        const spoil: ((json: Record<string, unknown>) => unknown)[] = [
            () => 1,
            (json) => ({ ...json, lapidary: 2 }),
            (json) => ({ ...json, name: 'another' }),
            (json) => ({ ...json, files: [] }),
            (json) => ({ ...json, files: [{ role: 'model', name: 'x', url: 'y', sha256: '../x' }] }),
            (json) => ({ ...json, source: 'builtin' }),
        ];
        for (const change of spoil) {
            const json = JSON.parse(new TextDecoder().decode(good)) as Record<string, unknown>;
            fs.tamper(name, () => new TextEncoder().encode(JSON.stringify(change(json))));
            assert.deepEqual(await kept().list(), [], String(change));
        }
        fs.tamper(name, () => good!.subarray(0, 50));
        assert.deepEqual(await kept().list(), []);
        await pull();
        assert.equal((await kept().list()).length, 1);
    });
});

test("a model of Ollama's registry keeps what belongs to it", async () => {
    const server = await RegistryServer.start({
        'library/mine:7b': { model: gguf(3), adapter: gguf(4, 1000), params: { temperature: 0.5 }, system: 'Be brief.' },
    });
    try {
        const fs = new MemoryFs();
        const kept = new KeptModels(fs, new ModelCache({ fs, chunkBytes }));
        await kept.pull(await resolveModel('mine:7b', { endpoints: { ollama: server.endpoint }, ...quick }), quick);
        const model = await kept.find('mine:7b');
        assert.deepEqual(model?.params, { temperature: 0.5 });
        assert.equal(model?.system, 'Be brief.');
        assert.deepEqual(await bytesOf(kept, 'mine:7b'), gguf(3));
        const [adapter] = await kept.openAdapters(model!);
        assert.equal(adapter?.size, 1000);
    } finally {
        await server.stop();
    }
});

test('a file without a digest is kept as not checked, and replaced when its server has another', async () => {
    let [bytes, etag] = [gguf(1), '"1"'];
    const server = createServer((request, response) => {
        const [, first = '0', last = '0'] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
        const body = bytes.subarray(Number(first), Number(last) + 1);
        const range = `bytes ${first}-${Number(first) + body.length - 1}/${bytes.length}`;
        response.writeHead(206, { 'content-range': range, 'content-length': body.length, etag }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/model-Q4_0.gguf?key=1`;
        const fs = new MemoryFs();
        const kept = new KeptModels(fs, new ModelCache({ fs, chunkBytes }));
        const first = await kept.pull(await resolveModel(address, quick), quick);
        assert.equal(first.name, 'model-Q4_0');
        assert.equal(first.checked, false);
        [bytes, etag] = [gguf(2), '"2"'];
        const again = await resolveModel(address, quick);
        assert.notEqual(again.files[0]?.validator, first.files[0]?.validator);
        await kept.pull(again, quick);
        assert.deepEqual(await bytesOf(kept, 'model-Q4_0'), gguf(2));
        assert.equal(fs.names.filter((name) => name.endsWith('.data')).length, 1);
    } finally {
        server.close();
        server.closeAllConnections();
    }
});
