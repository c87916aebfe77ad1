import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { FakeRemote, noise } from '../testing/fake-remote.js';
import { MemoryFs, type MemoryFsOptions } from '../testing/memory-fs.js';
import { ModelCache } from './cache.js';
import { openCached, openCachedPieces, originCache } from './open-cached.js';
import type { CacheProgress } from './progress.js';
import { NotEnoughRoomError } from './quota.js';
import { LocalLocks, type Locks } from './share.js';

const chunkBytes = 1000;
const file = noise(10_500);
const sha256 = createHash('sha256').update(file).digest('hex');

function make(options: MemoryFsOptions = {}): { fs: MemoryFs; cache: ModelCache; remote: FakeRemote } {
    const fs = new MemoryFs(options);
    return { fs, cache: again(fs), remote: new FakeRemote(file) };
}

/** As after a restart, or in another tab with the same `locks`. */
function again(fs: MemoryFs, locks: Locks = new LocalLocks()): ModelCache {
    return new ModelCache({ fs, chunkBytes, locks });
}

const dataOf = (fs: MemoryFs) => fs.names.find((name) => name.endsWith('.data')) ?? '';
const flip = (at: number) => (bytes: Uint8Array) => {
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return bytes;
};

test('a file is downloaded once and then read from disk', async () => {
    const { fs, cache, remote } = make();
    const first = await cache.open(remote, { sha256 });
    assert.equal(first.size, file.length);
    assert.equal(first.name, 'model.gguf');
    for (const [offset, length] of [[0, 1], [999, 2], [3500, 4000], [10_499, 1], [10_500, 0]] as const) {
        assert.deepEqual(await first.read(offset, length), file.slice(offset, offset + length));
    }
    await assert.rejects(first.read(10_499, 2), { code: 'truncated' });
    await first.close();
    const second = await again(fs).open(remote, { sha256: `sha256:${sha256}` });
    assert.deepEqual(await second.read(0, file.length), file);
    assert.deepEqual(remote.requests, [[0, file.length]]);
});

test('a server that sends files only as a whole is no obstacle, also after its connection broke', async () => {
    const { cache } = make();
    let count = 0;
    const server = createServer((_, response) => {
        response.writeHead(200, { 'content-length': file.length, etag: '"1"' });
        if (++count === 2) response.write(file.subarray(0, 4200), () => setTimeout(() => response.destroy(), 20));
        else response.end(file);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        const { port } = server.address() as AddressInfo;
        const notes = new Set<string | undefined>();
        const onProgress = ({ note }: CacheProgress) => void notes.add(note);
        const url = `http://127.0.0.1:${port}/whole.gguf`;
        const source = await cache.open(url, { retryDelayMs: 0, onProgress });
        assert.deepEqual(await source.read(0, file.length), file);
        assert.match([...notes].join(), /does not send parts of a file, so all of it is downloaded first/);
        assert.equal(count, 3, 'the first look, the broken download, and the rest of it');
    } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
    }
});

test('an empty file is a file', async () => {
    const { cache } = make();
    const source = await cache.open(new FakeRemote(new Uint8Array(0)));
    assert.equal(source.size, 0);
    assert.equal((await cache.list())[0]?.state, 'complete');
});

test('a connection that breaks off again and again is taken up where it broke', async () => {
    const { cache, remote } = make();
    remote.breakAfter = 1700;
    const states: string[] = [];
    const onProgress = ({ state }: CacheProgress) => void (states.at(-1) !== state && states.push(state));
    const source = await cache.open(remote, { retryDelayMs: 0, onProgress });
    assert.deepEqual(await source.read(0, file.length), file);
    assert.equal(remote.served, file.length, 'not one byte twice');
    assert.ok(states.includes('retrying'));
    assert.equal(states.at(-1), 'ready');
});

test('a server that stays away is given up, and what came is kept', async () => {
    const { fs, cache, remote } = make();
    remote.breakAfter = 4000;
    remote.onPiece = () => void (remote.served >= 4000 && (remote.refuse = 100));
    const failure = await cache.open(remote, { retries: 2, retryDelayMs: 0 }).catch((error: unknown) => error);
    assert.ok(failure instanceof LapidaryError);
    assert.match(failure.message, /could not be downloaded: refused .* bytes are kept/);
    assert.equal((await cache.list())[0]?.state, 'partial');
    const later = new FakeRemote(file);
    await again(fs).open(later);
    assert.equal(later.requests.length, 1);
    assert.ok((later.requests[0]?.[0] ?? 0) >= 3000);
});

