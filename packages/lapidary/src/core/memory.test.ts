import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitBudget, fittingContext, fittingConversations, roomyContext } from './memory.js';

const description = {
    context_length: 8192,
    memory: { weights: 1000e6, per_layer_embeddings: 600e6, kv_cache_at_4096: 10e6, kv_cache_at_8192: 18e6 },
};
const fit = (budget?: number, place?: 'auto' | 'gpu' | 'source') => fitBudget(description, 4096, 2, budget, place);

test('the table stays in its source exactly when the budget has no room for it', () => {
    assert.equal(fit(), 'auto');
    assert.equal(fit(1020e6), 'auto');
    assert.equal(fit(1019e6), 'source');
    assert.equal(fit(420e6), 'source');
    assert.throws(() => fit(419e6), /needs 400 MB and 20 MB for 2 conversations .* may take 419 MB/);
});

test('eyes and ears take their part of the budget', () => {
    const seeing = { ...description, towers: { bytes: 300e6 } };
    assert.equal(fitBudget(seeing, 4096, 2, 1320e6), 'auto');
    assert.equal(fitBudget(seeing, 4096, 2, 1319e6), 'source');
    assert.throws(() => fitBudget(seeing, 4096, 2, 719e6), /needs 700 MB and 20 MB/);
});

test('who says where the table has to be is taken at their word', () => {
    assert.equal(fit(2000e6, 'source'), 'source');
    assert.equal(fit(1020e6, 'gpu'), 'gpu');
    assert.throws(() => fit(1019e6, 'gpu'), /needs 1.0 GB and/);
    assert.equal(fit(undefined, 'gpu'), 'gpu');
});

test('a model without such a table fits or does not', () => {
    const plain = { ...description, memory: { ...description.memory, per_layer_embeddings: undefined } };
    assert.equal(fitBudget(plain as never, 4096, 1, 1010e6), 'auto');
    assert.throws(() => fitBudget(plain as never, 4096, 1, 1009e6), /needs 1.0 GB and 10 MB for a conversation/);
});

test('as many conversations are remembered as memory suggests', () => {
    const described = (weights: number, conversation: number) => ({
        context_length: 131_072,
        memory: { weights, kv_cache_at_4096: conversation, kv_cache_at_131072: conversation * 10 },
    });
    assert.equal(fittingConversations(described(20e6, 3e6), 4096), 8, 'small ones cost nothing');
    assert.equal(fittingConversations(described(3.4e9, 70e6), 4096), 6);
    assert.equal(fittingConversations(described(18e9, 600e6), 4096), 3);
    assert.equal(fittingConversations(described(18e9, 2e9), 4096), 2, 'never fewer than two');
    assert.equal(fittingConversations(described(3.4e9, 70e6), 4096, 3.4e9 + 300e6), 4, 'what a budget leaves');
    assert.equal(fittingConversations({}, 4096), 2);
});

test('agents get as long a context as weights suggest', () => {
    const described = (weights: number, perToken: number, context_length = 131_072) => ({
        context_length,
        memory: { weights, kv_cache_at_4096: 4096 * perToken, kv_cache_at_131072: 131_072 * perToken },
    });
    assert.equal(roomyContext(described(3.2e9, 6e3)), 32_768);
    assert.equal(fittingConversations(described(3.2e9, 6e3), 32_768, undefined, true), 4);
    assert.equal(roomyContext(described(18e9, 6e3)), 65_536);
    assert.equal(roomyContext(described(18e9, 500e3)), 4096, 'as everybody else');
    assert.equal(roomyContext(described(18e9, 6e3, 20_000)), 16_384);
    assert.equal(roomyContext(described(20e6, 100, 2048)), 2048);
    assert.equal(roomyContext(described(3.2e9, 6e3), 3.2e9 + 250e6), 8192, 'what a budget leaves');
    assert.equal(roomyContext({}), 4096);
});

test('a context is no longer than the model holds', () => {
    assert.equal(fittingContext({ context_length: 2048 }), 2048);
    assert.equal(fittingContext({ context_length: 2048 }, 8192), 2048);
    assert.equal(fittingContext({ context_length: 131_072 }), 4096);
    assert.equal(fittingContext({ context_length: 131_072 }, 8192), 8192);
    assert.equal(fittingContext({}, 8192), 8192);
});

test('a canvas is part of a conversation', () => {
    const canvases = { ...description, memory: { ...description.memory, canvas: 300e6 } };
    assert.equal(fitBudget(canvases, 4096, 1, 1310e6), 'auto');
    assert.throws(() => fitBudget(canvases, 4096, 1, 709e6), /needs 400 MB and 310 MB for a conversation/);
    assert.equal(fittingConversations(canvases, 4096), 2);
});
