// Which kernels a GPU gets when a model is loaded: on one whose compiler makes mistakes.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LapidaryError } from '../error.js';
import type { TuningCache } from './tuning-cache.js';
import { Model } from '../model.js';
import { FileSource, engineFile, loadEngine } from '../node.js';
import { gpuForTests } from '../testing/gpu-driver.js';

const fixture = fileURLToPath(new URL('../../../../tests/data/fixtures/tiny-e2b-q4_0.gguf', import.meta.url));
const found = await gpuForTests();
const reason = typeof found === 'string' ? found : existsSync(engineFile()) ? undefined : 'the engine is not built';
const options = reason === undefined ? {} : { skip: reason };
const gpu = found as GPU; // tests that use it are skipped otherwise

/** The same GPU, which reads something else wherever a shader says `from`. */
function mistaken(from: string, to: string): { gpu: GPU; mistakes: () => number } {
    let mistakes = 0;
    // The engine carries its shaders without most of their spaces.
    const pattern = new RegExp([...from.replaceAll(' ', '')].map((c) => c.replace(/\W/, '\\$&')).join('\\s*'), 'g');
    const requestAdapter = async (wanted?: GPURequestAdapterOptions) => {
        const adapter = await gpu.requestAdapter(wanted);
        if (!adapter) return null;
        const requestDevice = adapter.requestDevice.bind(adapter);
        adapter.requestDevice = async (descriptor) => {
            const device = await requestDevice(descriptor);
            const create = device.createShaderModule.bind(device);
            device.createShaderModule = (shader) => {
                const code = shader.code.replace(pattern, to);
                if (code !== shader.code) mistakes++;
                return create({ ...shader, code });
            };
            return device;
        };
        return adapter;
    };
    return {
        gpu: { requestAdapter, wgslLanguageFeatures: gpu.wgslLanguageFeatures } as GPU,
        mistakes: () => mistakes,
    };
}

/** Lasts as long as the test. */
function tuningCache(): TuningCache & { text?: string } {
    return {
        surroundings: 'test',
        async read() {
            return this.text;
        },
        async write(text) {
            this.text = text;
        },
    };
}

async function opened(t: TestContext, which: GPU, lines: string[]): Promise<Model> {
    const engine = await loadEngine({ gpu: which, log: (level, text) => lines.push(`${level}: ${text}`) });
    t.after(() => engine.close());
    return await Model.open(engine, [await FileSource.open(fixture)]);
}

test('a GPU that gets whole numbers wrong computes with floats, and a warning says so', options, async (t) => {
    // Nothing is faster than nothing, so whole numbers are what it would get.
    const products = 'dot4I8Packed(q.x, x.x) + dot4I8Packed(q.y, x.y) + dot4I8Packed(q.z, x.z) + dot4I8Packed(q.w, x.w)';
    const { gpu: wrong, mistakes } = mistaken(products, '0');
    const lines: string[] = [];
    const { gpu: choice } = await (await opened(t, wrong, lines)).load('gpu');
    assert.ok(mistakes() > 0);
    assert.equal((choice?.['variant'] as { activations: string }).activations, 'floats');
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^warning: this GPU computes 'gemv \(q4_0\)' wrongly with .*whole numbers .*: it gets .*floats instead$/);
});

test('a GPU that is wrong in every way is refused', options, async (t) => {
    const { gpu: wrong } = mistaken('sum / f32(kCols) + kEps', 'sum / f32(kCols) + kEps + 0.001');
    const model = await opened(t, wrong, []);
    await assert.rejects(model.load('gpu'), (error: unknown) => {
        assert.ok(error instanceof LapidaryError);
        assert.equal(error.code, 'unsupported');
        assert.match(error.message, /^this GPU \(.+\) computes 'add_rms_norm' wrongly \(.+\), in the safest way there is: use the CPU backend$/);
        return true;
    });
});

test('what one engine found out about a GPU the next one knows, and what it found was right', options, async (t) => {
    const kept = tuningCache();
    const first = await (await opened(t, gpu, [])).load('gpu', { memory: kept });
    assert.equal(first.gpu?.['remembered'], undefined);
    const again = await (await opened(t, gpu, [])).load('gpu', { memory: kept });
    assert.equal(again.gpu?.['remembered'], true);
    assert.deepEqual(again.gpu?.['variant'], first.gpu?.['variant']);
    assert.equal((again.gpu?.['selftest'] as { cases: number }).cases, 0, 'nothing was tried');

    const without = ['packed_4x8_integer_dot_product'];
    const other = await (await opened(t, gpu, [])).load('gpu', { memory: kept, without });
    assert.equal(other.gpu?.['remembered'], undefined, 'with other features it is another GPU');
    const damaged: TuningCache = { ...kept, read: async () => kept.text?.replace(/\w$/, 'x') };
    const anew = await (await opened(t, gpu, [])).load('gpu', { memory: damaged });
    assert.equal(anew.gpu?.['remembered'], undefined, 'what is damaged is found out again');
    assert.ok((anew.gpu?.['selftest'] as { cases: number }).cases > 0);
});

test('a GPU that was left untried is not remembered as one that was', options, async (t) => {
    const kept = tuningCache();
    await (await opened(t, gpu, [])).load('gpu', { memory: kept, selfTest: false });
    assert.equal(kept.text, undefined);
});