test('a stopped download keeps every chunk that had arrived', async () => {
    const { fs, cache, remote } = make({ flushBytes: 1e9 });
    const stop = new AbortController();
    remote.onPiece = () => void (remote.served >= 6000 && stop.abort());
    await assert.rejects(cache.open(remote, { signal: stop.signal }));
    const later = new FakeRemote(file);
    const source = await again(fs).open(later);
    assert.deepEqual(await source.read(0, file.length), file);
    assert.deepEqual(later.requests, [[6000, 4500]]);
});

test('bytes that are not those promised are refused and not kept', async () => {
    const { fs, cache } = make();
    const other = new FakeRemote(noise(10_500, 7));
    const message = /was expected; nothing of it was kept/;
    await assert.rejects(cache.open(other, { sha256 }), { code: 'bad_file', message });
    assert.deepEqual(fs.names, []);
    await assert.rejects(cache.open(other, { sha256: 'abc' }), { code: 'invalid_argument' });
});

test('when another version without a mark was mixed in, it is downloaded once more as a whole', async () => {
    const { fs, cache } = make();
    const old = new FakeRemote(noise(10_500, 7), null);
    const stop = new AbortController();
    old.onPiece = () => void (old.served >= 4000 && stop.abort());
    await assert.rejects(cache.open(old, { sha256, signal: stop.signal }));
    const fresh = new FakeRemote(file, null);
    const source = await again(fs).open(fresh, { sha256 });
    assert.deepEqual(await source.read(0, file.length), file);
});

test('a new version on the server replaces the old one, and an unfinished old one is not mixed in', async () => {
    const { fs, cache, remote } = make();
    await (await cache.open(remote)).close();
    const newer = new FakeRemote(noise(9000, 3), '"2"');
    const stop = new AbortController();
    newer.onPiece = () => void (newer.served >= 4000 && stop.abort());
    await assert.rejects(again(fs).open(newer, { signal: stop.signal }));
    // Not finished: the old one is still good where nobody asks for the newest.
    const kept = await again(fs).open(newer, { update: 'keep' });
    assert.equal(kept.size, 10_500);
    const newest = new FakeRemote(noise(8000, 4), '"3"');
    const source = await again(fs).open(newest);
    assert.deepEqual(await source.read(0, 8000), newest.bytes);
    assert.equal((await cache.list()).length, 1);
});

test('offline, what is complete is good enough', async () => {
    const { cache, remote } = make();
    await (await cache.open(remote)).close();
    const offline: FakeRemote = Object.create(remote, {
        etag: { get: () => { throw new Error('offline'); } },
    }) as FakeRemote;
    const source = await cache.open(offline);
    assert.deepEqual(await source.read(0, 100), file.slice(0, 100));
});

test('a damaged chunk is found when it is read, and only that chunk is fetched again', async () => {
    const { fs, cache, remote } = make();
    await (await cache.open(remote, { sha256 })).close();
    fs.tamper(dataOf(fs), flip(4321));
    remote.requests = [];
    const source = await again(fs).open(remote, { sha256 });
    assert.deepEqual(remote.requests, []);
    assert.deepEqual(await source.read(4990, 20), file.slice(4990, 5010));
    assert.deepEqual(remote.requests, [[4000, 1000]]);
    // It was put back on disk.
    const later = await again(fs).open(remote, { sha256, check: 'at-open' });
    assert.deepEqual(await later.read(0, file.length), file);
    assert.equal(remote.requests.length, 1);
});

test('a damaged chunk that cannot be put back is fetched whenever it is read', async () => {
    const { fs, cache, remote } = make();
    await (await cache.open(remote, { sha256 })).close();
    fs.tamper(dataOf(fs), flip(4321));
    remote.requests = [];
    const source = await again(fs).open(remote, { sha256 });
    const other = await fs.openWrite(dataOf(fs)); // another tab keeps it busy
    for (let i = 0; i < 2; i++) assert.deepEqual(await source.read(4300, 100), file.slice(4300, 4400));
    assert.equal(remote.requests.length, 2);
    await other.close();
    for (let i = 0; i < 2; i++) assert.deepEqual(await source.read(4300, 100), file.slice(4300, 4400));
    assert.equal(remote.requests.length, 3);
});

