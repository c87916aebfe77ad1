// A real device that is taken away in the middle of an answer. With the smallest model: a new device compiles its kernels
// again, and what is told and remembered has nothing to do with how many there are.
import assert from 'node:assert/strict';
import { existsSync, promises as fs } from 'node:fs';
import { test } from 'node:test';
import { engineFile } from '../engine-file.js';
import { Lapidary, type LoadedEngine } from '../lapidary.js';
import type { EngineInfo } from '../options.js';
import { gpuForTests, watched } from '../testing/gpu-driver.js';
import { tinyModel } from '../testing/tiny-model.js';

const found = await gpuForTests();
const reason = typeof found === 'string' ? found : existsSync(engineFile(false)) ? undefined : 'the engine is not built';
const skip = reason ?? false;

async function answer(engine: LoadedEngine, onChunk: (number: number) => void = () => undefined): Promise<string> {
    const stream = await engine.chat.completions.create({
        messages: [{ role: 'user', content: 'Hi' }],
        temperature: 0,
        repeat_penalty: 30, // noise would repeat itself
        max_tokens: 5,
        stream: true,
    });
    let text = '';
    let chunks = 0;
    for await (const { choices } of stream) {
        text += choices[0]?.delta.content ?? '';
        onChunk(++chunks);
    }
    return text;
}

test('a GPU that is lost in mid-answer: another one goes on, and the CPU only where there is none', { skip }, async () => {
    const real = watched(found as GPU);
    let there = true;
    let devices = 0;
    const gpu = {
        wgslLanguageFeatures: real.gpu.wgslLanguageFeatures,
        requestAdapter: async (options?: GPURequestAdapterOptions) => {
            if (!there) return null;
            const adapter = await real.gpu.requestAdapter(options);
            if (!adapter) return null;
            const requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (descriptor) => {
                devices++;
                return await requestDevice(descriptor);
            };
            return adapter;
        },
    } as GPU;
    const log: string[] = [];
    const told: EngineInfo[] = [];
    const engine = await Lapidary.load(await tinyModel(), {
        backend: 'gpu',
        gpu,
        contextLength: 128,
        maxConversations: 1,
        log: (level, text) => void log.push(`${level}: ${text}`),
        onInfo: (info) => void told.push(info),
    });
    try {
        const undisturbed = await answer(engine);
        assert.ok(new Set(undisturbed).size > 1, undisturbed);
        assert.equal(devices, 1);

        const lose = (number: number) => void (number === 3 && real.device().destroy());
        assert.equal(await answer(engine, lose), undisturbed, 'on another device');
        assert.equal(devices, 2);
        assert.equal(engine.info.backend, 'gpu');
        assert.match(engine.info.why, /new device after the GPU was lost/);
        assert.equal(told.length, 1, 'whoever asked to be told was');

        const loseForGood = (number: number) => {
            if (number !== 3) return;
            there = false;
            real.device().destroy();
        };
        assert.equal(await answer(engine, loseForGood), undisturbed, 'on the CPU');
        assert.equal(engine.info.backend, 'cpu');
        assert.match(engine.info.why, /the GPU was lost.*no other could be had \(WebGPU found no GPU\), so the CPU computes/);
        assert.ok(log.some((line) => line.startsWith('warning: no other GPU yet')));
        assert.equal(await answer(engine), undisturbed, 'and stays there');
    } finally {
        await engine.dispose();
    }
});

test('a GPU that is lost while a canvas settles: another one settles it, and the answer is the same', { skip }, async () => {
    const real = watched(found as GPU);
    const model = new URL('../../../../tests/data/diffusion/tiny-diffusion-q4km.gguf', import.meta.url);
    const engine = await Lapidary.load(new Blob([new Uint8Array(await fs.readFile(model))]), {
        backend: 'gpu',
        gpu: real.gpu,
        contextLength: 128,
        maxConversations: 1,
        rememberGpu: false,
    });
    try {
        const settled = async (onDraft: (number: number) => void = () => undefined) => {
            const tokens: number[] = [];
            let drafts = 0;
            await engine.generate(
                {
                    messages: [{ role: 'user', content: 'Hi' }],
                    max_tokens: 24,
                    sampling: { seed: 7 },
                    diffusion: { steps: 2 },
                    drafts: true,
                    report_tokens: true,
                },
                {
                    onEvent: (event) => {
                        if (event.type === 'draft') onDraft(++drafts);
                        if (event.type === 'tokens') tokens.push(...event.tokens);
                    },
                },
            );
            return { tokens, drafts };
        };
        const undisturbed = await settled();
        assert.ok(undisturbed.drafts >= 3, 'two canvases');
        // In the second canvas: the first one is known, and read again.
        const lost = await settled((number) => void (number === 3 && real.device().destroy()));
        assert.deepEqual(lost.tokens, undisturbed.tokens);
        assert.match(engine.info.why, /new device after the GPU was lost/);
    } finally {
        await engine.dispose();
    }
});
