import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { compareDevices } from './compare.mjs';
import { Names } from './names.mjs';
import { PipelinePairs } from './pipelines.mjs';
import { devicesIn } from './read.mjs';
import { digest, hasSpirvTools } from './spirv.mjs';

const noDawn = existsSync('/usr/lib/chromium/vk_swiftshader_icd.json') ? false : 'there is no SwiftShader';
const noTools = noDawn || (hasSpirvTools() ? false : 'there are no spirv-tools');

const scale = `override kFactor: f32 = 1.0;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) { y[at.x] = x[at.x] * kFactor; }`;

// y = x·w through a tensor in between, which is gone afterwards, and into one that the next program reads.
const plain = {
    nameless: {}, // of a text, when it is not its own
    buffers: ['blk.0.w.weight', 'between', 'logits', 'step'],
    kernels: { scale: { wgsl: scale, constants: [['kFactor', 2, 'given']], bindings: [['x', 'read'], ['y', 'write']] } },
    programs: {
        layers: [
            ['scale', [4, 1, 1], [[0, 256, 64], [1, 0, 64]]],
            ['scale', [4, 1, 1], [[1, 0, 64], [2, 0, 64]]],
        ],
        head: [['scale', [1, 1, 1], [[2, 0, 64], [1, 0, 64]]]],
    },
};

/** What dump_programs would print. */
function dump({ buffers, kernels, programs, nameless }) {
    const lines = [];
    const names = Object.keys(kernels);
    for (const [title, dispatches] of Object.entries(programs)) {
        lines.push({ program: `tiny h200: ${title}`, dispatches: dispatches.length });
        if (lines.length === 1) {
            buffers.forEach((label, buffer) => lines.push({ buffer, label }));
            names.forEach((label, pipeline) => {
                const { wgsl, constants, bindings } = kernels[label];
                lines.push({ text: digest(wgsl), nameless: nameless[label] ?? digest(wgsl), wgsl });
                lines.push({ pipeline, label, of: digest(wgsl), constants, bindings });
            });
        }
        for (const [kernel, grid, bound] of dispatches) {
            lines.push({ dispatch: names.indexOf(kernel), grid, bound: bound.map((range) => [...range, null]) });
        }
    }
    return Readable.from(lines.map((line) => `${JSON.stringify(line)}\n`));
}

async function compare(level, one, other, renamed = {}) {
    const pairs = new PipelinePairs(level);
    const counts = { programs: 0, dispatches: 0, unnamed: [new Set(), new Set()] };
    try {
        const sides = [];
        for await (const device of devicesIn(dump(one), new Names(renamed))) sides.push(device);
        for await (const device of devicesIn(dump(other))) sides.push(device);
        assert.equal(sides.length, 2);
        const [difference] = await compareDevices(sides[0], sides[1], pairs, counts);
        const ways = [...pairs.found.values()].map(({ same }) => same);
        const { programs, dispatches } = counts;
        const unnamed = counts.unnamed.map((names) => [...names]);
        return difference ? difference.what : { programs, dispatches, ways, unnamed };
    } finally {
        pairs.stop();
    }
}

/** The same with something else in it. */
function changed(change, from = plain) {
    const copy = structuredClone(from);
    change(copy);
    return copy;
}

const dispatchesOf = ({ programs }) => Object.values(programs).flat();
const withText = (edit) => changed(({ kernels }) => (kernels.scale.wgsl = edit(kernels.scale.wgsl)));

test('programs are equal to themselves, and to others whose kernels and scratch have other names', async () => {
    const all = { programs: 2, dispatches: 3 };
    assert.deepEqual(await compare('A', plain, plain), { ...all, ways: ['text'], unnamed: [[], []] });
    const renamed = changed((copy) => {
        copy.buffers[1] = 'scratch';
        const wgsl = scale.replaceAll('kFactor', 'kScale');
        copy.kernels = { times: { ...copy.kernels.scale, wgsl, constants: [['kScale', 2, 'given']] } };
        copy.nameless = { times: digest(scale) };
        for (const dispatch of dispatchesOf(copy)) dispatch[0] = 'times';
    });
    assert.deepEqual(await compare('A', plain, renamed), {
        ...all,
        ways: ['nameless'],
        unnamed: [['between'], ['scratch']],
    });
});

