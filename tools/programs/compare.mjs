// The programs of a model on a kind of GPU, of both sides.
import { flowOf, sameWord, tensorsOf } from './flow.mjs';
import { constantText } from './pipelines.mjs';

/**
 * Of every program that differs the first difference, { where, what, lines }. `counts` gets what was compared, and `unnamed`, the tensors
 * that only one side has.
 */
export async function compareDevices(one, other, pairs, counts) {
    const titles = [one, other].map((side) => side.programs.map(({ title }) => title));
    if (titles[0].join() !== titles[1].join()) {
        const at = titles[0].findIndex((title, i) => title !== titles[1][i]);
        const lines = titles.map((side) => side[at < 0 ? titles[0].length : at] ?? '(no more programs)');
        return [{ where: one.device, what: 'other programs', lines }];
    }
    const tensors = [one, other].map((side) => tensorsOf(side.programs));
    // What is scratch on one side may be on the other, too, under its own name.
    const isScratch = (tensor) => tensors.some((side) => side.has(`scratch: ${tensor}`));
    const named = new Set([...tensors[0]].filter((tensor) => tensors[1].has(tensor) && !isScratch(tensor)));
    tensors.forEach((names, side) => {
        for (const name of names) if (!named.has(name)) counts.unnamed[side].add(name);
    });
    const differences = [];
    for (const [i, program] of one.programs.entries()) {
        const programs = [program, other.programs[i]];
        const difference = await comparePrograms(programs, named, pairs);
        if (difference) {
            differences.push({ where: program.title, ...difference });
            continue;
        }
        counts.programs++;
        counts.dispatches += program.dispatches.length;
    }
    return differences;
}

async function comparePrograms(programs, named, pairs) {
    const [one, other] = programs.map(({ dispatches }) => dispatches);
    const uses = [[], []];
    const shared = Math.min(one.length, other.length);
    for (let at = 0; at < shared; at++) {
        const grids = [one, other].map((side) => side[at].grid.join(' '));
        const lines = [one, other].map((side) => dispatchText(side[at], at));
        if (grids[0] !== grids[1]) return { what: 'other grids', lines };
        const pair = await pairs.compare(one[at].pipeline, other[at].pipeline);
        if (pair.same === undefined) return { what: pair.difference, lines, detail: pair.lines };
        pair.uses.forEach((used, side) => uses[side].push(used));
    }
    const flows = [one, other].map((side, i) => flowOf(side.slice(0, shared), uses[i], named));
    for (let at = 0; at < shared; at++) {
        const [words, others] = flows.map((flow) => flow[at]);
        if (words.length === others.length && words.every((word, i) => sameWord(word, others[i]))) continue;
        const lines = [one, other].map((side) => dispatchText(side[at], at));
        const detail = [one, other].map((side, i) => boundText(side[at], uses[i][at], flows[i][at]));
        return { what: 'other things are bound', lines, detail };
    }
    if (one.length === other.length) return undefined;
    const lines = [one, other].map((side) => (side[shared] ? dispatchText(side[shared], shared) : `(ends after ${shared})`));
    return { what: 'another number of dispatches', lines };
}

function dispatchText({ pipeline, grid }, at) {
    return `%${at} ${pipeline.label} [${grid.join(' ')}] ${pipeline.constants.map(constantText).join(' ')}`;
}

function boundText({ pipeline }, uses, words) {
    return words.map((word, i) => `${pipeline.bindings[uses[i].index]?.name ?? uses[i].index}=${word}`).join(' ');
}
