// Whether two pipelines are the same, at a level:
//
//   A  the text without its names, and the constants
//   B  the SPIR-V that the driver gets, constants applied, without names
//   C  that after spirv-opt -O, by structure
//
// Pipelines with the same text, letter by letter, and the same constants are the same at every level.
import { Dawn } from './dawn.mjs';
import { digest, optimised, structure, withoutNames } from './spirv.mjs';

/** How a pair of pipelines was found to be the same, the strictest first. */
export const ways = {
    text: 'the same text',
    nameless: 'the same text but for names',
    spirv: 'the same SPIR-V',
    structure: 'the same after spirv-opt -O',
};

export class PipelinePairs {
    found = new Map();
    /** Pairs that SwiftShader cannot compile, with why. They are compared as at level A. */
    notCompiled = new Map();

    constructor(level) {
        this.level = level;
        this.compilers = [new Compiler(), new Compiler()]; // at the same time, one a side
    }

    /**
     * { same: one of `ways`, uses } or { difference: a sentence, lines: of both }. `uses` is for flow.mjs, one list a side.
     */
    async compare(one, other) {
        const key = `${keyOf(one)} ${keyOf(other)}`;
        if (!this.found.has(key)) {
            this.found.set(key, { ...(await this.look(one, other)), kernels: [one.label, other.label] });
        }
        return this.found.get(key);
    }

    async look(one, other) {
        const uses = [usesInText(one), usesInText(other)];
        if (keyOf(one) === keyOf(other)) return { same: 'text', uses };
        if (this.level === 'A') return this.lookAtTexts(one, other, uses);
        const made = await Promise.all([one, other].map((side, i) => this.compilers[i].compile(side)));
        const failed = made.filter(({ error }) => error !== undefined);
        if (failed.length === 2) {
            this.notCompiled.set(`${one.label} → ${other.label}`, failed[0].error);
            return this.lookAtTexts(one, other, uses);
        }
        if (failed.length === 1) {
            return { difference: 'only one of them compiles', lines: made.map(({ error }) => error ?? '(compiles)') };
        }
        const [before, after] = made;
        if (this.level === 'B') {
            if (before.spirv === after.spirv) return { same: 'spirv', uses };
            return { difference: 'other SPIR-V', lines: firstDifference(before.spirv, after.spirv) };
        }
        const structures = made.map((each) => each.structure());
        if (structures[0].text !== structures[1].text) {
            const lines = firstDifference(structures[0].text, structures[1].text);
            return { difference: 'other SPIR-V after spirv-opt -O', lines };
        }
        const used = [one, other].map((side, i) => usesInSpirv(side, structures[i].uses));
        return { same: before.spirv === after.spirv ? 'spirv' : 'structure', uses: used };
    }

    lookAtTexts(one, other, uses) {
        if (one.nameless !== other.nameless) {
            return { difference: 'other text', lines: firstDifference(statements(one.wgsl), statements(other.wgsl)) };
        }
        const values = [one, other].map(({ constants }) => constants.map(({ value }) => value).join());
        if (values[0] === values[1]) return { same: 'nameless', uses };
        const at = one.constants.findIndex(({ value }, i) => value !== other.constants[i]?.value);
        return { difference: 'other constants', lines: [one, other].map(({ constants }) => constantText(constants[at])) };
    }

    stop() {
        for (const compiler of this.compilers) compiler.stop();
    }
}

/** Compiles what it has not compiled yet. */
class Compiler {
    dawn = new Dawn();
    made = new Map();

    async compile(pipeline) {
        const key = keyOf(pipeline);
        if (!this.made.has(key)) this.made.set(key, await this.make(pipeline));
        return this.made.get(key);
    }

    async make({ wgsl, constants }) {
        const given = constants.filter((constant) => constant.given).map(({ originally, value }) => [originally, value]);
        const { spirv, error } = await this.dawn.compile(wgsl, Object.fromEntries(given));
        if (error !== undefined) return { error };
        let structured;
        return { spirv: withoutNames(spirv), structure: () => (structured ??= structure(optimised(spirv))) };
    }

    stop() {
        this.dawn.stop();
    }
}

function keyOf(pipeline) {
    const constants = () => pipeline.constants.map(({ originally, value }) => `${originally}=${value}`).join();
    pipeline.key ??= digest(`${pipeline.wgsl}\n${constants()}`);
    return pipeline.key;
}

function usesInText({ bindings }) {
    return bindings.map(({ use }, index) => ({ index, use }));
}

/** Dawn numbers bindings by their rank among those that a text declares. */
function usesInSpirv({ wgsl }, uses) {
    const declared = [...wgsl.matchAll(/@binding\((\d+)\)/g)].map(([, number]) => Number(number));
    declared.sort((one, other) => one - other);
    return uses.map(({ index, use }) => ({ index: declared[index], use }));
}

/** A line each, without comments and spaces, so that layout is no difference. Names may be the first one that shows. */
function statements(wgsl) {
    const plain = wgsl.replace(/\/\/.*/g, '').replace(/\s+/g, ' ');
    return plain.replace(/ ?([^\w ]) ?/g, '$1').replace(/[;{}]+/g, '\n').trim();
}

/** The first lines in which two texts differ. */
export function firstDifference(one, other) {
    const lines = [one.split('\n'), other.split('\n')];
    const at = lines[0].findIndex((line, i) => line !== lines[1][i]);
    return lines.map((side) => side[at < 0 ? lines[0].length : at] ?? '(nothing)');
}

export function constantText(constant) {
    return constant ? `${constant.name}=${constant.value}` : '(none)';
}
