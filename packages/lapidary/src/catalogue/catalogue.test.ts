import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseReference } from '../hub/reference.js';
import { placesOf } from '../hub/endpoints.js';
import { canRead, catalogue, entryOfFile, findEntry } from './catalogue.js';
import { models } from './models.js';
import { describeSpeed, paceOf, predict, recommend, weightOf, type Device } from './predict.js';
import { isAuxiliary, quantisationOf, rankQuantisation } from './quantisation.js';

test('every row of the catalogue makes sense', () => {
    const names = models.flatMap((entry) => [entry.id, ...entry.names]);
    assert.equal(new Set(names).size, names.length, 'no name is there twice');
    for (const { id, bytes, licence, sources, tiers, abilities } of models) {
        assert.match(id, /^[a-z0-9][a-z0-9.-]*$/, id);
        assert.ok(bytes.table < bytes.about && bytes.read <= bytes.about && bytes.conversation > 0, id);
        assert.equal(licence.summary.length, 3, id);
        assert.equal(new URL(licence.url).protocol, 'https:', id);
        assert.ok(sources.length > 0 && tiers.length > 0 && abilities.length > 0, id);
        for (const source of sources) {
            if (source.kind !== 'huggingface') continue;
            const { repository, file } = source;
            const reference = parseReference(`hf:${repository}${file === undefined ? '' : `/${file}`}`, placesOf());
            assert.equal(reference.kind, 'huggingface', id);
        }
    }
});

test('only what the engine can read is offered', () => {
    assert.ok(catalogue.every(({ architecture }) => canRead(architecture)));
    assert.ok(canRead('gemma4'));
    assert.ok(!canRead('llama'));
});

test('a model is found by every one of its names', () => {
    for (const name of ['e2b', 'E2B', 'gemma4:e2b', 'gemma-4-e2b', 'Gemma 4 E2B', ' e2b ']) {
        assert.equal(findEntry(name)?.id, 'gemma-4-e2b', name);
    }
    assert.equal(findEntry('builtin')?.id, 'storyteller');
    assert.equal(findEntry('270m')?.id, 'gemma-3-270m');
    assert.equal(findEntry('gemma'), undefined);
});

const files: [name: string, id: string | undefined, quantisation: string | undefined][] = [
    ['gemma-4-E2B_q4_0-it.gguf', 'gemma-4-e2b', 'Q4_0'],
    ['gemma-4-E4B-it-Q8_0.gguf', 'gemma-4-e4b', 'Q8_0'],
    ['gemma-4-12b-it-qat-q4_0.gguf', 'gemma-4-12b', 'Q4_0'],
    ['gemma-4-26B_q4_0-it.gguf', 'gemma-4-26b-a4b', 'Q4_0'],
    ['gemma-4-26B-A4B-it-UD-Q4_K_XL.gguf', 'gemma-4-26b-a4b', 'UD-Q4_K_XL'],
    ['gemma-4-31B-it-IQ4_XS-00001-of-00002.gguf', 'gemma-4-31b', 'IQ4_XS'],
    ['q8_0/gemma-4-31B-it-bf16.gguf', 'gemma-4-31b', 'BF16'],
    ['gemma-3-4b-it-Q4_K_M.gguf', 'gemma-3-4b', 'Q4_K_M'],
    ['gemma-3-270m-it-Q8_0.gguf', 'gemma-3-270m', 'Q8_0'],
    ['gemma-3-27b-it-Q4_K_M.gguf', undefined, 'Q4_K_M'],
    ['gemma-3n-E2B-it-Q4_K_M.gguf', undefined, 'Q4_K_M'],
    ['diffusiongemma-26B-A4B-it-Q4_K_M.gguf', 'diffusiongemma', 'Q4_K_M'],
    ['embeddinggemma-300M-Q8_0.gguf', 'embeddinggemma', 'Q8_0'],
    ['model.gguf', undefined, undefined],
];
for (const [name, id, quantisation] of files) {
    test(`the name ${name} says what there is to say`, () => {
        assert.equal(entryOfFile(name)?.id, id);
        assert.equal(quantisationOf(name), quantisation);
    });
}

