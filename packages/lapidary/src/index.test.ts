import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Every module reachable from `start`, by the compiled imports. */
function reachable(start: URL, seen = new Set<string>()): Set<string> {
    if (seen.has(start.href)) return seen;
    seen.add(start.href);
    const source = readFileSync(start, 'utf8');
    for (const [, name = ''] of source.matchAll(/^(?:import|export)\b[^'"]*['"]([^'"]+)['"]/gm)) {
        if (name.startsWith('.')) reachable(new URL(name, start), seen);
        else seen.add(name);
    }
    return seen;
}

test("the browser's door never leads to Node's modules", () => {
    const modules = [...reachable(new URL('./index.js', import.meta.url))];
    assert.ok(modules.some((name) => name.endsWith('/sources/http.js')), 'the walk finds modules at all');
    assert.deepEqual(
        modules.filter((name) => name.startsWith('node:')),
        [],
    );
});
