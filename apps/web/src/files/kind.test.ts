import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOf, kindOfType } from './kind.js';

const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13);

test('files are known by their first bytes, whatever they are called', async () => {
    const kinds: [name: string, content: BlobPart, type: string, kind: string][] = [
        ['model.gguf', 'anything', '', 'model'], // the engine says what is wrong with it
        [`sha256-${'0'.repeat(64)}`, 'x', '', 'model'],
        ['download (1)', 'GGUF\u0003', '', 'model'],
        ['photo.png', png, 'image/png', 'picture'],
        ['photo', png, '', 'picture'],
        ['drawing.svg', '<svg/>', 'image/svg+xml', 'text'],
        ['song.mp3', 'ID3', 'audio/mpeg', 'sound'],
        ['film.mp4', 'x', 'video/mp4', 'video'],
        ['paper.pdf', '%PDF-1.7', 'application/pdf', 'document'],
        ['adapter_model.safetensors', Uint8Array.of(8, 0, 0, 0), '', 'adapter'],
        ['adapter.zip', 'PK\u0003\u0004', 'application/zip', 'adapter'],
        ['notes.txt', 'Grüße', 'text/plain', 'text'],
        ['notes', 'line\r\n\tline\u000c', '', 'text'],
        ['report.xyz', Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0), '', 'unknown'],
        ['zeros.txt', Uint8Array.of(65, 0, 66), 'text/plain', 'unknown'],
        ['empty.txt', '', 'text/plain', 'unknown'],
    ];
    for (const [name, content, type, kind] of kinds) assert.equal(await kindOf(new File([content], name, { type })), kind, name);
});

test('a letter that is cut in two does not make a long text unknown', async () => {
    assert.equal(await kindOf(new File([`a${'ü'.repeat(40_000)}`], 'long.md')), 'text');
});

test('while it is dragged only its type is known', () => {
    assert.equal(kindOfType('image/webp'), 'picture');
    assert.equal(kindOfType('text/markdown'), 'text');
    assert.equal(kindOfType(''), 'unknown');
});
