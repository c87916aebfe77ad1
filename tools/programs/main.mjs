// tools/compare-programs
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { buildCommit, buildTree, root } from './build.mjs';
import { compareDevices } from './compare.mjs';
import { Names } from './names.mjs';
import { PipelinePairs, ways } from './pipelines.mjs';
import { devicesIn } from './read.mjs';
import { hasSpirvTools } from './spirv.mjs';

const usage = `usage: tools/compare-programs REV [--level A|B|C] [--model NAME] [--profile NAME]

Builds dump_programs of the commit REV and of this tree, and compares every program they would record for a GPU. There
must be as many dispatches, with the same grids; what they bind must come from the same places; and of their shaders must
be equal:
  A  the text, apart from names and layout, and the constants (the default; seconds)
  B  the SPIR-V that a driver gets from Dawn, constants applied, without names (about a second a pipeline)
  C  the same after spirv-opt -O, by structure; bindings that are not used do not count (needs Debian's spirv-tools)
Says how many programs are equal, and of those that are not the first difference, and returns 1 then. What was renamed on purpose is in
tools/programs/names.json.`;

const most = 10; // differences that are shown

async function main() {
    const { values, positionals } = parseArgs({
        allowPositionals: true,
        options: {
            level: { type: 'string', default: 'A' },
            model: { type: 'string' },
            profile: { type: 'string' },
            help: { type: 'boolean' },
        },
    });
    if (values.help) return print(usage, 0);
    if (positionals.length !== 1 || !'ABC'.includes(values.level) || values.level.length !== 1) return print(usage, 2);
    if (values.level === 'C' && !hasSpirvTools()) {
        return print("level C needs Debian's package spirv-tools: apt-get install spirv-tools", 2);
    }

    const programs = [buildCommit(positionals[0]), buildTree()];
    const only = ['model', 'profile'].flatMap((name) => (values[name] === undefined ? [] : [`--${name}`, values[name]]));
    const stdio = ['ignore', 'pipe', 'inherit'];
    const dumps = programs.map((program) => spawn(program, ['--json', ...only], { cwd: root, stdio }));
    const ends = dumps.map((dump) => once(dump, 'close'));
    const sides = [devicesIn(dumps[0].stdout, new Names()), devicesIn(dumps[1].stdout)];
    const pairs = new PipelinePairs(values.level);
    const counts = { programs: 0, dispatches: 0, unnamed: [new Set(), new Set()] };
    const differences = [];
    try {
        for (;;) {
            const [one, other] = (await Promise.all(sides.map((side) => side.next()))).map(({ value }) => value);
            if (!one && !other) break;
            const names = [one, other].map((side) => side?.device ?? '(no more)');
            if (names[0] !== names[1]) {
                return print(differenceText({ where: 'models and GPUs', what: 'others', lines: names }, positionals[0]), 1);
            }
            differences.push(...(await compareDevices(one, other, pairs, counts)));
            if (process.stderr.isTTY) process.stderr.write(`${one.device}: ${one.programs.length} programs\n`);
        }
    } finally {
        pairs.stop();
    }
    const failed = (await Promise.all(ends)).some(([status]) => status !== 0);
    if (failed) return print('dump_programs failed', 2);
    const shown = differences.slice(0, most).map((difference) => differenceText(difference, positionals[0]));
    if (differences.length > 0) shown.push(`${differences.length} programs differ${differences.length > most ? `; the first ${most} are above` : ''}`);
    const texts = [...shown, countText(counts, values.level), ...pairTexts(pairs), ...unnamedTexts(counts, positionals[0])];
    return print(texts.join('\n'), differences.length > 0 ? 1 : 0);
}

function print(text, status) {
    (status === 2 ? console.error : console.log)(text);
    return status;
}

function countText({ programs, dispatches }, level) {
    const [many, more] = [programs, dispatches].map((count) => count.toLocaleString('en'));
    return `${many} programs equal at level ${level}, with ${more} dispatches`;
}

/** How their pipelines were found equal. */
function pairTexts(pairs) {
    const found = [...pairs.found.values()];
    const lines = Object.entries(ways).flatMap(([way, text]) => {
        const those = found.filter(({ same }) => same === way);
        if (those.length === 0) return [];
        // What is equal only after optimising should be timed on a GPU.
        const which = way === 'structure' ? `: ${[...new Set(those.map(({ kernels }) => kernels[1]))].join(', ')}` : '';
        return [`  ${those.length} pairs of pipelines with ${text}${which}`];
    });
    for (const [kernels, error] of pairs.notCompiled) {
        lines.push(`  not compiled, compared as at level A: ${kernels} (${error})`);
    }
    return lines;
}

/** Those that have another name and are not in names.json; scratch need not be there. */
function unnamedTexts({ unnamed }, revision) {
    return [revision, 'this tree'].flatMap((side, i) =>
        unnamed[i].size === 0 ? [] : [`  tensors that only ${side} has, taken for scratch: ${[...unnamed[i]].join(', ')}`],
    );
}

function differenceText({ where, what, lines, detail }, revision) {
    const width = Math.max(revision.length, 'this tree'.length);
    const both = (texts) => [`${revision.padEnd(width)}  ${texts[0]}`, `${'this tree'.padEnd(width)}  ${texts[1]}`];
    const more = detail ? ['where they first differ:', ...both(detail)] : [];
    return [`${where}: ${what}`, ...both(lines), ...more].join('\n');
}

try {
    process.exitCode = await main();
} catch (error) {
    process.exitCode = print(`compare-programs: ${error.message}`, 2);
}
