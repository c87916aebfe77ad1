// What a visitor has to download before the first word of the first answer, besides the model, and how long it takes.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';
import { root } from './site.js';

const app = openApp({ gpu: false });
const mostBytes = 470_000;

test('what a chat needs is small, and the first word is there soon', { skip: app.skip }, async (t) => {
    // Without the service worker, which fetches the other pages' scripts as well, for when there is no network.
    await app.visit(
        async (context) => {
            await prepareSettings(context, { maxTokens: 4 });
            app.site.asked.length = 0;
            const opened = performance.now();
            const visitor = await Visitor.arrive(context, app.site.url);
            await visitor.untilReady();
            const asked = performance.now();
            await visitor.say('Tell me a story.');
            await visitor.untilWriting();
            const written = performance.now();
            await visitor.answer();
            t.diagnostic(`from the address to a loaded model: ${Math.round(asked - opened)} ms`);
            t.diagnostic(`from the click to the first token: ${Math.round(written - asked)} ms`);
            assert.ok(written - asked < 20_000, 'even on a busy machine');
        },
        { serviceWorkers: 'block' },
    );
    const files = [...new Set(app.site.asked)].filter((name) => /\.(?:js|wasm)$/.test(name));
    const sizes = new Map<string, number>();
    for (const name of files) sizes.set(name, gzipSync(await fs.readFile(path.join(root, name)), { level: 9 }).length);
    for (const [name, bytes] of sizes) t.diagnostic(`${name}: ${bytes} bytes`);
    const total = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    t.diagnostic(`together ${total} bytes`);
    assert.equal(files.filter((name) => name.endsWith('.wasm')).length, 1, 'one engine');
    assert.ok(!files.some((name) => name.includes('workshop')), 'and not the one with everything');
    assert.ok(files.some((name) => name.includes('worker')), 'the worker was counted');
    assert.ok(total <= mostBytes, `${total} bytes, compressed with gzip, are more than ${mostBytes}`);
});
