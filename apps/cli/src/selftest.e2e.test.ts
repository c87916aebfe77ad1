// Every kernel against its reference, on Dawn with Chromium's software GPU.
import assert from 'node:assert/strict';
import { existsSync, promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import type { CheckReport, CheckedCase } from 'lapidary';
import { describe } from './commands/selftest.js';
import { lapidary, needsEngine, root } from './testing/process.js';

const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json';
const slowly = { env: { LAPIDARY_GPU: 'swiftshader' }, timeoutMs: 600_000 };
const options = existsSync(swiftShader) ? needsEngine() : { skip: `there is no software GPU at ${swiftShader}` };

/** The names of the kernels there are: every file with an entry point is one. */
async function kernelFiles(): Promise<string[]> {
    const folder = path.join(root, 'engine', 'kernels');
    const files = (await fs.readdir(folder)).filter((name) => name.endsWith('.wgsl'));
    const texts = await Promise.all(files.map((name) => fs.readFile(path.join(folder, name), 'utf8')));
    return files.filter((_, i) => texts[i]?.includes('@compute')).map((name) => name.replace('.wgsl', ''));
}

test('every kernel, in every weight format, computes what its reference does', options, async () => {
    const { status, stdout, stderr } = await lapidary(['selftest', '--json'], slowly);
    const report = JSON.parse(stdout) as CheckReport;
    assert.deepEqual(report.cases.filter(({ ok }) => !ok), []);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    const checked = new Set(report.cases.map(({ kernel }) => kernel));
    assert.deepEqual((await kernelFiles()).filter((name) => !checked.has(name)), [], 'kernels without cases');
});

test('without subgroups the self-test passes as well, and prints a table', options, async () => {
    // The kernels that would use them: those that add up over threads.
    const kernels = ['--kernels', 'matvec,residual_norm,heads,per_layer'];
    const args = ['selftest', '--quick', '--without', 'subgroups', ...kernels];
    const { status, stdout, stderr } = await lapidary(args, slowly);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    assert.match(stdout, /^[^\n]+: (\d+) of \1 cases right/);
    assert.match(stdout, /^matvec +q4_k +shared floats +\d+ .* ok$/m);
    assert.doesNotMatch(stdout, /subgroup/);
});

test('a kernel that does not exist is wrong usage of the self-test', options, async () => {
    const { status, stderr } = await lapidary(['selftest', '--kernels', 'matvec,fft'], slowly);
    assert.equal(status, 1);
    assert.match(stderr, /^lapidary: there is no kernel 'fft'; there are .*matvec/);
});

test('what is wrong is named, with the case', () => {
    const good: CheckedCase = {
        kernel: 'matvec',
        format: 'q4_k',
        variant: 'subgroup',
        shape: '17 × 768',
        error: 1e-7,
        limit: 1e-5,
        max_error: 1e-6,
        ok: true,
    };
    const cases = [good, { ...good, shape: '3 × 256', error: 0.5, ok: false }, { ...good, variant: 'shared' }];
    const lines = describe({ adapter: 'a GPU', subgroups: true, cases, failed: 1, ms: 1234 });
    assert.equal(lines[0], 'a GPU: 2 of 3 cases right, 1.2 s');
    assert.match(lines[3] ?? '', /^matvec +q4_k +subgroup +2 +5\.0e-1 +1e-5 +1 wrong$/);
    assert.match(lines[4] ?? '', /^matvec +q4_k +shared +1 .*ok$/);
    assert.equal(lines.at(-1), 'wrong: matvec q4_k subgroup, 3 × 256: error 5.00e-1');
});
