import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Every module reachable from `start`, by the compiled imports. */
function reachable(start: URL, seen = new Set<string>()): Set<string> {
    if (seen.has(start.href)) return seen;
    seen.add(start.href);
    const source = readFileSync(start, 'utf8');
    for (const [, name = ''] of source.matchAll(/(?:^(?:import|export)\b[\w\s{},*$]*|\bimport\()['"]([^'"]+)['"]/gm)) {
        if (name.startsWith('.')) reachable(new URL(name, start), seen);
        else seen.add(name);
    }
    return seen;
}

for (const door of ['index', 'worker', 'ai-sdk', 'prompt-api']) {
    test(`in a browser, '${door}' never leads to Node's modules`, () => {
        const modules = [...reachable(new URL(`./${door}.js`, import.meta.url))];
        if (door !== 'ai-sdk') assert.ok(modules.some((name) => name.endsWith('/core/local.js')), 'the walk finds modules at all');
        assert.deepEqual(
            modules.filter((name) => name.startsWith('node:')),
            [],
        );
    });
}

test('each worker is one file when bundled: some bundlers cannot split workers, and without one no name is found', () => {
    const workers = ['./worker.js', './hub/worker.js'];
    const modules = workers.flatMap((worker) => [...reachable(new URL(worker, import.meta.url))]);
    for (const name of modules) {
        assert.ok(name.startsWith('file:'), `${name} would have to be found by its name`);
        assert.doesNotMatch(readFileSync(new URL(name), 'utf8'), /\bimport\(['"]/, name);
    }
});

test('what people install has the engine, the worker, the built-in model, words about it and no tests', () => {
    const listing = execFileSync('npm', ['pack', '--dry-run', '--json'], {
        cwd: new URL('..', import.meta.url),
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [{ files }] = JSON.parse(listing) as [{ files: { path: string }[] }];
    const paths = files.map((file) => file.path);
    for (const wanted of ['dist/index.js', 'dist/index.d.ts', 'dist/worker.js', 'dist/lapidary.wasm', 'dist/lapidary-workshop.wasm', 'dist/node-runtime.js', 'dist/storyteller-q4_k_m.gguf', 'README.md', 'LICENSE', 'docs/api.md']) {
        assert.ok(paths.includes(wanted), wanted);
    }
    assert.deepEqual(paths.filter((path) => /test|tsbuildinfo|\/src\//.test(path)), []);
});
