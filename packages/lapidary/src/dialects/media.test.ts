import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '../json.js';
import { checkChat } from './openai-chat-request.js';

const picture = btoa('\x89PNG');
const partsOf = (...content: unknown[]): unknown => {
    const { messages = [] } = checkChat({ messages: [{ role: 'user', content }] }).generate;
    return messages[0]?.['content'];
};
const bytes = Uint8Array.from('\x89PNG', (character) => character.charCodeAt(0));

describe('pictures and sounds in a chat request', () => {
    test('of OpenAI are parts with their bytes', () => {
        const url = `data:image/png;base64,${picture}`;
        assert.deepEqual(partsOf({ type: 'image_url', image_url: { url, detail: 'high' } }, { type: 'text', text: 'What?' }), [
            { type: 'image', image: bytes, detail: 'high' },
            { type: 'text', text: 'What?' },
        ]);
        assert.deepEqual(partsOf({ type: 'image_url', image_url: url }), [{ type: 'image', image: bytes }]);
        assert.deepEqual(partsOf({ type: 'input_image', image_url: url, detail: 'low' }), [{ type: 'image', image: bytes, detail: 'low' }]);
        const sound = btoa('RIFF....WAVE');
        const wav = Uint8Array.from('RIFF....WAVE', (character) => character.charCodeAt(0));
        assert.deepEqual(partsOf({ type: 'input_audio', input_audio: { data: sound, format: 'wav' } }), [{ type: 'audio', audio: wav }]);
        assert.deepEqual(partsOf({ type: 'file', file: { file_data: sound, filename: 'a.wav' } }), [{ type: 'audio', audio: wav, name: 'a.wav' }]);
        assert.deepEqual(partsOf({ type: 'file', file: { file_data: url, filename: 'a.png' } }), [{ type: 'image', image: bytes, name: 'a.png' }]);
    });

    test('of Anthropic likewise', () => {
        const source = { type: 'base64', media_type: 'image/png', data: picture };
        assert.deepEqual(partsOf({ type: 'image', source }), [{ type: 'image', image: bytes }]);
    });

    test('of ours are taken as they are', () => {
        const image = new Blob([bytes as Uint8Array<ArrayBuffer>]);
        assert.deepEqual(partsOf({ type: 'image', image, name: 'a.png', budget: 560 }), [{ type: 'image', image, name: 'a.png', budget: 560 }]);
        const frames = [{ image: bytes, seconds: 1.5 }];
        assert.deepEqual(partsOf({ type: 'video', frames }), [{ type: 'video', frames }]);
    });

    test('keep an address, which somebody else may fetch or refuse', () => {
        assert.deepEqual(partsOf({ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }), [{ type: 'image', image: 'https://example.com/a.png' }]);
    });

    test('that are not what they should be are refused by name', () => {
        const refused: [JsonObject, RegExp][] = [
            [{ type: 'image_url' }, /'messages\[0\]\.content\[0\]\.image_url\.url' must be the address of a picture/],
            [{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }, /must be a data: or http address/],
            [{ type: 'image_url', image_url: { url: 'data:image/png,plain' } }, /must be a data address in base64/],
            [{ type: 'image_url', image_url: { url: 'data:image/png;base64,%%%' } }, /must be base64/],
            [{ type: 'image_url', image_url: { url: 'data:image/png;base64,', detail: 'most' } }, /detail' must be one of low, auto, high/],
            [{ type: 'input_audio', input_audio: {} }, /input_audio\.data' must be a sound in base64/],
            [{ type: 'file', file: { file_id: 'file-1' } }, /files are sent along, not kept here/],
            [{ type: 'file', file: { file_data: btoa('%PDF-1.7'), filename: 'a.pdf' } }, /a\.pdf is a PDF file, which is not read here/],
            [{ type: 'image', image: 'a.png' }, /must be a Blob or a Uint8Array/],
        ];
        for (const [part, expected] of refused) assert.throws(() => partsOf(part), expected);
    });
});
