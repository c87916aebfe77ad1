// Every import of the TypeScript sources against rooms-ts.txt: a room sees the rooms its line names, packages are named behind
// a bar, and no files import each other in a circle, not even for types. Tests and testing/ may import anything.
// In another folder, and against another list: node tools/check-rooms-ts.mjs FOLDER LIST.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)));
const list = path.resolve(process.argv[3] ?? path.join(root, 'rooms-ts.txt'));

/** By name: where its files are (folders end in a slash), which rooms it sees (`*`: all) and which packages. */
const rooms = new Map();
const found = [];
let folder = '';
for (const line of readFileSync(list, 'utf8').split('\n')) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    if (line.startsWith('in ')) {
        folder = line.slice(3).trim();
        continue;
    }
    const [, name, places, sees, packages = ''] = /^(\S+) = ([^:]*):([^|]*)(?:\|(.*))?$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`rooms-ts.txt: this is no room: ${line}`);
    const words = (text) => text.split(/\s+/).filter(Boolean);
    rooms.set(name, { places: words(places).map((place) => folder + (place === './' ? '' : place)), sees: new Set(words(sees)), packages: words(packages), used: new Set() });
}

/** The most exact place wins. */
function roomOf(file) {
    let best;
    for (const [name, { places }] of rooms) {
        for (const place of places) {
            const inside = place.endsWith('/') ? file.startsWith(place) : file === place;
            if (inside && place.length > (best?.place.length ?? -1)) best = { name, place };
        }
    }
    return best?.name;
}

const isTest = (file) => /\.(test|check)\.tsx?$|(^|\/)(testing|on-gpu|e2e)\//.test(file);

function* sources(folder) {
    for (const entry of readdirSync(path.join(root, folder), { withFileTypes: true })) {
        const file = path.posix.join(folder, entry.name);
        if (entry.isDirectory()) yield* sources(file);
        else if (/\.tsx?$/.test(entry.name)) yield file;
    }
}

function target(from, specifier) {
    const file = path.posix.join(path.posix.dirname(from), specifier.replace(/\?.*$/, ''));
    return [file.replace(/\.js$/, '.ts'), file.replace(/\.js$/, '.tsx')].find((name) => existsSync(path.join(root, name)));
}

/** By file: whom it imports at once. What is imported late is not part of a circle. */
const edges = new Map();
for (const tree of ['packages/lapidary/src', 'apps/cli/src', 'apps/web/src']) {
    if (!existsSync(path.join(root, tree))) continue;
    for (const file of sources(tree)) {
        if (isTest(file)) continue;
        const text = readFileSync(path.join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
        const from = roomOf(file);
        if (from === undefined) {
            found.push(`${file}: rooms-ts.txt has no room for it`);
            continue;
        }
        const room = rooms.get(from);
        const seen = [...text.matchAll(/^(?:import|export)\s[^;'"]*?from\s+['"]([^'"]+)['"]|^import\s+['"]([^'"]+)['"]/gm)].map(([, a, b]) => [a ?? b, true]);
        const late = [...text.matchAll(/\bimport\(\s*(?:\/\*.*?\*\/\s*)*['"]([^'"]+)['"]/g)].map(([, name]) => [name, false]);
        const at = [];
        edges.set(file, at);
        for (const [specifier, atOnce] of [...seen, ...late]) {
            if (!specifier.startsWith('.')) {
                const may = room.packages.some((name) => name === '*' || (name.endsWith(':') ? specifier.startsWith(name) : specifier === name || specifier.startsWith(`${name}/`)));
                if (!may) found.push(`${file}: ${from} may not import the package ${specifier}`);
                continue;
            }
            const to = target(file, specifier);
            if (to === undefined) continue; // a stylesheet, or what is generated
            if (atOnce) at.push(to);
            const other = roomOf(to);
            if (other === undefined || other === from) continue;
            room.used.add(other);
            if (!room.sees.has(other) && !room.sees.has('*')) found.push(`${file}: ${from} may not import ${other} (${specifier})`);
        }
    }
}
for (const [name, { sees, used }] of rooms) {
    for (const other of sees) if (other !== '*' && !used.has(other)) found.push(`rooms-ts.txt: nobody needs ${name} > ${other}`);
}
for (const circle of circles(edges)) found.push(`a circle: ${circle.join(' > ')}`);

/** Tarjan's strongly connected components, of more than one file. */
function circles(graph) {
    const index = new Map();
    const low = new Map();
    const stack = [];
    const on = new Set();
    const out = [];
    const visit = (node) => {
        index.set(node, index.size);
        low.set(node, index.get(node));
        stack.push(node);
        on.add(node);
        for (const next of graph.get(node) ?? []) {
            if (!graph.has(next)) continue;
            if (!index.has(next)) {
                visit(next);
                low.set(node, Math.min(low.get(node), low.get(next)));
            } else if (on.has(next)) {
                low.set(node, Math.min(low.get(node), index.get(next)));
            }
        }
        if (low.get(node) !== index.get(node)) return;
        const component = [];
        for (;;) {
            const last = stack.pop();
            on.delete(last);
            component.push(last);
            if (last === node) break;
        }
        if (component.length > 1) out.push(component.sort());
    };
    for (const node of graph.keys()) if (!index.has(node)) visit(node);
    return out;
}

for (const line of found) console.log(line);
process.exitCode = found.length > 0 ? 1 : 0;
