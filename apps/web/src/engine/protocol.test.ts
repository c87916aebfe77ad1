import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceName } from './protocol.js';

test('a model from an address is called like its file, whatever is written there', () => {
    const names = [
        ['https://example.org/a/gemma%204.gguf?token=x#y', 'gemma 4.gguf'],
        ['https://example.org/a/100%.gguf', '100%.gguf'],
        ['https://example.org/%E0%A4', '%E0%A4'],
        ['https://example.org/', 'https://example.org/'],
        ['%', '%'],
    ];
    for (const [url = '', name] of names) assert.equal(choiceName({ kind: 'url', url }), name);
});
