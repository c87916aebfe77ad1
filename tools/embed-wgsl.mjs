// Writes every .wgsl file below a folder into a C++ header, as modules that kernels/link.h puts together:
//
//     node tools/embed-wgsl.mjs engine/kernels OUT.h [FILE …]
//
// Comments and indentation are left out: they are for people who read the files. `digest` is one of everything that decides what
// a GPU is given to compute: the modules, and the FILEs, which say how they are put together and tried.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { identifier, readModules } from './wgsl-modules.mjs';

const [folder, out, ...makers] = process.argv.slice(2);
const modules = readModules(folder);

const quoted = (list) => list.map((text) => JSON.stringify(text)).join(', ');
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
const pointers = (list) => list.map(({ name }) => `&${identifier(name)}::module`).join(', ');
// Ops name their kernels and what they put into slots; by its name only that is looked for which a module imports. So an engine
// that trains nothing need not carry the kernels of training.
const named = new Set(modules.flatMap(({ imports }) => imports.map((name) => name.replace(/\/2$/, ''))));
header += `
inline constexpr const Module* all[] = {${pointers(modules)}};
inline constexpr const Module* imported[] = {${pointers(modules.filter(({ name }) => named.has(name)))}};
`;
const digest = createHash('sha256').update(header);
for (const maker of makers.sort()) digest.update(fs.readFileSync(maker));
header += `inline constexpr std::string_view digest = "${digest.digest('hex').slice(0, 32)}";

}  // namespace lapidary::kernels::wgsl
`;
// Untouched where nothing changed, so that nothing is compiled anew.
if (!fs.existsSync(out) || fs.readFileSync(out, 'utf8') !== header) fs.writeFileSync(out, header);
