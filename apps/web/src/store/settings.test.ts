import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults, parseSettings, rangeProblem } from './settings.js';

test('settings survive being stored', () => {
    const mine = { ...defaults, theme: 'dark' as const, temperature: 0.3, seed: 0, system: 'Be kind.' };
    assert.deepEqual(parseSettings(JSON.stringify(mine)), mine);
});

test('settings that make no sense become the defaults', () => {
    for (const text of [null, '', 'nonsense', '7', 'null', '[]']) assert.deepEqual(parseSettings(text), defaults);
    const strange = { theme: 'pink', temperature: 'hot', topP: null, endpoint: { kind: 'x', url: 3 }, useEndpoint: 'yes' };
    assert.deepEqual(parseSettings(JSON.stringify(strange)), defaults);
});

test('a number out of its range is refused in a sentence, wherever it comes from', () => {
    assert.equal(rangeProblem('temperature', 99), 'Not used: a number from 0 to 2 is needed.');
    assert.equal(rangeProblem('seed', 1.5), 'Not used: a whole number from 0 to 4,294,967,295 is needed.');
    assert.ok(rangeProblem('topP', NaN));
    assert.equal(rangeProblem('temperature', 2), undefined);
    const stored = parseSettings(JSON.stringify({ temperature: 99, topK: 40, maxTokens: -1 }));
    assert.deepEqual([stored.temperature, stored.topK, stored.maxTokens], [2, 40, undefined]);
});

test('of how canvases settle the numbers are read, whatever else is there', () => {
    const stored = { diffusion: { steps: 12, t_min: '0.4', colour: 3, entropy_bound: 0.2 } };
    assert.deepEqual(parseSettings(JSON.stringify(stored)).diffusion, { steps: 12, entropy_bound: 0.2 });
    for (const text of ['{"diffusion": null}', '{"diffusion": "x"}', '{"diffusion": [1]}']) {
        assert.deepEqual(parseSettings(text).diffusion, {});
    }
});

test('adapters are read one by one: what is damaged is left out', () => {
    const good = { id: 'a', name: 'Owl', model: 'Storyteller', scale: 0.5 };
    const stored = { adapters: [good, { id: 7 }, null, { ...good, id: 'b', scale: 'much' }] };
    assert.deepEqual(parseSettings(JSON.stringify(stored)).adapters, [good, { ...good, id: 'b', scale: 1 }]);
    assert.deepEqual(parseSettings('{"adapters": 3}').adapters, []);
});
