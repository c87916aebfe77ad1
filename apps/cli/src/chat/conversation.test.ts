import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError, cancelledError, type GenerateRequest, type GenerateResult } from 'lapidary';
import { Conversation, type Answerer } from './conversation.js';

const result: GenerateResult = {
    text: 'hello',
    finish_reason: 'stop',
    prompt_tokens: 3,
    completion_tokens: 1,
    cached_tokens: 0,
    prompt_ms: 1,
    completion_ms: 1,
    seed: 1,
};
const options = { sampling: {}, stop: [], maxTokens: 10, thinking: false };
const signal = new AbortController().signal;

/** Answers each question in turn: with a text, or by failing after having said something. */
function answering(...turns: (string | [said: string, error: Error])[]): { session: Answerer; asked: GenerateRequest[] } {
    const asked: GenerateRequest[] = [];
    const session: Answerer = {
        generate: async (request, { onEvent }) => {
            asked.push(request);
            const turn = turns.shift() ?? '';
            const [said, error] = typeof turn === 'string' ? [turn, undefined] : turn;
            if (said !== '') onEvent?.({ type: 'content', text: said });
            if (error) throw error;
            return { ...result, text: said };
        },
    };
    return { session, asked };
}

const ignore = () => undefined;
const spoken = (conversation: Conversation) => conversation.messages.map(({ role, content }) => `${role}: ${content}`);

test('the model hears everything said before', async () => {
    const { session, asked } = answering('hi', 'fine');
    const conversation = new Conversation(session, { ...options, system: 'Be kind.' });
    await conversation.say('hello', signal, ignore);
    await conversation.say('how are you?', signal, ignore);
    assert.equal(asked[1]?.messages?.length, 4);
    assert.deepEqual(spoken(conversation), [
        'system: Be kind.',
        'user: hello',
        'assistant: hi',
        'user: how are you?',
        'assistant: fine',
    ]);
});

test('an answer that was stopped stays as far as it came', async () => {
    const { session } = answering(['once upon', cancelledError()]);
    const conversation = new Conversation(session, options);
    await assert.rejects(conversation.say('a story', signal, ignore));
    assert.deepEqual(spoken(conversation), ['user: a story', 'assistant: once upon']);
});

test('a question without an answer is forgotten', async () => {
    for (const error of [cancelledError(), new LapidaryError('limit', 'too long')]) {
        const { session } = answering(['', error], 'yes');
        const conversation = new Conversation(session, options);
        await assert.rejects(conversation.say('hm', signal, ignore));
        assert.deepEqual(spoken(conversation), []);
        await conversation.say('again', signal, ignore);
        assert.deepEqual(spoken(conversation), ['user: again', 'assistant: yes']);
    }
});

test('an answer can be taken back and asked for again', async () => {
    const { session } = answering('one', 'two');
    const conversation = new Conversation(session, options);
    assert.equal(conversation.takeBack(), false);
    await conversation.say('a number', signal, ignore);
    assert.equal(conversation.takeBack(), true);
    await conversation.answer(signal, ignore);
    assert.deepEqual(spoken(conversation), ['user: a number', 'assistant: two']);
    conversation.reset();
    assert.deepEqual(spoken(conversation), []);
});
