// Writes every .wgsl file below a folder into a C++ header, as modules that kernels/link.h puts together:
//
//     node tools/embed-wgsl.mjs engine/kernels OUT.h [FILE …]
//
// Line comments that begin with //# speak to it:
//     //# import common, $reduce, loaded     what stands before this module; $name is a slot that the kernel's user fills
//     //# needs w, kCols                     of a module: what the kernel that imports it declares
//     //# unroll if CONDITION … //# end      the loop over k between them is written out eight times where that holds
// All other comments, and indentation, are for people who read the files. `digest` is one of everything that decides what a
// GPU is given to compute: the modules, and the FILEs, which say how they are put together and tried.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';

const [folder, out, ...makers] = process.argv.slice(2);
const files = fs
    .readdirSync(folder, { recursive: true })
    .map(String)
    .filter((file) => file.endsWith('.wgsl'))
    .sort();

function fail(file, message) {
    console.error(`${path.join(folder, file)}: ${message}`);
    process.exit(1);
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
    return [...text.matchAll(/@binding\((\d+)\)\s+var<([^>]*)>\s*(\w+)/g)]
        .sort((a, b) => Number(a[1]) - Number(b[1]))
        .map(([, , kind, name]) => ({ name, access: kind.includes('read_write') ? 'write' : 'read' }));
}

const modules = files.map((file) => {
    const source = fs.readFileSync(path.join(folder, file), 'utf8');
    const text = unrolled(file, source)
        .replace(/[ \t]*\/\/.*/g, '')
        .replace(/\n\s+/g, '\n')
        .trimStart();
    return {
        name: file.slice(0, -'.wgsl'.length),
        imports: names(file, source, 'import'),
        needs: names(file, source, 'needs'),
        bindings: bindings(text),
        text,
    };
});

const quoted = (list) => list.map((text) => JSON.stringify(text)).join(', ');
const identifier = (name) => name.replace(/\W/g, '_');
let header = `// Made from the .wgsl files by tools/embed-wgsl.mjs.
#pragma once

#include "kernels/link.h"

namespace lapidary::kernels::wgsl {
`;
for (const { name, imports, needs, bindings, text } of modules) {
    const id = identifier(name);
    header += `
inline constexpr std::string_view ${id}_names[] = {${quoted([...imports, ...needs, ...bindings.map((b) => b.name), ''])}};
inline constexpr gpu::Access ${id}_access[] = {${[...bindings.map((b) => `gpu::Access::${b.access}`), 'gpu::Access::read'].join(', ')}};
inline constexpr Module ${id}{"${name}", R"wgsl(${text})wgsl",
    {${id}_names, ${imports.length}}, {${id}_names + ${imports.length}, ${needs.length}},
    {${id}_names + ${imports.length + needs.length}, ${bindings.length}}, {${id}_access, ${bindings.length}}};
`;
}
header += `
inline constexpr const Module* all[] = {${modules.map(({ name }) => `&${identifier(name)}`).join(', ')}};
`;
const digest = createHash('sha256').update(header);
for (const maker of makers.sort()) digest.update(fs.readFileSync(maker));
header += `inline constexpr std::string_view digest = "${digest.digest('hex').slice(0, 32)}";

}  // namespace lapidary::kernels::wgsl
`;
// Untouched where nothing changed, so that nothing is compiled anew.
if (!fs.existsSync(out) || fs.readFileSync(out, 'utf8') !== header) fs.writeFileSync(out, header);
