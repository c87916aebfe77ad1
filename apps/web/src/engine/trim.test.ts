import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChatMessage } from '../chat/backend.js';
import { promptLimit, trimToFit } from './trim.js';

const say = (role: ChatMessage['role'], content: string): ChatMessage => ({ role, content });
const talk = [
    say('system', 'Be kind.'),
    say('user', '1'),
    say('assistant', '2'),
    say('user', '3'),
    say('assistant', '4'),
    say('user', '5'),
];
// 18 tokens each, with what a turn costs.
const lengths = talk.map(() => 10);
const contents = (messages: ChatMessage[]) => messages.map(({ content }) => content).join(' ');

test('what fits is left alone', () => {
    const { messages, leftOut } = trimToFit(talk, lengths, 108);
    assert.equal(messages.length, 6);
    assert.equal(leftOut, 0);
});

test('the oldest turns go first, whole ones, and the instructions stay', () => {
    assert.equal(contents(trimToFit(talk, lengths, 107).messages), 'Be kind. 3 4 5');
    assert.equal(trimToFit(talk, lengths, 107).leftOut, 2);
    assert.equal(contents(trimToFit(talk, lengths, 40).messages), 'Be kind. 5');
});

test('the last message stays even when it is too long by itself', () => {
    assert.equal(contents(trimToFit(talk, lengths, 1).messages), 'Be kind. 5');
    assert.equal(contents(trimToFit([say('user', 'x')], [99], 1).messages), 'x');
});

test('an answer gets a quarter of the context, or what was asked for, but not more than half', () => {
    assert.equal(promptLimit(2048, undefined), 1536);
    assert.equal(promptLimit(2048, 100), 1948);
    assert.equal(promptLimit(2048, 5000), 1024);
});