test('a damaged chunk that cannot be fetched again is an error, never wrong bytes', async () => {
    const { fs, cache, remote } = make();
    await (await cache.open(remote, { sha256 })).close();
    fs.tamper(dataOf(fs), flip(4321));
    const gone = new FakeRemote(noise(10_500, 9));
    const source = await again(fs).open(gone, { sha256 });
    const reading = (message: RegExp) => assert.rejects(source.read(4000, 10), { code: 'bad_file', message });
    await reading(/bytes 4000 to 4999 .* other bytes there now/);
    gone.read = () => Promise.reject(new LapidaryError('io', 'no network'));
    await reading(/could not be fetched again: no network/);
    assert.deepEqual(await source.read(0, 4000), file.slice(0, 4000), 'the rest is fine');
});

test('verify reads every byte, names the damage, and the next open repairs it', async () => {
    const { fs, cache, remote } = make();
    await (await cache.open(remote)).close();
    assert.deepEqual(await cache.verify('model.gguf'), { ok: true, problem: undefined, damaged: [], sha256 });
    fs.tamper(dataOf(fs), flip(10_499));
    const verdict = await cache.verify('model.gguf');
    assert.equal(verdict.ok, false);
    assert.deepEqual(verdict.damaged, [{ offset: 10_000, length: 500 }]);
    remote.requests = [];
    await cache.open(remote);
    assert.deepEqual(remote.requests, [[10_000, 500]]);
    assert.equal((await cache.verify('model.gguf')).ok, true);
    await assert.rejects(cache.verify('other'), { code: 'not_found' });
});

test('list, usage and remove tell and do what they say', async () => {
    const { fs, cache, remote } = make({ quota: 50_000 });
    await (await cache.open(remote, { sha256 })).close();
    const [listed] = await cache.list();
    assert.ok(listed);
    const { name, url, size, state } = listed;
    assert.deepEqual([name, url, size, state], ['model.gguf', remote.address, 10_500, 'complete']);
    assert.equal(listed.sha256, sha256);
    const usage = await cache.usage();
    assert.equal(usage.files, 1);
    assert.equal(usage.bytes, listed.bytes);
    assert.equal(usage.available, 50_000 - usage.bytes);
    assert.equal(await cache.remove(listed.key), true);
    assert.equal(await cache.remove('model.gguf'), false);
    assert.deepEqual(fs.names, []);
});

test('too little room is told before the download, with what could be removed', async () => {
    const { cache, remote } = make({ quota: 15_000 });
    await (await cache.open(remote, { sha256 })).close();
    const other = Object.assign(new FakeRemote(noise(8000, 5)), { address: 'https://example.org/b' });
    const failure = await cache.open(other).catch((error: unknown) => error);
    assert.ok(failure instanceof NotEnoughRoomError);
    assert.equal(failure.code, 'limit');
    assert.match(failure.message, /needs 8\.0 KB, but the browser has room for 3\.\d KB; removing .* free up to 11 KB/);
    assert.equal(failure.shortage.needed, 8000);
    assert.deepEqual(failure.shortage.evictable.map(({ name }) => name), ['model.gguf']);
    assert.equal(other.served, 0, 'nothing was downloaded in vain');
    // Shown to somebody who makes room, it goes on.
    const source = await cache.open(other, {
        onShortage: async ({ evictable }): Promise<'retry'> => {
            for (const { key } of evictable) await cache.remove(key);
            return 'retry';
        },
    });
    assert.deepEqual(await source.read(0, 8000), other.bytes);
});

test('a browser that promises more room than it has is found out before the download', async () => {
    const { cache, remote } = make({ quota: 5000, promises: 1e9 });
    const failure = await cache.open(remote).catch((error: unknown) => error);
    assert.ok(failure instanceof NotEnoughRoomError, String(failure));
    assert.ok(failure.shortage.available < 5000);
    assert.equal(remote.served, 0);
});

test('room that runs out on the way keeps what came, and goes on when there is more', async () => {
    const { fs, cache, remote } = make();
    const failure = await cache
        .open(Object.assign(remote, { onPiece: () => void (fs.quota = 6000) }))
        .catch((error: unknown) => error);
    assert.ok(failure instanceof NotEnoughRoomError, String(failure));
    fs.quota = Infinity;
    const later = new FakeRemote(file);
    const source = await again(fs).open(later);
    assert.deepEqual(await source.read(0, file.length), file);
    assert.ok(later.served <= 6000, String(later.served));
});

