import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Conversation, Message } from './conversation.js';
import { fileName, toJson, toMarkdown } from './export.js';

const conversation: Conversation = { id: 'c', title: 'A fox', titled: true, createdAt: 1, updatedAt: 2, chosen: {} };
const base = { conversation: 'c', status: 'complete' as const };
const messages: Message[] = [
    { ...base, id: '1', parent: null, createdAt: 1, role: 'user', content: 'A story' },
    { ...base, id: '2', parent: '1', createdAt: 2, role: 'assistant', content: 'an older try' },
    {
        ...base,
        id: '3',
        parent: '1',
        createdAt: 3,
        role: 'assistant',
        content: 'Once.',
        reasoning: 'Hm.\nA fox?',
        model: 'Storyteller',
        toolCalls: [{ id: 'x', name: 'look', arguments: '{"at":"```"}' }],
    },
];

test('Markdown holds what is shown', () => {
    const expected =
        '# A fox\n\n## You\n\nA story\n\n## Storyteller\n\n> Hm.\n> A fox?\n\nOnce.\n\n````\nlook {"at":"```"}\n````\n';
    assert.equal(toMarkdown(conversation, messages), expected);
});

test('JSON holds every branch', async () => {
    const exported = JSON.parse(await toJson(conversation, messages)) as { messages: Message[] };
    assert.deepEqual(exported.messages, messages);
});

test('a title becomes a harmless file name', () => {
    assert.equal(fileName('../../etc/passwd', 'md'), 'etc-passwd.md');
    assert.equal(fileName('???', 'json'), 'conversation.json');
    assert.equal(fileName('Füchse & Co', 'md'), 'Fuchse-Co.md');
});
