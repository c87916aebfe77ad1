// SPIR-V as text, compared without names, and by structure.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const target = 'vulkan1.1spv1.4'; // what Dawn makes for SwiftShader;
const id = /%[A-Za-z0-9_]+/g;
const longestValue = 60; // longer ones are known by a digest

/** Without what only people and debuggers read, and ids by where they are first met. */
export function withoutNames(assembly) {
    const numbers = new Map();
    const number = (name) => {
        if (!numbers.has(name)) numbers.set(name, `%${numbers.size + 1}`);
        return numbers.get(name);
    };
    return assembly
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '' && !/^;|^Op(Source|SourceExtension|Name|MemberName|String|Line|NoLine)\b/.test(line))
        .map((line) => line.replace(/^(OpEntryPoint \w+ %\w+) "[^"]*"/, '$1 ""').replace(id, number))
        .join('\n');
}

/** What spirv-opt -O makes of it, which is about what every driver does first. */
export function optimised(assembly) {
    const folder = mkdtempSync(path.join(tmpdir(), 'spirv-'));
    const at = (name) => path.join(folder, name);
    try {
        writeFileSync(at('before.spvasm'), assembly);
        run('spirv-as', '--target-env', target, at('before.spvasm'), '-o', at('before.spv'));
        run('spirv-opt', `--target-env=${target}`, '-O', '--strip-debug', at('before.spv'), '-o', at('after.spv'));
        run('spirv-dis', '--no-header', '--raw-id', at('after.spv'), '-o', at('after.spvasm'));
        return readFileSync(at('after.spvasm'), 'utf8');
    } finally {
        rmSync(folder, { recursive: true });
    }
}

function run(tool, ...args) {
    execFileSync(tool, args, { stdio: 'pipe' });
}

export function hasSpirvTools() {
    try {
        for (const tool of ['spirv-as', 'spirv-opt', 'spirv-dis']) run(tool, '--version');
        return true;
    } catch {
        return false;
    }
}

/**
 * { text, uses }: the functions of a module with types and constants by what they are, variables and all other ids by
 * where they are first met, and bindings by their rank among those that are used; and how each of these is used, as
 * flow.mjs has it, its index being the number in the assembly.
 */
export function structure(assembly) {
    const module = parse(assembly);
    const bindings = usedBindings(module);
    const ranks = new Map(bindings.map(({ variable }, rank) => [variable, rank]));

    const met = new Map();
    const order = [];
    const name = (id) => {
        if (module.values.has(id)) return `<${module.values.get(id)}>`;
        if (!met.has(id)) {
            met.set(id, `%${met.size + 1}`);
            order.push(id);
        }
        return met.get(id);
    };
    const body = module.functions.map((line) => line.replace(id, name));
    // What the functions use of the variables outside of them, and what is said about any of it.
    for (let i = 0; i < order.length; i++) {
        const variable = module.variables.get(order[i]);
        if (variable) body.push(`${name(order[i])} = ${variable.replace(id, name)}`);
    }
    const said = module.decorations.flatMap(({ of, text }) => {
        if (module.values.has(of)) return module.used.has(of) ? [`${name(of)} ${text}`] : [];
        if (!met.has(of)) return [];
        return [`${met.get(of)} ${text.replace(/^Binding \d+$/, `Binding ${ranks.get(of)}`)}`];
    });
    const modes = module.modes.map((line) => line.replace(id, name));
    const text = [...modes, ...body, ...[...new Set(said)].sort()].join('\n');
    return { text, uses: bindings.map(({ index, use }) => ({ index, use })) };
}

/** The parts of a module. */
function parse(assembly) {
    const module = {
        values: new Map(), // types, constants and the like: what they are
        variables: new Map(),
        decorations: [],
        modes: [],
        functions: [],
        used: new Set(), // everything that the functions lead to
    };
    const defined = new Map(); // types, constants and the like, as they stand
    let inFunction = false;
    for (const line of assembly.split('\n').map((text) => text.trim())) {
        if (line === '' || line.startsWith(';')) continue;
        const [, result, what] = /^(%\w+) = (.*)$/.exec(line) ?? [, undefined, line];
        if (/^OpFunction\b/.test(what)) inFunction = true;
        if (inFunction) {
            module.functions.push(line);
        } else if (/^OpVariable\b/.test(what)) {
            module.variables.set(result, what);
        } else if (result !== undefined) {
            defined.set(result, what);
        } else if (/^Op(Member)?Decorate\b/.test(what)) {
            const [, member, of, text] = /^Op(Member)?Decorate (%\w+) (.*)$/.exec(what);
            module.decorations.push({ of, text: member ? `member ${text}` : text });
        } else {
            // Which variables there are is said by those that are used.
            module.modes.push(what.replace(/^(OpEntryPoint \w+ %\w+) "[^"]*".*$/, '$1'));
        }
    }
    // A definition names only what was defined before it.
    for (const [result, what] of defined) {
        const text = what.replace(id, (part) => `<${module.values.get(part) ?? part}>`);
        module.values.set(result, text.length > longestValue ? digest(text) : text.replace(/^Op(Type|Constant ?)/, ''));
    }
    const use = (text) => {
        for (const [part] of text.matchAll(id)) {
            if (module.used.has(part)) continue;
            module.used.add(part);
            use(defined.get(part) ?? module.variables.get(part) ?? '');
        }
    };
    for (const line of module.functions) use(line);
    return module;
}

/** The variables with a binding that the functions mention, in the order of their numbers, and what is done with them. */
function usedBindings({ decorations, functions, used }) {
    const found = decorations
        .map(({ of, text }) => ({ variable: of, index: /^Binding (\d+)$/.exec(text)?.[1] }))
        .filter(({ variable, index }) => index !== undefined && used.has(variable))
        .map(({ variable, index }) => ({ variable, index: Number(index), reads: false, writes: false }))
        .sort((one, other) => one.index - other.index);
    const into = new Map(found.map((binding) => [binding.variable, binding])); // and pointers into them
    for (const line of functions) {
        const [, result, what] = /^(?:(%\w+) = )?(.*)$/.exec(line);
        const [operation] = what.split(' ', 1);
        const operands = [...what.matchAll(id)].map(([part]) => part);
        const [first, second] = operands;
        if (operation === 'OpArrayLength') continue;
        if (operation === 'OpStore') {
            if (into.has(first)) into.get(first).writes = true;
            if (into.has(second)) into.get(second).reads = true;
            continue;
        }
        for (const operand of operands) {
            const binding = into.get(operand);
            if (!binding) continue;
            if (/^Op(InBounds)?AccessChain$|^OpCopyObject$/.test(operation)) {
                into.set(result, binding);
            } else {
                binding.reads = true;
                if (operation !== 'OpLoad') binding.writes = true; // atomics, and what is not known here
            }
        }
    }
    return found.map(({ variable, index, reads, writes }) => ({
        variable,
        index,
        use: writes ? (reads ? 'update' : 'write') : 'read',
    }));
}

export function digest(text) {
    return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
