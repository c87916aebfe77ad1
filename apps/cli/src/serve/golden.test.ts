// What the server says to many requests, to the letter, with an engine that answers by a script:
// tests/data/golden/serve.json. LAPIDARY_GOLDEN=write writes it anew; a commit that changes a row says why.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ScriptedEngine, scripts } from '../testing/scripted-engine.js';
import { testServer } from '../testing/server.js';

interface Row {
    /** METHOD PATH and the body. */
    ask: string;
    body?: unknown;
    status: number;
    headers: Record<string, string>;
    answer: string[];
    /** What the engine was asked. */
    asked: unknown[];
}

const file = fileURLToPath(new URL('../../../../tests/data/golden/serve.json', import.meta.url));

const tool = {
    type: 'function',
    function: { name: 'weather', description: 'of a city', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
};
const schema = { type: 'object', properties: { a: { type: 'integer' } } };
const user = (content: unknown) => [{ role: 'user', content }];
const result = [
    { role: 'user', content: 'Where is it warm?' },
    {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'weather', arguments: `{"city":"${id}"}` } })),
    },
    { role: 'tool', tool_call_id: 'b', content: 'cold' },
    { role: 'tool', tool_call_id: 'a', content: 'warm words' },
];

function requests(): [path: string, body: unknown][] {
    const rows: [string, unknown][] = [];
    const chat = '/v1/chat/completions';
    for (const word of Object.keys(scripts)) {
        for (const stream of [false, true]) {
            const more = word === 'scores' ? { logprobs: true, top_logprobs: 1 } : {};
            rows.push([chat, { messages: user(word), stream, ...more }]);
            rows.push([chat, { messages: user(word), stream, tools: [tool], stream_options: { include_usage: true }, ...more }]);
            rows.push(['/v1/completions', { prompt: word, stream, ...(word === 'scores' ? { logprobs: 1 } : {}) }]);
            rows.push(['/api/chat', { messages: user(word), stream, ...more }]);
            rows.push(['/api/generate', { prompt: word, stream }]);
            rows.push(['/v1/responses', { input: word, stream, ...(word === 'scores' ? { top_logprobs: 1 } : {}) }]);
            rows.push(['/v1/messages', { messages: user(word), stream, max_tokens: 9, stop_sequences: ['x', 'y'] }]);
        }
    }
    const custom = { type: 'custom', custom: { name: 'weather', description: 'any' } };
    for (const stream of [false, true]) {
        rows.push([chat, { messages: user('words'), stream, n: 2, seed: 3 }]);
        rows.push([chat, { messages: user('call'), stream, tools: [custom] }]);
        rows.push([chat, { messages: user('thoughts'), stream, reasoning_effort: 'low', stop: ['x'], max_tokens: 9 }]);
        rows.push(['/v1/completions', { prompt: ['words', 'scores'], stream, n: 2, logprobs: 0 }]);
        rows.push(['/v1/completions', { prompt: 'words', stream, echo: true, logprobs: 1, max_tokens: 0 }]);
        rows.push(['/v1/completions', { prompt: [1, 2, 3], stream, echo: true }]);
        rows.push(['/api/generate', { prompt: 'words', stream, raw: true, options: { temperature: 0, num_predict: 5, mirostat: 1 } }]);
    }
    rows.push([chat, { messages: result, tools: [tool], tool_choice: 'required' }]);
    const half = { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Os' } };
    rows.push([chat, { messages: [...user('x'), { role: 'assistant', content: null, tool_calls: [half] }, { role: 'tool', tool_call_id: 'a', content: 'words' }] }]);
    rows.push([chat, { messages: user([{ type: 'text', text: 'words' }]), response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } }]);
    rows.push([chat, { messages: user('words'), temperature: 0.5, top_k: -1, logit_bias: { 5: 1 }, seed: -7, max_completion_tokens: 3, overflow: 'slide', mirostat: 2 }]);
    for (const wrong of [
        {},
        { messages: [] },
        { messages: user('x'), temperature: 5 },
        { messages: user('x'), stream: 'yes' },
        { messages: user([{ type: 'image_url', image_url: { url: 'x' } }]) },
        { messages: user('x'), tools: [{ type: 'function' }] },
        { messages: user('x'), tool_choice: 'required' },
        { messages: user('x'), model: 'nosuch' },
        { messages: user('x'), grammar: 'a' },
    ]) {
        rows.push([chat, wrong]);
    }
    rows.push(['/v1/completions', {}], ['/v1/completions', { prompt: 'x', suffix: 'y' }]);
    rows.push(['/v1/embeddings', { input: ['a', 'b'] }], ['/v1/embeddings', { input: 'a', encoding_format: 'base64', dimensions: 1 }]);
    rows.push(['/v1/embeddings', { input: '' }], ['/api/embed', { input: ['a', 'b'] }], ['/api/embeddings', { prompt: 'a' }]);
    rows.push(['/api/chat', { messages: [] }], ['/api/chat', { messages: user('x'), keep_alive: 'soon' }], ['/api/generate', { prompt: 'x', model: 'nosuch' }]);
    rows.push(['/api/chat', { messages: user('thoughts'), think: true, format: schema, tools: [tool], options: { num_ctx: 50, stop: 'x' } }]);
    rows.push(...responses(), ...messages());
    rows.push(['/tokenize', { content: 'abc' }], ['/v1/tokenize', { prompt: 'ab', return_token_strs: true }], ['/tokenize', {}]);
    rows.push(['/tokenize', { content: 'ab', with_pieces: true, add_special: true }], ['/detokenize', { tokens: [1, 2] }], ['/detokenize', { tokens: ['a'] }]);
    rows.push(['/v1/messages/count_tokens', { messages: user('x') }], ['/responses/input_tokens', { input: 'x' }]);
    rows.push(['/v1/chat/completions/input_tokens', { messages: user('x') }]);
    rows.push(['/v1/nothing', {}], ['/nothing', {}], ['/v1/models', undefined], ['/api/version', undefined]);
    return rows;
}

