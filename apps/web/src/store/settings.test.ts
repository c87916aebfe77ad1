import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaults, parseSettings } from './settings.js';

test('settings survive being stored', () => {
    const mine = { ...defaults, theme: 'dark' as const, temperature: 0.3, seed: 0, system: 'Be kind.' };
    assert.deepEqual(parseSettings(JSON.stringify(mine)), mine);
});

test('settings that make no sense become the defaults', () => {
    for (const text of [null, '', 'nonsense', '7', 'null', '[]']) assert.deepEqual(parseSettings(text), defaults);
    const strange = { theme: 'pink', temperature: 'hot', topP: null, endpoint: { kind: 'x', url: 3 }, useEndpoint: 'yes' };
    assert.deepEqual(parseSettings(JSON.stringify(strange)), defaults);
});

test('adapters are read one by one: what is damaged is left out', () => {
    const good = { id: 'a', name: 'Owl', model: 'Storyteller', scale: 0.5 };
    const stored = { adapters: [good, { id: 7 }, null, { ...good, id: 'b', scale: 'much' }] };
    assert.deepEqual(parseSettings(JSON.stringify(stored)).adapters, [good, { ...good, id: 'b', scale: 1 }]);
    assert.deepEqual(parseSettings('{"adapters": 3}').adapters, []);
});
