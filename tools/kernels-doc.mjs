// Writes docs/kernels.md to standard output: what each kernel says about itself (its .wgsl file), who dispatches it (its op),
// who fills its slots, and which cases try it. `tools/check-docs` compares the document with this.
//
//     node tools/kernels-doc.mjs
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { identifier, readModules } from './wgsl-modules.mjs';

const folder = fileURLToPath(new URL('../engine/kernels', import.meta.url));
const modules = readModules(folder);
const byName = new Map(modules.map((module) => [module.name, module]));
const byIdentifier = new Map(modules.map((module) => [identifier(module.name), module]));
const sources = new Map(
    fs
        .readdirSync(folder, { recursive: true })
        .map(String)
        .filter((file) => /\.(h|cpp)$/.test(file) && !file.endsWith('_test.cpp'))
        .sort()
        .map((file) => [file, fs.readFileSync(path.join(folder, file), 'utf8')]),
);

/** A document that leaves something out is worse than none. */
function found(what, message) {
    if (what === undefined || what.length === 0) throw new Error(message);
    return what;
}

const named = (text) => [...text.matchAll(/wgsl::(\w+)/g)].map(([, id]) => found(byIdentifier.get(id), `there is no kernel ${id}`));

/** The structs that dispatch a kernel: [{ name, file }]. */
function opsOf(kernel) {
    const out = new Map();
    for (const [file, text] of sources) {
        if (file.startsWith('check/')) continue;
        for (const { index } of text.matchAll(new RegExp(`Call<wgsl::${identifier(kernel.name)}>`, 'g'))) {
            const owner = [...text.slice(0, index).matchAll(/^struct (\w+) \{|^Result<Dispatch> (\w+)::dispatch/gm)].at(-1);
            if (owner) out.set(owner[1] ?? owner[2], file.replace(/\.cpp$/, '.h'));
        }
    }
    return found([...out], `no op dispatches ${kernel.name}`).map(([name, file]) => ({ name, file }));
}

/** Of an op's header and its .cpp, and of the headers they include, what fills a slot. */
function filledByOp(ops, slot) {
    const own = ops.flatMap(({ file }) => [file, file.replace(/\.h$/, '.cpp')]).filter((file) => sources.has(file));
    const included = own.flatMap((file) => [...sources.get(file).matchAll(/#include "kernels\/([^"]+)"/g)].map(([, name]) => name));
    const out = [];
    for (const file of new Set([...own, ...included])) {
        const text = sources.get(file) ?? '';
        const constant = /kSlot = "(\w+)"/.exec(text)?.[1];
        for (const [, id, name] of text.matchAll(/\bfill<wgsl::(\w+)>\(\s*("\w+"|kSlot)/g)) {
            if ((name === 'kSlot' ? constant : name.slice(1, -1)) === slot) out.push(...named(`wgsl::${id}`));
        }
    }
    return [...new Set(out)];
}

/** What `shader` fills a slot with, as formats and variant say: it names the modules, or functions that do. */
function filledByShader(slot) {
    const text = sources.get('shader.cpp') + sources.get('weight_format.cpp');
    const definition = (name) => new RegExp(`^const Module& ${name}\\([^]*?^}|const (?:auto|Module\\* const) ${name} = [^;]*;`, 'm').exec(text)?.[0];
    const list = found(/std::vector<Slot> all = \{\n([^]*?)\n {4}\};/.exec(text), 'shader.cpp has no list of slots')[1];
    const entry = new RegExp(`\\{"${slot}",([^]*?)\\},?(?:\\n|$)`).exec(list)?.[1] ?? '';
    const seen = new Set();
    function expand(part) {
        const names = [...part.matchAll(/\b\w+\b/g)].map(([name]) => name).filter((name) => !seen.has(name));
        for (const name of names) seen.add(name);
        return [...named(part), ...names.flatMap((name) => expand(definition(name) ?? ''))];
    }
    return [...new Set(expand(entry))];
}

/** What a module imports, and what that does: modules, and the names of slots. */
function importsOf(module, out = { modules: new Set(), slots: new Set() }) {
    for (const name of module.imports.map((text) => text.replace(/\/2$/, ''))) {
        if (name.startsWith('$')) {
            out.slots.add(name.slice(1));
            continue;
        }
        const next = found(byName.get(name), `${module.name} imports ${name}, which is not there`);
        if (out.modules.has(next)) continue;
        out.modules.add(next);
        importsOf(next, out);
    }
    return out;
}

/** A kernel with all that it may be linked with: slots = [[name, modules]], extra = modules that bring bindings or constants. */
function linked(kernel) {
    const ops = opsOf(kernel);
    const always = importsOf(kernel);
    const slots = new Map();
    const extra = new Set(always.modules);
    const pending = [...always.slots];
    while (pending.length > 0) {
        const slot = pending.shift();
        if (slots.has(slot)) continue;
        const own = filledByOp(ops, slot);
        const fillers = found(own.length > 0 ? own : filledByShader(slot), `nothing fills $${slot} of ${kernel.name}`);
        slots.set(slot, fillers);
        for (const filler of fillers) {
            const brought = importsOf(filler);
            for (const module of [filler, ...brought.modules]) extra.add(module);
            pending.push(...brought.slots);
        }
    }
    return { ops, slots: [...slots], extra: [...extra].filter(({ bindings, constants }) => bindings.length + constants.length > 0) };
}

const suites = sources.get('check/suites.cpp');
function casesOf(kernel) {
    const lines = [...suites.matchAll(new RegExp(`\\{wgsl::${identifier(kernel.name)}::module, (\\w+)::(\\w+)\\}`, 'g'))];
    const [, file] = found(lines[0], `no cases try ${kernel.name}`);
    found(sources.get(`check/${file}.cpp`), `${file} has no file of that name`);
    return { file: `check/${file}.cpp`, atLoad: lines.some(([, , list]) => list === 'at_load') };
}

/** The first sentence of a file's comment, without the kernel's name. */
function purpose({ name, comment }) {
    const lines = comment.split('\n');
    let text = lines[0];
    for (const line of lines.slice(1)) {
        if (/[.:]$/.test(text) || !/^[a-z\d(]/.test(line)) break;
        text += ` ${line}`;
    }
    text = text.replace(/\.( .*)?$/, '').replace(/:$/, '');
    return found(text.replace(`${path.basename(name)} — `, ''), `${name} does not say what it is for`);
}

function gridOf({ name, comment }) {
    const grids = [...comment.replaceAll('\n', ' ').matchAll(/grid: (.*?)\.(?= |$)/g)].map(([, grid]) => grid);
    return found(grids, `${name} does not say its grid`).join('; or ');
}

/** Weights and caches have formats of one name. */
const title = ({ name }) => (/^(weights|kv)\//.test(name) ? name : path.basename(name));
const escaped = (text) => text.replaceAll('|', '\\|');
const link = (file) => `[${file}](../engine/kernels/${file})`;
const binding = ({ name, access, type, note }) =>
    `\`${name}\` ${access === 'read' ? 'read' : 'read and written'}, \`${type}\`${note ? ` (${note})` : ''}`;
const constant = ({ name, type, value, note }) =>
    `${value === undefined ? `**\`${name}\`**` : `\`${name}\` = ${value}`}${type === 'f32' ? ' (float)' : ''}${note ? ` (${note})` : ''}`;
/** Of the kernel, then of modules, each behind the module's name. */
function listed(kernel, extra, of, say) {
    const own = kernel[of].map(say);
    const others = extra.filter((module) => module[of].length > 0).map((module) => `with *${title(module)}*: ${module[of].map(say).join('; ')}`);
    return [...own, ...others].join('<br>');
}

function section(kernel) {
    const { ops, slots, extra } = linked(kernel);
    const cases = casesOf(kernel);
    const rows = [
        ['op', ops.map(({ name, file }) => `\`${name}\`, ${link(file)}`).join('<br>')],
        ['cases', link(cases.file) + (cases.atLoad ? ', some of them when a model is loaded' : '')],
        ['grid', gridOf(kernel)],
        ['binds', listed(kernel, extra, 'bindings', binding)],
        ['constants', listed(kernel, extra, 'constants', constant)],
        ['slots', slots.map(([slot, fillers]) => `\`$${slot}\`: ${fillers.map(({ name }) => name).join(', ')}`).join('<br>')],
    ].filter(([, cell]) => cell !== '');
    return `### ${path.basename(kernel.name)}

${link(`${kernel.name}.wgsl`)}: ${purpose(kernel)}.

| | |
|---|---|
${rows.map(([name, cell]) => `| ${name} | ${escaped(cell)} |`).join('\n')}
`;
}

const kernels = modules.filter(({ text }) => text.includes('@compute'));
const folders = [...new Set(kernels.map(({ name }) => path.dirname(name)))];
const others = modules.filter((module) => !kernels.includes(module));
process.stdout.write(`# Kernels

Every kernel and every module that kernels are put together from ([architecture.md](architecture.md), The GPU; words are in
[HACKING.md](HACKING.md)). Made by \`make docs\` from \`engine/kernels\`; \`make test\` compares. Constants in **bold** must be given,
the others have the value that is said. What stands behind *with* belongs to a module and is there where that is: the linker
gives bindings the numbers 0, 1, 2, … of those that are there. \`$name\` is a slot, and behind it stand the modules that may fill it.

${folders.map((name) => `## ${name}\n\n${kernels.filter((kernel) => path.dirname(kernel.name) === name).map(section).join('\n')}`).join('\n')}
## Modules

| module | what it is | imports | needs |
|---|---|---|---|
${others.map((module) => `| ${link(`${module.name}.wgsl`)} | ${escaped(module.comment === '' ? '' : purpose(module))} | ${module.imports.join(', ')} | ${module.needs.join(', ')} |`).join('\n')}
`);
