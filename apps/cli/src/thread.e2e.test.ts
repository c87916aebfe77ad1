// An engine's thread with a GPU in it ends when it is asked to, also in the middle of an answer, and takes nobody with it.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { synthesize } from 'lapidary';
import { FileSink, loadEngine, loadInThread } from 'lapidary/node';
import { needsSoftwareGpu } from './testing/gpu-model.js';
import { many } from './testing/thorough.js';

const times = many(3, 50);

test(`a thread is ended ${times} times with a GPU in it`, needsSoftwareGpu(), async (t) => {
    process.env['LAPIDARY_GPU'] ??= 'swiftshader';
    const folder = await mkdtemp(path.join(os.tmpdir(), 'lapidary-thread-'));
    t.after(async () => await rm(folder, { recursive: true }));
    const file = path.join(folder, 'tiny-one.gguf');
    const engine = await loadEngine();
    const sink = await FileSink.create(file, { overwrite: false });
    await synthesize(engine, { variant: 'tiny-one', type: 'q8_0' }, sink);
    await sink.commit();
    engine.close();
    for (let i = 0; i < times; i++) {
        const threaded = await loadInThread(file, { backend: 'gpu', contextLength: 64, maxConversations: 1 });
        assert.equal(threaded.info.backend, 'gpu');
        if (i % 2 === 0) {
            await threaded.dispose();
            continue;
        }
        let ended: Promise<unknown> | undefined;
        const onEvent = () => void (ended ??= threaded.dispose());
        const request = { prompt: 'a', max_tokens: 60, add_bos: true };
        await assert.rejects(threaded.generate(request, { onEvent }), { code: 'cancelled' });
        await ended;
    }
});
