// Models of embeddings on the software GPU: many texts of different lengths at once, against the expected vectors.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { Model } from 'lapidary';
import { openFile } from 'lapidary/node';
import { relativeError } from '../testing/floats.js';
import { needsSoftwareGpu, softwareEngine } from '../testing/gpu-model.js';
import { root } from '../testing/process.js';
import { readTensor } from '../testing/safetensors.js';
import { thorough } from '../testing/thorough.js';

const options = needsSoftwareGpu();
const fixture = (name: string) => path.join(root, 'tests', 'data', 'fixtures', name);
process.env['LAPIDARY_CACHE'] ??= '/dev/null/lapidary';
// The fixture's limit, times ten for a GPU.
const most = 2e-4;

for (const name of thorough ? ['tiny-embedding-q8_0', 'tiny-embedding-ollama-bf16'] : ['tiny-embedding-q8_0']) {
    test(`${name} gives the expected vectors for texts of all lengths at once`, options, async (t) => {
        const values = fixture(`${name}.safetensors`);
        const of = async (i: number, what: string) => await readTensor(values, `${i}.${what}`);
        const numbers = [0, 1, 2, 3, 4, 5];
        const texts = await Promise.all(numbers.map((i) => of(i, 'ids')));
        const model = await Model.open(await softwareEngine(), await openFile(fixture(`${name}.gguf`)));
        await model.load('gpu', { selfTest: false, without: ['packed_4x8_integer_dot_product'] });
        const session = await model.createSession({ backend: 'gpu' });
        const together = await session.embedAll(texts);
        for (const i of numbers) {
            const error = relativeError(together[i]!, await of(i, 'dense3'));
            t.diagnostic(`text ${i}, ${texts[i]!.length} tokens: relative error ${error}`);
            assert.ok(error <= most, `text ${i}: relative error ${error}`);
        }
        // Alone, and behind others: nobody sees another text.
        const [alone] = await session.embedAll([texts[2]!]);
        assert.ok(relativeError(alone!, together[2]!) <= 1e-5, 'alone as with others');
        const [, , behind] = await session.embedAll([texts[4]!, texts[0]!, texts[2]!]);
        assert.ok(relativeError(behind!, together[2]!) <= 1e-5, 'wherever it stands');
        await assert.rejects(
            session.generate({ prompt: '', continue_tokens: [2, 5], max_tokens: 3, sampling: {} }),
            /this is a model of embeddings/,
        );
        await session.close();
        await model.close();
    });
}