/** What agents send, and what is wrong. */
function responses(): [path: string, body: unknown][] {
    const { name, description, parameters } = tool.function;
    const fn = { type: 'function', name, description, parameters };
    const call = { type: 'function_call', call_id: 'a', name, namespace: 'n', arguments: '{"city":"a"}' };
    const conversation = [
        { role: 'developer', content: [{ type: 'input_text', text: 'Be short.' }] },
        { role: 'user', content: 'Where is it warm?' },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Ask.' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'I ask.' }] },
        call,
        { type: 'custom_tool_call', call_id: 'b', name: 'patch', input: 'x' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'custom_tool_call_output', call_id: 'b', output: 'done' },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'warm call' }] },
    ];
    const tools = [{ type: 'namespace', name: 'n', tools: [fn] }, fn, { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } }, { type: 'web_search' }];
    const codex = { instructions: 'You code.', input: conversation, tools, tool_choice: 'auto', parallel_tool_calls: false, reasoning: { effort: 'medium', summary: 'auto' }, store: false, include: ['reasoning.encrypted_content'], prompt_cache_key: 'k', client_metadata: {}, stream: true };
    const bodies: unknown[] = [
        codex,
        { ...codex, stream: false, tool_choice: { type: 'custom', name: 'patch' } },
        { input: 'call', tools: [{ type: 'custom', name: 'weather' }], stream: true },
        { input: 'thoughts', reasoning: { effort: 'high' }, include: ['reasoning.encrypted_content'], text: { format: { type: 'json_schema', name: 'a', schema } }, truncation: 'auto', max_output_tokens: 5, temperature: 0.5 },
        { input: 'words', tools, tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'weather' }] } },
        {},
        { input: [{ type: 'item_reference', id: 'nosuch' }] },
        { input: 'x', previous_response_id: 'nosuch' },
        { input: 'x', background: true },
        { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
        { input: 'x', tool_choice: 'required' },
        { input: [{ type: 'new_thing' }] },
    ];
    return bodies.map((body) => ['/v1/responses', body]);
}

