import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ancestorsOf, choose, matches, pathOf, type Conversation, type Message } from './conversation.js';

const conversation: Conversation = { id: 'c', title: '', titled: false, createdAt: 0, updatedAt: 0, chosen: {} };

function message(id: string, parent: string | null, createdAt: number): Message {
    const role = parent === null ? 'user' : 'assistant';
    return { id, conversation: 'c', parent, createdAt, role, content: id, status: 'complete' };
}

const ids = (steps: { message: Message }[]) => steps.map((step) => step.message.id).join(' ');

test('the newest branch is shown unless another was chosen', () => {
    const first = message('answer 1', 'question', 2);
    const second = message('answer 2', 'question', 3);
    const messages = [message('question', null, 1), first, second, message('more', 'answer 1', 4)];
    assert.equal(ids(pathOf(conversation, messages)), 'question answer 2');
    const other = choose(conversation, first);
    assert.equal(ids(pathOf(other, messages)), 'question answer 1 more');
    assert.equal(pathOf(other, messages)[1]?.siblings.length, 2);
});

test('an edited first message is a branch too', () => {
    const messages = [message('one', null, 1), message('re one', 'one', 2), message('uno', null, 3)];
    assert.equal(ids(pathOf(conversation, messages)), 'uno');
    assert.equal(ids(pathOf({ ...conversation, chosen: { root: 'one' } }, messages)), 'one re one');
});

test('a choice that is gone is ignored', () => {
    const messages = [message('one', null, 1)];
    assert.equal(ids(pathOf({ ...conversation, chosen: { root: 'nobody' } }, messages)), 'one');
});

test('a damaged tree does not hang the page', () => {
    const loop = [message('a', 'b', 1), message('b', 'a', 2)];
    assert.equal(pathOf(conversation, loop).length, 0);
    assert.ok(ancestorsOf(loop, loop[0] as Message).length <= 2);
});

test('the messages before one are found in order', () => {
    const messages = [message('1', null, 1), message('2', '1', 2), message('3', '2', 3)];
    assert.deepEqual(
        ancestorsOf(messages, messages[2] as Message).map(({ id }) => id),
        ['1', '2'],
    );
});

test('a search wants every word, in any case and any place', () => {
    assert.equal(matches('FOX brave', 'a brave', 'little fox'), true);
    assert.equal(matches('fox cat', 'a brave little fox'), false);
    assert.equal(matches('  ', 'anything'), true);
});
