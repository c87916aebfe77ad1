import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuDevice } from './device.js';

/** A browser that offers subgroups, and whose compiler may not know them. */
function browser(compiler: 'knows' | 'complains' | 'refuses' | 'throws'): GPU {
    let failed = false;
    const device = {
        features: new Set(['subgroups', 'subgroup-size-control', 'timestamp-query']),
        limits: {},
        lost: new Promise(() => undefined),
        pushErrorScope: () => undefined,
        popErrorScope: async () => (failed && compiler !== 'refuses' ? { message: 'not yet implemented' } : null),
        createShaderModule: ({ code }: { code: string }) => {
            assert.match(code, /^enable subgroups;/);
            failed = compiler !== 'knows';
            if (compiler === 'throws') throw new TypeError('not yet implemented');
            return {};
        },
        createComputePipelineAsync: async () => {
            if (compiler === 'refuses') throw new Error('not yet implemented');
            return {};
        },
    };
    const adapter = {
        features: device.features,
        limits: {},
        info: { vendor: '', architecture: '', device: '', description: '', subgroupMinSize: 32, subgroupMaxSize: 32 },
        requestDevice: async () => device,
    };
    return { requestAdapter: async () => adapter } as unknown as GPU;
}

test('subgroups are used where a kernel with them can be compiled', async () => {
    const { info } = await GpuDevice.open(browser('knows'), new Set());
    assert.deepEqual(info.features, ['subgroup-size-control', 'subgroups', 'timestamp-query']);
});

test('a browser that offers subgroups and cannot compile them has none', async () => {
    for (const compiler of ['complains', 'refuses', 'throws'] as const) {
        const { info } = await GpuDevice.open(browser(compiler), new Set());
        assert.deepEqual(info.features, ['timestamp-query'], compiler);
    }
});
