// What a visitor has to download before the first word of the first answer, besides the model.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openApp } from './app.js';
import { Visitor, prepareSettings } from './browser.js';
import { root } from './site.js';

const app = openApp({ gpu: false });
// Of these some 11 KB are the way in for pictures and sounds, for threads on the CPU and for several tabs of two versions.
const mostBytes = 523_500;
/** What only the CPU asks for, as this visitor's does: kernels that a GPU has no use for. */
const kernels = /\/cpu-(?:base|relaxed)-[^/]*\.wasm$/;
const mostKernelBytes = 40_000;

test('what a chat needs is small', { skip: app.skip }, async (t) => {
    // Without the service worker, which fetches the other pages' scripts as well, for when there is no network.
    await app.visit(
        async (context) => {
            await prepareSettings(context, { maxTokens: 4 });
            // What it takes to offer a larger model comes besides, where one fits.
            await context.addInitScript(() => localStorage.setItem('lapidary-offer', 'over'));
            app.site.asked.length = 0;
            const visitor = await Visitor.arrive(context, app.site.url);
            await visitor.untilReady();
            await visitor.say('Tell me a story.');
            await visitor.answer();
        },
        { serviceWorkers: 'block' },
    );
    const files = [...new Set(app.site.asked)].filter((name) => /\.(?:js|wasm)$/.test(name));
    const sizes: [name: string, bytes: number][] = [];
    for (const name of files) sizes.push([name, gzipSync(await fs.readFile(path.join(root, name)), { level: 9 }).length]);
    const sum = (wanted: boolean) => sizes.reduce((all, [name, bytes]) => all + (kernels.test(name) === wanted ? bytes : 0), 0);
    const total = sum(false);
    const lines = [...sizes.sort(([, a], [, b]) => b - a), ['together, less the kernels', total] as const].map(
        ([name, bytes]) => `${bytes.toLocaleString('en').padStart(9)}  ${name}`,
    );
    for (const line of lines) t.diagnostic(line);
    assert.equal(files.filter((name) => name.endsWith('.wasm') && !kernels.test(name)).length, 1, 'one engine');
    assert.ok(sum(true) > 0, 'the CPU has kernels');
    assert.ok(sum(true) <= mostKernelBytes, `the CPU's kernels have ${sum(true)} bytes`);
    assert.ok(!files.some((name) => name.includes('workshop')), 'and not the one with everything');
    assert.ok(files.some((name) => name.includes('worker')), 'the worker was counted');
    assert.ok(total <= mostBytes, `more than ${mostBytes} bytes, compressed with gzip:\n${lines.join('\n')}`);
});
