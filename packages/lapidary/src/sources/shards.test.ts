import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAll, shardNames, shardUrls } from './shards.js';

test('an ordinary name stands for itself', () => {
    for (const name of ['tiny.gguf', 'a-1-of-3.gguf', 'x-00001-of-00003.bin', '', 'x-00001-of-00003.gguf.part']) {
        assert.deepEqual(shardNames(name), [name]);
    }
});

test('the first name of a split model tells the others', () => {
    assert.deepEqual(shardNames('x-00001-of-00003.gguf'), [
        'x-00001-of-00003.gguf',
        'x-00002-of-00003.gguf',
        'x-00003-of-00003.gguf',
    ]);
    assert.deepEqual(shardNames('x-00001-of-00001.gguf'), ['x-00001-of-00001.gguf']);
});

test('another piece than the first points to the first', () => {
    assert.throws(() => shardNames('x-00002-of-00003.gguf'), /open the first one, 'x-00001-of-00003\.gguf'/);
});

test('impossible numbers are refused', () => {
    for (const name of ['x-00001-of-00000.gguf', 'x-00004-of-00003.gguf']) assert.throws(() => shardNames(name));
    assert.throws(() => shardNames('x-00001-of-99999.gguf'), /at most 1000/);
});

test('a URL keeps its query', () => {
    assert.deepEqual(
        shardUrls(new URL('https://example.org/m/x-00001-of-00002.gguf?rev=3')).map(String),
        ['https://example.org/m/x-00001-of-00002.gguf?rev=3', 'https://example.org/m/x-00002-of-00002.gguf?rev=3'],
    );
});

test('when one piece is missing, the others are closed', async () => {
    const closed: string[] = [];
    const open = async (name: string) => {
        if (name === 'c') throw new Error('no c');
        return { close: async () => void closed.push(name) };
    };
    await assert.rejects(openAll(['a', 'b', 'c', 'd'], open), /no c/);
    assert.deepEqual(closed, ['a', 'b']);
});