test('of several files the one people would take comes first, and what is no model is known', () => {
    const names = ['a-BF16.gguf', 'a-Q8_0.gguf', 'a.gguf', 'a-Q4_K_M.gguf', 'a-Q2_K.gguf'];
    const sorted = names.sort((a, b) => rankQuantisation(quantisationOf(a)) - rankQuantisation(quantisationOf(b)));
    assert.deepEqual(sorted.slice(0, 3), ['a-Q4_K_M.gguf', 'a-Q8_0.gguf', 'a.gguf']);
    for (const name of ['mmproj-F16.gguf', 'x/gemma-4-E2B-it-mmproj.gguf', 'imatrix.gguf', 'mtp-gemma.gguf']) {
        assert.ok(isAuxiliary(name), name);
    }
    assert.ok(!isAuxiliary('gemma-4-E2B_q4_0-it.gguf'));
});

const gpu = (gigabytes: number, bandwidth?: number): Device => ({
    backend: 'gpu',
    estimatedMemory: gigabytes * 1e9,
    ...(bandwidth === undefined ? {} : { gpu: { bandwidth } }),
});

test('what fits is said with what it takes, and what does not with why', () => {
    const e2b = findEntry('e2b')!.bytes;
    assert.equal(predict(e2b, gpu(8)).verdict, 'fits');
    assert.equal(predict(e2b, gpu(4)).verdict, 'tight');
    const large = predict(findEntry('31b')!.bytes, gpu(8));
    assert.equal(large.verdict, 'too large');
    assert.match(large.why, /takes about 19 GB, and about 8\.0 GB may be free/);
    const cpu = predict(e2b, { backend: 'cpu', estimatedMemory: 64e9 });
    assert.ok(!cpu.fits);
    assert.equal(cpu.available, 3.5e9);
    assert.ok(predict(findEntry('builtin')!.bytes, { backend: 'cpu', estimatedMemory: 1e9 }).fits);
    assert.ok(predict(e2b, { ...gpu(8), storage: { quota: 2e9, usage: 1e9 } }).cannotStore);
});

test('speed is a guess from bandwidth, in words that mean something', () => {
    assert.equal(paceOf(12), 'faster than you read');
    assert.equal(paceOf(5), 'at reading pace');
    assert.equal(paceOf(4.9), 'slower than you read');
    const slow = predict(findEntry('12b')!.bytes, gpu(16, 1e11));
    assert.equal(describeSpeed(slow), `≈ ${slow.tokensPerSecond} tokens/s, at reading pace`);
    assert.equal(describeSpeed(predict(findEntry('12b')!.bytes, gpu(16))), '');
});

test('the one that is offered is the largest that is still quick, and never one that does not fit', () => {
    assert.equal(recommend(catalogue, gpu(8, 1e11))?.id, 'gemma-4-e4b');
    assert.equal(recommend(catalogue, gpu(80, 3e12))?.id, 'gemma-4-31b');
    assert.equal(recommend(catalogue, gpu(80, 1e11))?.id, 'gemma-4-26b-a4b', 'the 31B would be slow');
    assert.equal(recommend(catalogue, gpu(8))?.id, 'gemma-4-e2b', 'nobody knows how fast it is');
    assert.equal(recommend(catalogue, gpu(1, 1e11))?.id, 'gemma-3-270m');
    assert.equal(recommend(catalogue, { backend: 'cpu', estimatedMemory: 64e9 })?.id, 'gemma-3-1b');
    assert.equal(recommend(catalogue, gpu(0.3, 1e11)), undefined);
    const untried = [findEntry('diffusiongemma')!];
    assert.equal(recommend(untried, gpu(80, 3e12)), undefined, 'nobody has seen it run');
});

test('a file of a search is weighed like its row of the catalogue, others as if all were read', () => {
    const half = weightOf('gemma-4-E2B-it-Q2_K.gguf', 1_675_000_000);
    assert.equal(half.read, 710_000_000);
    assert.equal(weightOf('llama.gguf', 1e9).read, 1e9);
});
