import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildRequest, openAiMessage } from '../chat/backend.js';
import { nameOf, readableText, type Part } from './parts.js';

const notes: Part = { type: 'text', name: 'notes.md', text: 'Say ```hello```.\n' };

test('a model reads the files before the question, in fences that they do not close', () => {
    assert.equal(readableText('What is it?', [notes]), 'notes.md:\n````\nSay ```hello```.\n````\n\nWhat is it?');
    assert.equal(readableText('', [notes]), 'notes.md:\n````\nSay ```hello```.\n````');
    assert.equal(readableText('Just this.'), 'Just this.');
    assert.equal(nameOf(notes), 'notes.md');
});

test('what goes with a message goes with it into every request', () => {
    const settings = { system: '', thinking: false, tools: '' };
    const { messages } = buildRequest([{ role: 'user', content: 'Hm?', parts: [notes] }, { role: 'assistant', content: 'A.' }], settings);
    assert.deepEqual(messages[0], { role: 'user', content: 'Hm?', parts: [notes] });
    assert.match(String(openAiMessage(messages[0]!)['content']), /^notes\.md:\n.*\n\nHm\?$/s);
});