function messages(): [path: string, body: unknown][] {
    const tools = [{ name: 'weather', description: 'of a city', input_schema: tool.function.parameters }, { type: 'web_search_20250305', name: 'web_search' }];
    const cached = { cache_control: { type: 'ephemeral' } };
    const conversation = [
        { role: 'user', content: [{ type: 'text', text: 'Where is it warm?', ...cached }] },
        {
            role: 'assistant',
            content: [
                { type: 'thinking', thinking: 'Ask.', signature: 's' },
                { type: 'text', text: 'I ask.' },
                ...['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'weather', input: { city: id } })),
            ],
        },
        { role: 'user', content: [{ type: 'text', text: 'Well, calls' }, { type: 'tool_result', tool_use_id: 'b', content: 'cold', is_error: true }, { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'warm' }] }] },
    ];
    const claude = { system: [{ type: 'text', text: 'You code.', ...cached }], messages: conversation, tools, thinking: { type: 'adaptive' }, context_management: {}, metadata: {}, max_tokens: 32000, stream: true };
    const bodies: unknown[] = [
        claude,
        { ...claude, stream: false, tool_choice: { type: 'tool', name: 'weather' } },
        { ...claude, thinking: { type: 'disabled' }, tool_choice: { type: 'none' }, output_config: { format: { type: 'json_schema', schema } }, top_k: 5 },
        {},
        { messages: [], max_tokens: 1 },
        { messages: user([{ type: 'image', source: {} }]), max_tokens: 1 },
        { messages: user('x'), max_tokens: 0 },
        { messages: user('x'), model: 'nosuch', max_tokens: 1 },
        { messages: user('x'), tool_choice: { type: 'any' }, max_tokens: 1 },
    ];
    return bodies.map((body) => ['/v1/messages', body]);
}

const dialects: Record<string, string> = { created: '0', created_at: '""', system_fingerprint: '"fp"' };

/** What differs from run to run: names, times, durations. */
function steady(text: string): string {
    const known = text.replace(/"(created|created_at|system_fingerprint)":("[^"]*"|\d+)/g, (_, name: string) => `"${name}":${dialects[name]}`);
    return known
        .replace(/\b(chatcmpl|cmpl|msg|resp|rs|fc|ctc)[-_][a-z0-9]{24}/g, '$1-ID')
        .replace(/"call_[a-z0-9]{8}_(\d+)"/g, '"call_ID_$1"')
        .replace(/"(time_to_first_token_ms|total_duration|load_duration)":[\d.e-]+/g, '"$1":0');
}

async function transcript(t: Parameters<typeof testServer>[0]): Promise<Row[]> {
    const engine = new ScriptedEngine();
    const { url } = await testServer(t, { loadModel: engine.load });
    const rows: Row[] = [];
    for (const [path, body] of requests()) {
        const method = body === undefined ? 'GET' : 'POST';
        const init = body === undefined ? {} : { method, body: JSON.stringify(body) };
        const response = await fetch(url + path, init);
        const names = ['content-type', 'x-lapidary-ignored', 'retry-after', 'cache-control'];
        const headers = Object.fromEntries(names.flatMap((name) => [[name, response.headers.get(name) ?? '']]).filter(([, value]) => value));
        const answer = steady(await response.text()).split('\n').filter((line) => line !== '');
        const asked = engine.asked.splice(0);
        rows.push({ ask: `${method} ${path}`, ...(body === undefined ? {} : { body }), status: response.status, headers: headers as Record<string, string>, answer, asked });
    }
    return rows;
}

test('every route says what it has always said', async (t) => {
    const rows = await transcript(t);
    if (process.env['LAPIDARY_GOLDEN'] === 'write') {
        await fs.writeFile(file, `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
        return;
    }
    const golden = JSON.parse(await fs.readFile(file, 'utf8')) as Row[];
    for (const [i, row] of rows.entries()) assert.deepEqual(row, golden[i], `row ${i}: ${row.ask} ${JSON.stringify(row.body)}`);
    assert.equal(rows.length, golden.length);
});
