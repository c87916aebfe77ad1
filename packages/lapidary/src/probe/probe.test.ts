import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lapidary } from '../lapidary.js';
import { copyBandwidth } from './bandwidth.js';
import { judgeModels, type ProbedModel } from './family.js';

test('a machine without a GPU is told so, and no large model fits', async () => {
    const probe = await Lapidary.probe({ gpu: async () => undefined });
    assert.equal(probe.webgpu, false);
    assert.equal(probe.backend, 'cpu');
    assert.equal(probe.gpu, undefined);
    assert.ok(probe.estimatedMemory > 1e8);
    assert.ok(probe.models.length >= 5);
    const large = probe.models.filter(({ variant }) => /^(12|26|31)/.test(variant));
    assert.ok(large.length >= 3);
    assert.ok(large.every(({ fits, why }) => !fits && why === 'it needs a GPU'));
});

/** A GPU whose copies are reported, or that says to be software. */
function fakeGpu(software: boolean, copied: (copies: number) => void = () => undefined): GPU {
    let copies = 0;
    const device = {
        createBuffer: () => ({}),
        createCommandEncoder: () => ({ copyBufferToBuffer: () => void copies++, finish: () => ({}) }),
        queue: {
            submit: () => undefined,
            onSubmittedWorkDone: async () => {
                copied(copies);
                copies = 0;
            },
        },
        destroy: () => undefined,
    };
    const adapter = {
        info: { vendor: 'acme', architecture: 'one', device: '', description: '', isFallbackAdapter: software },
        limits: { maxBufferSize: 2 ** 31, maxStorageBufferBindingSize: 2 ** 30 },
        features: new Set(['shader-f16']),
        requestDevice: async () => device,
    };
    return { requestAdapter: async () => adapter } as unknown as GPU;
}

test('bandwidth is what was copied by the time it took, without what telling takes', async () => {
    let time = 0;
    const tried: number[] = [];
    // 100 GB a second, of which a page hears three milliseconds later.
    const gpu = fakeGpu(false, (copies) => {
        tried.push(copies);
        time += (copies * 128 * 1024 * 1024) / 1e8 + 3;
    });
    const adapter = await gpu.requestAdapter();
    assert.ok(adapter);
    const bandwidth = await copyBandwidth(adapter, () => time);
    assert.ok(Math.abs(bandwidth / 1e11 - 1) < 1e-9, String(bandwidth));
    assert.deepEqual(tried, [1, 0, 4, 16, 64], 'as few copies as take long enough');
    // A clock that stands still ends it too.
    tried.length = 0;
    assert.ok(Number.isFinite(await copyBandwidth(adapter, () => 0)));
    assert.equal(tried.at(-1), 1024);
});

test('a GPU is described and its bandwidth measured', async () => {
    const probe = await Lapidary.probe({ gpu: fakeGpu(false) });
    assert.equal(probe.backend, 'gpu');
    assert.equal(probe.gpu?.adapter, 'acme one');
    assert.deepEqual(probe.gpu?.features, ['shader-f16']);
    assert.ok((probe.gpu?.bandwidth ?? 0) > 0);
    assert.ok(probe.models.every(({ estimatedTokensPerSecond = 0 }) => estimatedTokensPerSecond > 0));
});

test('software that pretends to be a GPU is not used', async () => {
    const probe = await Lapidary.probe({ gpu: fakeGpu(true) });
    assert.equal(probe.backend, 'cpu');
    assert.equal(probe.gpu?.software, true);
    assert.equal(probe.gpu?.bandwidth, undefined);
});

test('what fits depends on the memory, and the guess at speed on the bandwidth', () => {
    const judge = (memory: number, bandwidth?: number, quota = 1e12) =>
        judgeModels({
            backend: 'gpu',
            estimatedMemory: memory,
            gpu: bandwidth === undefined ? {} : { bandwidth },
            storage: { quota, usage: 0 },
        });
    const those = (models: ProbedModel[]) => models.filter(({ variant }) => /^E/.test(variant));
    assert.deepEqual(judge(6e9).filter(({ fits }) => fits).map(({ variant }) => variant), ['270M', '300M', '1B', '4B', 'E2B', 'E4B']);
    assert.ok(judge(60e9).every(({ fits }) => fits));
    const small = those(judge(2.5e9, 1e11));
    assert.deepEqual(small.filter(({ fits }) => fits).map(({ variant }) => variant), ['E2B'], 'without its table');
    assert.match(small[0]?.why ?? '', /embeddings stay in the file/);
    assert.ok((small[0]?.memoryBytes ?? 0) < 2.5e9);
    assert.equal(small[0]?.estimatedTokensPerSecond, undefined);
    assert.match(those(judge(60e9, 1e11, 1e9))[0]?.why ?? '', /no room to keep its file/);
    assert.equal(those(judge(6e9))[0]?.estimatedTokensPerSecond, undefined);
    const [slow, fast] = [those(judge(6e9, 1e11))[0], those(judge(6e9, 1e12))[0]];
    assert.ok((fast?.estimatedTokensPerSecond ?? 0) > 4 * (slow?.estimatedTokensPerSecond ?? Infinity));
});
