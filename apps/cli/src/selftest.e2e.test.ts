// Every kernel against its reference, on Dawn with Chromium's software GPU.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckReport, CheckedCase } from 'lapidary';
import { describe } from './commands/selftest.js';
import { needsSoftwareGpu } from './testing/gpu-model.js';
import { kernelNames } from './testing/kernels.js';
import { lapidary } from './testing/process.js';

const slowly = { env: { LAPIDARY_GPU: 'swiftshader' }, timeoutMs: 1_800_000 };
const options = needsSoftwareGpu();

test('every kernel computes what its reference does, in every format of weights', options, async () => {
    const { status, stdout, stderr } = await lapidary(['selftest', '--json'], slowly);
    const { cases } = JSON.parse(stdout) as CheckReport;
    assert.deepEqual(cases.filter(({ ok }) => !ok), []);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    const checked = new Set(cases.map(({ kernel }) => kernel));
    assert.deepEqual((await kernelNames()).filter((name) => !checked.has(name)), [], 'kernels without cases');
    for (const product of ['gemm', 'gemv', 'gather_rows']) {
        const formats = [...new Set(cases.filter(({ kernel }) => kernel === product).map(({ format }) => format))];
        const mixed = formats.filter((format) => format.includes('+'));
        assert.equal(formats.length - mixed.length, 16, `${product}: ${formats.join()}`);
        assert.equal(mixed.length, product === 'gemv' ? 3 : 0, mixed.join());
    }
});

test('without subgroups the self-test passes as well, and prints a table', options, async () => {
    const kernels = ['--kernels', 'add_rms_norm,qk_norm_rope_store,per_layer_inputs'];
    const args = ['selftest', '--quick', '--without', 'subgroups', ...kernels];
    const { status, stdout, stderr } = await lapidary(args, slowly);
    assert.equal(stderr, '');
    assert.equal(status, 0);
    assert.match(stdout, /^[^\n]+: (\d+) of \1 cases right/);
    assert.match(stdout, /^qk_norm_rope_store +shared +\d+ .* ok$/m);
    assert.doesNotMatch(stdout, /subgroup/);
});

test('a kernel that does not exist is wrong usage of the self-test', options, async () => {
    const { status, stderr } = await lapidary(['selftest', '--kernels', 'gemv,fft'], slowly);
    assert.equal(status, 1);
    assert.match(stderr, /^lapidary: there is no kernel 'fft'; there are .*gemv/);
});

test('what is wrong is named, with the case', () => {
    const good: CheckedCase = {
        kernel: 'gemv',
        format: 'q4_k',
        variant: 'subgroup',
        shape: '17 × 768',
        error: 1e-7,
        limit: 1e-5,
        max_error: 1e-6,
        ok: true,
    };
    const cases = [good, { ...good, shape: '3 × 256', error: 0.5, ok: false }, { ...good, variant: 'shared' }];
    const lines = describe({ adapter: 'a GPU', subgroups: true, subgroup_min: 4, cases, failed: 1, ms: 1234 });
    assert.equal(lines[0], 'a GPU: 2 of 3 cases right, 1.2 s');
    assert.match(lines[3] ?? '', /^gemv +q4_k +subgroup +2 +5\.0e-1 +1e-5 +1 wrong$/);
    assert.match(lines[4] ?? '', /^gemv +q4_k +shared +1 .*ok$/);
    assert.equal(lines.at(-1), 'wrong: gemv q4_k subgroup, 3 × 256: error 5.00e-1');
});