const bound = 'other things are bound';
const differences = {
    'a grid': ['other grids', ({ programs }) => (programs.head[0][1] = [2, 1, 1])],
    'a constant': ['other constants', ({ kernels }) => (kernels.scale.constants[0][1] = 3)],
    'a text': ['other text', ({ kernels }) => (kernels.scale.wgsl = scale.replace('*', '+'))],
    'where weights begin': [bound, ({ programs }) => (programs.layers[0][2][0][1] = 512)],
    'who wrote what is read': [bound, ({ programs }) => (programs.layers[1][2][0] = [3, 0, 64])],
    'a read that goes further than what was written': [bound, ({ programs }) => (programs.layers[1][2][0][2] = 128)],
    'where something is left for the next program': [bound, ({ programs }) => (programs.layers[1][2][1][1] = 64)],
    'another tensor in place of one': [
        bound,
        ({ programs }) => (programs.layers[0][2][1] = programs.layers[1][2][0] = [3, 0, 64]),
    ],
    'the name of what the next program reads': [bound, ({ buffers }) => (buffers[2] = 'scores')],
    'a dispatch less': ['another number of dispatches', ({ programs }) => programs.layers.pop()],
    'a program less': ['other programs', ({ programs }) => delete programs.head],
    'the name of a program': [
        'other programs',
        (copy) => (copy.programs = { layers: copy.programs.layers, tail: copy.programs.head }),
    ],
};
for (const [what, [message, change]] of Object.entries(differences)) {
    test(`it notices ${what}`, async () => {
        assert.equal(await compare('A', plain, changed(change)), message);
        assert.equal(await compare('A', changed(change), plain), message);
    });
}

test('names.json says what was renamed', async () => {
    const renamed = changed(({ buffers }) => (buffers[2] = 'scores'));
    assert.deepEqual(await compare('A', plain, renamed, { tensors: { logits: 'values', values: 'scores' } }), {
        programs: 2,
        dispatches: 3,
        ways: ['text'],
        unnamed: [[], []],
    });
});

test('B: names, comments and layout are nothing to a driver; numbers are', { skip: noDawn }, async () => {
    const renamed = changed((copy) => {
        const wgsl = scale.replaceAll('kFactor', 'kScale').replaceAll('x:', 'input:');
        copy.kernels.scale.wgsl = wgsl.replace('x[at.x] *', 'input[at.x]\n// by\n*');
        copy.kernels.scale.constants[0][0] = 'kScale';
    });
    assert.deepEqual((await compare('B', plain, renamed)).ways, ['spirv']);
    assert.equal(await compare('B', plain, withText((text) => text.replace('at.x] *', 'at.y] *'))), 'other SPIR-V');
    assert.equal(await compare('B', plain, changed(({ kernels }) => (kernels.scale.constants[0][1] = 3))), 'other SPIR-V');
    assert.equal(await compare('B', plain, withText((text) => text.replace('x[at.x]', 'q[at.x]'))), 'only one of them compiles');
});

test('C: what a driver leaves out does not count, and neither do bindings that nobody uses', { skip: noTools }, async () => {
    const withMore = changed((copy) => {
        const more = '@group(0) @binding(1) var<storage, read> more: array<f32>;\n@group(0) @binding(2)';
        const wgsl = scale.replace('@group(0) @binding(1)', more).replace('{ y', '{ if (kMore) { y[0] = more[0]; } y');
        copy.kernels.scale.wgsl = `override kMore = false;\n${wgsl}`;
        copy.kernels.scale.bindings = [['x', 'read'], ['more', 'read'], ['y', 'write']];
        for (const dispatch of dispatchesOf(copy)) dispatch[2].splice(1, 0, [3, 0, 16]);
    });
    assert.deepEqual((await compare('C', plain, withMore)).ways, ['structure']);
    assert.equal(await compare('B', plain, withMore), 'other SPIR-V');
    const elsewhere = changed(({ programs }) => (programs.layers[1][2][0] = [3, 0, 64]), withMore);
    assert.equal(await compare('C', plain, elsewhere), bound);
    const used = changed(({ kernels }) => kernels.scale.constants.unshift(['kMore', 1, 'given']), withMore);
    assert.equal(await compare('C', plain, used), 'other SPIR-V after spirv-opt -O');
});