test('two who ask at once share one download, and the second sees the progress of the first', async () => {
    const { fs, remote } = make();
    const locks = new LocalLocks();
    remote.onPiece = () => new Promise((resolve) => setTimeout(resolve, 10));
    const seen: CacheProgress[] = [];
    const first = again(fs, locks).open(remote, { sha256 });
    const second = again(fs, locks).open(remote, { sha256, onProgress: (progress) => void seen.push(progress) });
    for (const source of await Promise.all([first, second])) {
        assert.deepEqual(await source.read(0, file.length), file);
        await source.close();
    }
    assert.deepEqual(remote.requests, [[0, file.length]]);
    const waiting = seen.filter(({ state }) => state === 'waiting');
    assert.ok(waiting.some(({ done, total }) => done > 0 && done < total), JSON.stringify(seen));
});

test('without locks across tabs, a file that is being written is waited for', async () => {
    const { fs, remote } = make();
    remote.onPiece = () => new Promise((resolve) => setTimeout(resolve, 5));
    const sources = await Promise.all([again(fs).open(remote, { sha256 }), again(fs).open(remote, { sha256 })]);
    for (const source of sources) assert.deepEqual(await source.read(0, file.length), file);
    assert.equal(remote.served, file.length);
});

test('one who waits can change their mind, and what is being downloaded cannot be removed', async () => {
    const { fs, remote } = make();
    const locks = new LocalLocks();
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    let begun = (): void => undefined;
    const started = new Promise<void>((resolve) => (begun = resolve));
    remote.onPiece = async () => {
        if (remote.served > 3000) begun(), await gate;
    };
    const first = again(fs, locks).open(remote, { sha256 });
    await started;
    const stop = new AbortController();
    const second = again(fs, locks).open(remote, { sha256, signal: stop.signal });
    setTimeout(() => stop.abort(), 20);
    await assert.rejects(second, { code: 'cancelled' });
    await assert.rejects(again(fs, locks).remove('model.gguf'), /is being downloaded/);
    go();
    await first;
});

test('leftovers that nobody can use are cleared away, and foreign files are left alone', async () => {
    const { fs } = make();
    const id = '0123456789abcdef';
    const useless = [`a.${id}.${id}.part`, `b.${id}.${id}.data`, `c.${id}.sha256.journal`];
    for (const name of [...useless, `d.${id}.sha256.data`, 'notes.txt']) {
        await (await fs.openWrite(name)).close();
    }
    const crashed = fs.afterCrash('keep');
    const cache = again(crashed);
    await cache.tidy();
    assert.deepEqual(crashed.names, [`d.${id}.sha256.data`, 'notes.txt']);
    assert.equal((await cache.list())[0]?.state, 'damaged');
});

test('storage that is taken away while a model is in use: its bytes come from the server, or a sentence does', async () => {
    const { fs, cache, remote } = make();
    const source = await cache.open(remote, { sha256 });
    assert.deepEqual(await source.read(2500, 10), file.slice(2500, 2510));
    remote.requests = [];
    fs.evict();
    assert.deepEqual(await source.read(2500, 10), file.slice(2500, 2510));
    assert.deepEqual(await source.read(2990, 20), file.slice(2990, 3010));
    assert.deepEqual(remote.requests, [[2000, 1000], [2000, 1000], [3000, 1000]]);
    assert.deepEqual(fs.names, [], 'no file without a journal is begun');
    remote.read = async () => await Promise.reject(new Error('no network'));
    const message = /bytes 2000 to 2999 of 'model.gguf' are no longer in the cache and could not be fetched again: no network/;
    await assert.rejects(source.read(2500, 10), { code: 'bad_file', message });
    // The next start brings it anew, all of it.
    const later = new FakeRemote(file);
    const again = await cache.open(later, { sha256 });
    assert.deepEqual(await again.read(0, file.length), file);
    assert.equal(later.served, file.length);
    await source.close();
});

test('a server that lies about the size is refused before anything is made for it', async () => {
    for (const size of [2 ** 43, Number.MAX_SAFE_INTEGER, Infinity, NaN, -1, 0.5]) {
        const { fs, cache, remote } = make();
        const liar: FakeRemote = Object.create(remote, { size: { get: () => size } }) as FakeRemote;
        await assert.rejects(cache.open(liar), { code: 'limit', message: /cannot be right/ });
        assert.deepEqual(fs.names, [], 'nothing is left that the next start would trip over');
        assert.equal(remote.served, 0);
    }
});

