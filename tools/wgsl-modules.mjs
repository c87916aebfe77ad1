// The .wgsl files below a folder as modules: what tools/embed-wgsl.mjs puts into the engine, and tools/kernels-doc.mjs writes about.
//
// Line comments that begin with //# say what the linker (kernels/link.h) has to know:
//     //# import common, $reduce, loaded     what stands before this module; $name is a slot that the kernel's user fills
//     //# needs w, kCols                     of a module: what the kernel that imports it declares
//     //# unroll if CONDITION … //# end      the loop over k between them is written out eight times where that holds
import fs from 'node:fs';
import path from 'node:path';

function fail(file, message) {
    throw new Error(`${file}: ${message}`);
}

// As text, a loop is not what it is when it is written out: a compiler sees that no index leaves an array.
function unrolled(file, text) {
    return text.replace(/^[ \t]*\/\/# unroll if (.+)\n([^]*?)^[ \t]*\/\/# end\n/gm, (_, condition, loop) => {
        const body = /^\s*for \(var k = 0u; k < 8u; k\+\+\) \{\n([^]*)\}\s*$/.exec(loop)?.[1];
        if (body === undefined) fail(file, 'only a loop from k = 0u to k < 8u can be unrolled');
        const steps = Array.from({ length: 8 }, (_, k) => `{\nconst k = ${k}u;\n${body}}\n`).join('');
        return `if (${condition}) {\n${steps}} else {\n${loop}}\n`;
    });
}

function names(file, text, what) {
    const lines = [...text.matchAll(new RegExp(`^//# ${what} (.+)$`, 'gm'))];
    if (lines.length > 1) fail(file, `has two lines of ${what}`);
    return lines.length === 0 ? [] : lines[0][1].split(',').map((name) => name.trim());
}

function bindings(text) {
    return [...text.matchAll(/@binding\((\d+)\)\s+var<([^>]*)>\s*(\w+): ([^;]+);(?: *\/\/ (.*))?/g)]
        .sort((a, b) => Number(a[1]) - Number(b[1]))
        .map(([, number, kind, name, type, note]) => ({ name, number, access: kind.includes('read_write') ? 'write' : 'read', type, note }));
}

// What a pipeline may be told. A number is a default, a name is another constant's value unless one is given, and an expression is
// found from the others: nobody gives that.
function constants(text) {
    return [...text.matchAll(/^override (\w+): (\w+)(?: = ([^;]+))?;(?: *\/\/ (.*))?/gm)]
        .map(([, name, type, value, note]) => ({ name, type, value: value?.replace(/^([\d.e+-]+)[uf]$|^(0x[\da-fA-F]+)u$/, '$1$2'), note }))
        .filter(({ value }) => value === undefined || /^\w+$/.test(value) || !Number.isNaN(Number(value)));
}

function read(folder, file) {
    const where = path.join(folder, file);
    const source = fs.readFileSync(where, 'utf8');
    const text = unrolled(where, source)
        .replace(/[ \t]*\/\/.*/g, '')
        .replace(/\n\s+/g, '\n')
        .trimStart();
    return {
        name: file.slice(0, -'.wgsl'.length),
        comment: /^(?:\/\/.*\n)*/.exec(source)[0].replace(/^\/\/#.*\n/gm, '').replace(/^\/\/ ?/gm, ''),
        imports: names(where, source, 'import'),
        needs: names(where, source, 'needs'),
        bindings: bindings(source),
        constants: constants(source),
        text,
    };
}

/** A file's name says what it is; weights and caches have formats of one name. */
export const identifier = (name) => name.replace(/^(?!weights|kv).*\//, '').replace(/\W/g, '_');

/** Each { name, comment: its first lines, imports, needs, bindings, constants, text: as the engine carries it }. */
export function readModules(folder) {
    return fs
        .readdirSync(folder, { recursive: true })
        .map(String)
        .filter((file) => file.endsWith('.wgsl'))
        .sort()
        .map((file) => read(folder, file));
}
