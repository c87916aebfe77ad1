import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../store/conversation.js';
import { Answer, sentence } from './answer.js';
import type { ChatBackend, ChatDelta } from './backend.js';

const empty: Message = {
    id: 'm',
    conversation: 'c',
    parent: null,
    createdAt: 0,
    role: 'assistant',
    content: '',
    status: 'streaming',
};

function setUp() {
    const saved: Message[] = [];
    const shown: Message[] = [];
    const answer = new Answer(empty, {
        show: (message) => shown.push(message),
        save: async (message) => void saved.push(message),
    });
    return { answer, saved, shown };
}

function saying(deltas: ChatDelta[], end: () => Promise<void> = async () => undefined): ChatBackend {
    return {
        answer: async (_request, onDelta) => {
            for (const delta of deltas) onDelta(delta);
            await end();
            return { finish: 'stop', model: 'M', stats: { promptTokens: 1, completionTokens: 2 } };
        },
    };
}

const request = { messages: [], thinking: false };
const say = (text: string): ChatDelta => ({ type: 'content', text });

test('an answer is saved when it is complete', async () => {
    const { answer, saved, shown } = setUp();
    await answer.run(saying([{ type: 'reasoning', text: 'hm' }, say('Once'), say(' upon')]), request);
    const [last] = saved.slice(-1);
    assert.equal(last?.content, 'Once upon');
    assert.equal(last?.reasoning, 'hm');
    assert.equal(last?.status, 'complete');
    assert.equal(last?.model, 'M');
    assert.deepEqual(shown.at(-1), last);
});

test('an answer is saved while it is being written', async () => {
    const { answer, saved } = setUp();
    const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 100));
    let seen: Message | undefined;
    await answer.run(
        saying([say('Once')], async () => {
            await pause();
            seen = saved.at(-1);
        }),
        request,
    );
    assert.equal(seen?.content, 'Once');
    assert.equal(seen?.status, 'streaming');
});

test('what was said before a failure or a stop stays', async () => {
    const failed = setUp();
    await failed.answer.run(saying([say('Once')], () => Promise.reject(new Error('the GPU left'))), request);
    assert.equal(failed.saved.at(-1)?.status, 'failed');
    assert.equal(failed.saved.at(-1)?.problem, 'The GPU left.');
    assert.equal(failed.saved.at(-1)?.content, 'Once');
    const stopped = setUp();
    const abort = Object.assign(new Error('stopped'), { code: 'cancelled' });
    await stopped.answer.run(saying([say('Once')], () => Promise.reject(abort)), request);
    assert.equal(stopped.saved.at(-1)?.status, 'stopped');
    assert.equal(stopped.saved.at(-1)?.content, 'Once');
});

test('an answer that begins again does not say things twice', async () => {
    const { answer, saved } = setUp();
    await answer.run(saying([{ type: 'reasoning', text: 'x' }, say('On'), { type: 'restart' }, say('Once')]), request);
    assert.equal(saved.at(-1)?.content, 'Once');
    assert.equal(saved.at(-1)?.reasoning, undefined);
});

test('an answer that goes on keeps what there was, also when its writer has to begin again', async () => {
    const saved: Message[] = [];
    const stats = { promptTokens: 3, completionTokens: 2, completionMs: 100 };
    const start: Message = { ...empty, content: 'Once', reasoning: 'hm', tokens: [1, 2], stats };
    const going = new Answer(start, { show: () => undefined, save: async (message) => void saved.push(message) });
    const tokens = (...ids: number[]): ChatDelta => ({ type: 'tokens', tokens: ids });
    const abort = Object.assign(new Error('stopped'), { code: 'cancelled' });
    const deltas = [tokens(3), say(' and'), { type: 'restart' } as const, tokens(4), say(' upon')];
    await going.run(saying(deltas, () => Promise.reject(abort)), request);
    const stopped = saved.at(-1);
    assert.equal(stopped?.content, 'Once upon');
    assert.equal(stopped?.reasoning, 'hm');
    assert.deepEqual(stopped?.tokens, [1, 2, 4]);
    assert.equal(stopped?.stats?.completionTokens, 3);
    assert.ok((stopped?.stats?.completionMs ?? 0) >= 100, 'the time of both parts');
    assert.deepEqual(start.tokens, [1, 2], 'what was stored is not touched');
});

test('what an answer is made of is kept only until it is complete', async () => {
    const { answer, saved } = setUp();
    await answer.run(saying([{ type: 'tokens', tokens: [7] }, say('Once')]), request);
    assert.equal(saved.at(-1)?.status, 'complete');
    assert.equal(saved.at(-1)?.tokens, undefined);
});

test('errors are shown as sentences', () => {
    assert.equal(sentence(new Error('no such file')), 'No such file.');
    assert.equal(sentence('What?'), 'What?');
});

test('a draft is shown and never kept; an answer of nothing but drafts counts no tokens', async () => {
    const { answer, saved } = setUp();
    const draft: ChatDelta = { type: 'draft', text: 'Once', firm: [], settled: 0, tokens: 16, step: 1, steps: 4 };
    let begun: number | undefined;
    const backend: ChatBackend = {
        answer: async (_request, onDelta) => {
            onDelta(draft);
            assert.equal(answer.message.draft?.text, 'Once');
            assert.equal(answer.tokensPerSecond, undefined, 'nothing is written yet');
            begun = answer.firstPieceAt;
            await answer.saveNow();
            throw new DOMException('enough', 'AbortError');
        },
    };
    const last = await answer.run(backend, request);
    assert.equal(last.status, 'stopped');
    assert.equal(last.stats, undefined);
    assert.ok(saved.length > 0 && saved.every(({ draft }) => draft === undefined));
    assert.ok(begun !== undefined, 'its time counts from the first draft on');
});
