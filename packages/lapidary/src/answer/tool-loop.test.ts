import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerateRequest } from '../session.js';
import type { Call, Ended } from './events.js';
import { runCalls, toolLoop, type Tool } from './tool-loop.js';

const parameters = { type: 'object' };
const slow: Tool = {
    name: 'slow',
    description: '',
    parameters,
    run: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return 'at last';
    },
};
const quick: Tool = { name: 'quick', description: '', parameters, run: async ({ x }) => `x is ${String(x)}` };
const broken: Tool = { name: 'broken', description: '', parameters, run: () => Promise.reject(new Error('it fell over')) };

const call = (id: string, name: string, text = '{}'): Call => ({ id, name, arguments: text });
const { signal } = new AbortController();

function ended(content: string, ...calls: Call[]): Ended {
    const times = { prompt_ms: 0, completion_ms: 0, tokens_per_second: 0, time_to_first_token_ms: 0 };
    const usage = { prompt: 1, cached: 0, completion: 1 };
    return { content, reasoning: '', calls, invalid: [], logprobs: [], end: { type: 'end', finish: calls.length > 0 ? 'tool_calls' : 'stop', usage, times } };
}

test('results come in the order of the calls, and what goes wrong is a result too', async () => {
    const calls = [call('a', 'slow'), call('b', 'quick', '{"x":3}'), call('c', 'broken'), call('d', 'none'), call('e', 'quick', '[1')];
    const results = await runCalls(calls, [slow, quick, broken], signal);
    assert.deepEqual(results.map(({ id }) => id), ['a', 'b', 'c', 'd', 'e']);
    assert.deepEqual(results.slice(0, 4).map(({ text }) => text), ['at last', 'x is 3', 'Error: it fell over', "Error: there is no tool 'none'"]);
    assert.match(results[4]?.text ?? '', /^Error: .*JSON/);
});

test('the model reads what came of its calls, until it calls nothing more', async () => {
    const asked: GenerateRequest[] = [];
    const answers = [ended('Let me see.', call('a', 'quick', '{"x":1}'), call('b', 'slow')), ended('It is one.')];
    const told: string[] = [];
    const last = await toolLoop(
        async (request) => {
            asked.push(request);
            return answers.shift() ?? ended('');
        },
        { messages: [{ role: 'user', content: 'How much?' }], max_tokens: 0, tool_choice: 'required' },
        [quick, slow],
        { onResult: ({ text }) => told.push(text) },
    );
    assert.equal(last.content, 'It is one.');
    assert.deepEqual(told, ['x is 1', 'at last']);
    assert.deepEqual(asked[1]?.messages?.slice(1), [
        {
            role: 'assistant',
            content: 'Let me see.',
            tool_calls: [
                { id: 'a', type: 'function', function: { name: 'quick', arguments: '{"x":1}' } },
                { id: 'b', type: 'function', function: { name: 'slow', arguments: '{}' } },
            ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'x is 1' },
        { role: 'tool', tool_call_id: 'b', content: 'at last' },
    ]);
    assert.equal(asked[0]?.tool_choice, 'required');
    assert.equal(asked[1]?.tool_choice, undefined);
});

test('who may not run gets the answer with its calls, and nobody calls for ever', async () => {
    let asked = 0;
    const always = async () => {
        asked++;
        return ended('', call('a', 'quick'));
    };
    const request = { messages: [], max_tokens: 0 };
    assert.equal((await toolLoop(always, request, [quick], { allow: async () => false })).calls.length, 1);
    assert.equal(asked, 1);
    assert.equal((await toolLoop(always, request, [quick], { most: 3 })).calls.length, 1);
    assert.equal(asked, 5);
});
