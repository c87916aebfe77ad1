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
        .map(([, number, kind, name]) => ({ name, number, access: kind.includes('read_write') ? 'write' : 'read' }));
}

// What a pipeline may be told. A number is a default, a name is another constant's value unless one is given, and an expression is
// found from the others: nobody gives that.
function constants(text) {
    return [...text.matchAll(/^override (\w+): (\w+)(?: = ([^;]+))?;/gm)]
        .map(([, name, type, value]) => ({ name, type, value: value?.replace(/^([\d.e+-]+)[uf]$|^(0x[\da-fA-F]+)u$/, '$1$2') }))
        .filter(({ value }) => value === undefined || /^\w+$/.test(value) || !Number.isNaN(Number(value)));
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
        constants: constants(text),
        text,
    };
});

const quoted = (list) => list.map((text) => JSON.stringify(text)).join(', ');
// A file's name says what it is; weights and caches have formats of one name.
const identifier = (name) => name.replace(/^(?!weights|kv).*\//, '').replace(/\W/g, '_');
function field({ name, type, value }) {
    const constant = `Constant<${type === 'f32' ? 'float' : 'uint32_t'}>`;
    return value === undefined ? `${constant} ${name};` : `${constant} ${name} = ${constant}::unset();`;
}
function description({ name, type, value }) {
    const fallback = value === undefined || Number.isNaN(Number(value)) ? 'kNoDefault' : value;
    return `{"${name}", ${type === 'f32'}, offsetof(Constants, ${name}), ${fallback}}`;
}

let header = `// Made from the .wgsl files by tools/embed-wgsl.mjs.
#pragma once

#include <cstddef>

#include "kernels/module.h"

namespace lapidary::kernels::wgsl {
`;
for (const { name, imports, needs, bindings, constants, text } of modules) {
    const id = identifier(name);
    const names = [...imports, ...needs];
    const spans = [[0, imports.length], [imports.length, needs.length]];
    header += `
struct ${id} {
`;
    if (constants.length > 0) header += `    struct Constants { ${constants.map(field).join(' ')} };\n`;
    else if (bindings.length > 0) header += `    struct Constants {};\n`;
    if (bindings.length > 0) header += `    enum class Binding : uint8_t { ${bindings.map((b) => `${b.name} = ${b.number}`).join(', ')} };\n`;
    if (names.length > 0) header += `    static constexpr std::string_view kNames[] = {${quoted(names)}};\n`;
    if (bindings.length > 0) header += `    static constexpr ModuleBinding kBindings[] = {${bindings.map((b) => `{"${b.name}", ${b.number}, gpu::Access::${b.access}}`).join(', ')}};\n`;
    const span = ([at, count]) => (count === 0 ? '{}' : `{kNames + ${at}, ${count}}`);
    header += `    static const ConstantField kFields[];
    static constexpr Module module{"${name}", R"wgsl(${text})wgsl",
        ${spans.map(span).join(', ')}, ${bindings.length > 0 ? 'kBindings' : '{}'}, ${constants.length > 0 ? `{kFields, ${constants.length}}` : '{}'}};
};
`;
    if (constants.length > 0) {
        const list = constants.map((c) => description(c).replaceAll('Constants', `${id}::Constants`)).join(', ');
        header += `inline constexpr ConstantField ${id}::kFields[] = {${list}};\n`;
    }
}
header += `
inline constexpr const Module* all[] = {${modules.map(({ name }) => `&${identifier(name)}::module`).join(', ')}};
`;
const digest = createHash('sha256').update(header);
for (const maker of makers.sort()) digest.update(fs.readFileSync(maker));
header += `inline constexpr std::string_view digest = "${digest.digest('hex').slice(0, 32)}";

}  // namespace lapidary::kernels::wgsl
`;
// Untouched where nothing changed, so that nothing is compiled anew.
if (!fs.existsSync(out) || fs.readFileSync(out, 'utf8') !== header) fs.writeFileSync(out, header);