/** Breaks off a download after 4,000 bytes. */
async function begun(fs: MemoryFs, remote: FakeRemote): Promise<void> {
    const stop = new AbortController();
    remote.onPiece = () => void (remote.served >= 4000 && stop.abort());
    await assert.rejects(again(fs).open(remote, { signal: stop.signal }));
}

test('what nothing tells from another version is not gone on with at the next start', async () => {
    const { fs } = make();
    await begun(fs, new FakeRemote(noise(10_500, 7), null));
    const fresh = new FakeRemote(file, null);
    const source = await again(fs).open(fresh);
    assert.deepEqual(await source.read(0, file.length), file);
    assert.deepEqual(fresh.requests, [[0, file.length]]);
});

test('with a date it is gone on with, and with another date it is not', async () => {
    for (const [date, first] of [['yesterday', 4000], ['today', 0]] as const) {
        const { fs } = make();
        await begun(fs, new FakeRemote(file, null, 'yesterday'));
        const later = new FakeRemote(file, null, date);
        const source = await again(fs).open(later);
        assert.deepEqual(await source.read(0, file.length), file);
        assert.equal(later.requests[0]?.[0], first);
    }
});

test('a connection that breaks off where versions cannot be told apart begins again', async () => {
    const { cache } = make();
    const unmarked = new FakeRemote(noise(10_500, 7), null);
    unmarked.breakAfter = 4000;
    unmarked.onPiece = () => {
        if (unmarked.served < 4000) return;
        unmarked.bytes = file; // while the line was down, a new version was put there
        unmarked.breakAfter = Infinity;
    };
    const source = await cache.open(unmarked, { retryDelayMs: 0 });
    assert.deepEqual(await source.read(0, file.length), file);
    assert.deepEqual(unmarked.requests.map(([offset]) => offset), [0, 0]);
    // It does not begin again for ever.
    const hopeless = Object.assign(new FakeRemote(file, null), { breakAfter: 4000, address: 'https://example.org/b' });
    const message = /begins anew next time/;
    await assert.rejects(again(new MemoryFs()).open(hopeless, { retries: 2, retryDelayMs: 0 }), { code: 'io', message });
    assert.equal(hopeless.requests.length, 3);
});

test('room that ran out in the middle of a file without a mark: all of it comes again', async () => {
    const { fs, cache } = make();
    const unmarked = new FakeRemote(noise(10_500, 7), null);
    unmarked.onPiece = () => void (unmarked.served >= 4000 && (fs.quota = 6000));
    const onShortage = (): 'retry' => {
        fs.quota = Infinity;
        unmarked.onPiece = undefined;
        unmarked.bytes = file;
        return 'retry';
    };
    const source = await cache.open(unmarked, { onShortage });
    assert.deepEqual(await source.read(0, file.length), file);
});

test('without storage the digest is compared all the same, and what is read later is what was compared', async () => {
    for (const options of [{}, { cache: false as const }]) {
        const remote = new FakeRemote(file);
        const states = new Set<string>();
        const source = await openCached(remote, { ...options, sha256, onProgress: ({ state }) => void states.add(state) });
        assert.deepEqual(await source.read(4321, 100), file.slice(4321, 4421));
        assert.deepEqual([...states], ['verifying']);
        remote.bytes = noise(10_500, 7);
        await assert.rejects(source.read(4321, 100), { code: 'io', message: /changed after its SHA-256 was compared/ });
        const other = new FakeRemote(noise(10_500, 7));
        await assert.rejects(openCached(other, { ...options, sha256 }), { code: 'bad_file', message: /was expected/ });
    }
});

test('where there is no storage at all, the file is read from where it is', async () => {
    const remote = new FakeRemote(file);
    assert.equal(await openCached(remote), remote);
    assert.equal(await openCached(remote, { cache: false }), remote);
    assert.deepEqual(await originCache.list(), []);
    assert.equal(await originCache.remove('model.gguf'), false);
    assert.equal(await originCache.usage(), undefined);
    await assert.rejects(originCache.verify('model.gguf'), { code: 'unsupported' });
    const pieces = openCachedPieces('https://example.org/m-00001-of-00002.gguf', { sha256 });
    await assert.rejects(pieces, { code: 'invalid_argument' });
});
