// What requests may take of the memory that JavaScript has for everything.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { raw } from '../testing/server.js';

const heapMiB = 128;

/** A megabyte that becomes thirty of lists. */
const large = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], stream: false }).replace(
    /\}$/,
    `,"metadata":[${'[],'.repeat(450_000)}0]}`,
);

for (const path of ['/v1/chat/completions', '/api/chat', '/api/generate']) {
    test(`${path}: requests that wait take no more memory than their bytes`, async (t) => {
        const requests = 10;
        const worker = new Worker(new URL('../testing/small-heap.js', import.meta.url), {
            workerData: { requests },
            resourceLimits: { maxOldGenerationSizeMb: heapMiB },
        });
        t.after(() => worker.terminate());
        let died: Error | undefined;
        worker.on('error', (error: Error) => (died = error));
        const [url] = (await once(worker, 'message')) as [string];
        const body = path === '/api/generate' ? large.replace(/^\{/, '{"prompt":"hi",') : large;
        const answers = await Promise.allSettled(
            Array.from({ length: requests }, async () => (await raw(url + path, { method: 'POST', body })).status),
        );
        assert.equal(died, undefined);
        assert.deepEqual(
            answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason)),
            Array(requests).fill(200),
        );
    });
}
