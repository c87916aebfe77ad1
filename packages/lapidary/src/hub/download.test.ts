import assert from 'node:assert/strict';
import { MessageChannel } from 'node:worker_threads';
import { test } from 'node:test';
import { ModelCache } from '../cache/cache.js';
import { workerPort, type MessageEnd } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import { arrived } from '../testing/arrived.js';
import { noise } from '../testing/fake-remote.js';
import { HubServer, type FakeRepository } from '../testing/hub-server.js';
import { MemoryFs, type MemoryFsOptions } from '../testing/memory-fs.js';
import { startDownload, type Download, type DownloadState } from './download.js';
import { serveDownloads, type DownloadCalls } from './downloader.js';
import { KeptModels } from './kept.js';
import { resolveModel } from './resolve.js';

const size = 250_000;
const google = 'google/gemma-4-E2B-it-qat-q4_0-gguf';
const bytes = noise(size);
bytes.set(new TextEncoder().encode('GGUF'));

interface Place {
    server: HubServer;
    fs: MemoryFs;
    kept: KeptModels;
    waits: number[];
    /** Waits as long as a test says, which is not at all. */
    begin(name?: string, wait?: (signal: AbortSignal) => Promise<void>): Promise<Download>;
}

async function withPlace(
    work: (place: Place) => Promise<void>,
    { repository = {}, disk = {} }: { repository?: Partial<FakeRepository>; disk?: MemoryFsOptions } = {},
): Promise<void> {
    const server = await HubServer.start({ [google]: { files: { 'gemma-4-E2B_q4_0-it.gguf': bytes }, ...repository } });
    const fs = new MemoryFs(disk);
    const kept = new KeptModels(fs, new ModelCache({ fs, chunkBytes: 2_500 }));
    const waits: number[] = [];
    const begin: Place['begin'] = async (name = 'e2b', wait) => {
        const model = await resolveModel(name, { endpoints: { huggingface: server.endpoint, ollama: 'http://127.0.0.1:9' } });
        return startDownload(model, {
            into: kept,
            wait: async (ms, signal) => {
                waits.push(ms);
                await wait?.(signal);
            },
        });
    };
    try {
        await work({ server, fs, kept, waits, begin });
    } finally {
        await server.stop();
    }
}

async function until(download: Download, wanted: (state: DownloadState) => boolean): Promise<DownloadState> {
    if (wanted(download.state)) return download.state;
    return await new Promise((resolve) => {
        const stop = download.subscribe((state) => {
            if (!wanted(state)) return;
            stop();
            resolve(state);
        });
    });
}

test('a download says how far it is and ends with the model', async () => {
    await withPlace(async ({ begin }) => {
        const download = await begin();
        const phases: string[] = [];
        download.subscribe(({ phase }) => void (phases.at(-1) !== phase && phases.push(phase)));
        const model = await download.kept;
        assert.equal(model.state, 'complete');
        assert.equal(download.state.phase, 'kept');
        assert.equal(download.state.done, size);
        assert.equal(download.state.model?.name, 'gemma-4-e2b');
        assert.ok(phases.includes('downloading'), String(phases));
    });
});

test('paused by a person it waits for that person', async () => {
    await withPlace(async ({ server, fs, begin, waits }) => {
        server.faults.stallAt = 125_000;
        const download = await begin();
        await arrived(fs, 75_000);
        download.pause();
        const paused = await until(download, ({ phase }) => phase === 'paused');
        assert.equal(paused.problem, undefined);
        server.faults.stallAt = Infinity;
        download.resume();
        await download.kept;
        assert.deepEqual(waits, []);
    });
});

test('pausing and going on at once loses nothing', async () => {
    await withPlace(async ({ server, fs, begin }) => {
        server.faults.stallAt = 125_000;
        const download = await begin();
        await arrived(fs, 75_000);
        download.pause();
        download.resume();
        server.faults.stallAt = Infinity;
        assert.equal((await download.kept).state, 'complete');
    });
});

test('a source that is busy is left alone for as long as it asks, and then it goes on by itself', async () => {
    await withPlace(async ({ server, begin, waits }) => {
        const download = await begin('e2b', async () => {
            assert.equal(download.state.phase, 'paused');
            assert.equal(download.state.problem?.kind, 'busy');
            assert.equal(download.state.problem?.sentence, 'The source asks to wait 0 s.');
            server.faults.busy.answers = 0;
        });
        server.faults.busy = { answers: 99, retryAfter: '0' };
        await download.kept;
        assert.deepEqual(waits, [0]);
    });
});

test('a repository that needs an account ends it with a reason, and it can be tried again', async () => {
    await withPlace(async ({ server, begin }) => {
        const download = await begin();
        const failed = await until(download, ({ phase }) => phase === 'failed');
        assert.equal(failed.problem?.kind, 'account');
        server.put(google, { files: { 'gemma-4-E2B_q4_0-it.gguf': bytes } });
        download.resume();
        assert.equal((await download.kept).checked, true);
    }, { repository: { gated: 'auto' } });
});

test('a full disk ends it with numbers, and what was there stays', async () => {
    await withPlace(async ({ begin }) => {
        const download = await begin();
        const failed = await until(download, ({ phase }) => phase === 'failed');
        assert.equal(failed.problem?.kind, 'full');
        assert.ok((failed.problem?.needed ?? 0) > (failed.problem?.available ?? 0));
    }, { disk: { quota: 75_000 } });
});

test('cancelled, nothing of it is left', async () => {
    await withPlace(async ({ server, fs, kept, begin }) => {
        server.faults.stallAt = 125_000;
        const download = await begin();
        await arrived(fs, 75_000);
        await download.cancel();
        await assert.rejects(download.kept, { code: 'cancelled' });
        assert.deepEqual(await kept.list(), []);
    });
});

test('downloads take turns', async () => {
    await withPlace(async ({ server, fs, begin }) => {
        server.put('a/b', { files: { 'b.gguf': bytes.map((byte, i) => (i > 3 ? byte ^ 1 : byte)) } });
        server.faults.stallAt = 125_000;
        const first = await begin();
        await arrived(fs, 75_000);
        const second = await begin('hf:a/b');
        assert.equal(second.state.phase, 'queued');
        first.pause();
        server.faults.stallAt = Infinity;
        await second.kept;
        assert.equal(first.state.phase, 'paused');
        first.resume();
        await first.kept;
    });
});

test('what comes with Lapidary is not downloaded', async () => {
    const model = await resolveModel('builtin');
    assert.throws(() => startDownload(model), /comes with Lapidary/);
});

test('where nothing can be kept, a worker says so', async () => {
    const { port1, port2 } = new MessageChannel();
    try {
        serveDownloads(workerPort(port1 as unknown as MessageEnd));
        const model = await withModel();
        const outcome = await new Rpc<DownloadCalls>(workerPort(port2 as unknown as MessageEnd), {}).call('pull', { model });
        assert.equal('problem' in outcome && outcome.problem.kind, 'nowhere');
    } finally {
        port1.close();
    }
});

/** Everything in it can be posted. */
async function withModel() {
    const server = await HubServer.start({ 'a/b': { files: { 'b.gguf': bytes } } });
    try {
        return await resolveModel('hf:a/b', { endpoints: { huggingface: server.endpoint } });
    } finally {
        await server.stop();
    }
}
