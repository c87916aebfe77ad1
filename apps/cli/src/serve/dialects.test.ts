// Requests in other servers' words, by example.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { ChatMessage, JsonObject } from 'lapidary';
import { Bodies, Body } from './body.js';
import { customTools, withCustomCalls, withFunctions } from './custom-tools.js';
import { HttpError } from './errors.js';
import type { Context } from './http.js';
import { ignoredHeader } from './ignored.js';
import { withDefaults } from './model-defaults.js';
import { packContext, unpackContext } from './ollama-context.js';
import { readEmbed, readMessages, readThink } from './ollama-request.js';
import { fillTemplate } from './ollama-template.js';
import { readChat, readCompletion, withFormat, withSeed } from './openai-request.js';
import { canonicalPath } from './paths.js';
import { JoinedStream, joined } from './several.js';

const schema = { type: 'object', properties: { a: { type: 'integer' } } };

test('a schema is taken from wherever other servers have it', () => {
    const expected = { response_format: { type: 'json_schema', schema } };
    const ways: JsonObject[] = [
        { json_schema: schema },
        { guided_json: schema },
        { guided_json: JSON.stringify(schema) },
        { structured_outputs: { json: schema } },
        { structured_outputs: { json: JSON.stringify(schema) }, response_format: null },
        { json_schema: schema, response_format: { type: 'text' }, grammar: '', guided_choice: [] },
    ];
    for (const body of ways) {
        const { response_format } = withFormat(body);
        assert.deepEqual({ response_format }, expected, JSON.stringify(body));
    }
    assert.deepEqual(withFormat({ structured_outputs: { json_object: true } }), { response_format: { type: 'json_object' } });
    const own = { response_format: { type: 'json_object', schema } };
    assert.deepEqual(withFormat(own), own, 'what the library knows is left to it');
    assert.deepEqual(withFormat({ model: 'x' }), { model: 'x' });
});

test('constraints that cannot be kept are refused by name, never passed over', () => {
    const refused: [JsonObject, RegExp][] = [
        [{ grammar: 'root ::= "yes"' }, /^'grammar' is not supported/],
        [{ guided_regex: 'a+' }, /^'guided_regex'/],
        [{ guided_choice: ['a', 'b'] }, /^'guided_choice'/],
        [{ guided_grammar: 'x' }, /^'guided_grammar'/],
        [{ structured_outputs: { regex: 'a+' } }, /^'structured_outputs\.regex'/],
        [{ structured_outputs: { choice: ['a'] } }, /^'structured_outputs\.choice'/],
        [{ structured_outputs: 'a' }, /^'structured_outputs' must be an object/],
        [{ json_schema: 'not json' }, /^'json_schema' must be a JSON schema/],
        [{ guided_json: [1] }, /^'guided_json' must be a JSON schema/],
        [{ guided_json: schema, response_format: { type: 'json_object' } }, /'response_format' and 'guided_json' both say/],
    ];
    for (const [body, sentence] of refused) {
        assert.throws(() => withFormat(body), (error) => error instanceof HttpError && sentence.test(error.message), JSON.stringify(body));
    }
});

test('members that do nothing are told, but for those that are about who asks', () => {
    const { ignored, n } = readChat({ messages: [], user: 'me', metadata: {}, mirostat: 2, audio: null, dry_base: 1 });
    assert.deepEqual(ignored, ['mirostat', 'dry_base']);
    assert.equal(n, 1);
    assert.deepEqual(ignoredHeader(['b', 'a b', 'b', 'x'.repeat(50)]), { 'x-lapidary-ignored': 'b' });
    assert.deepEqual(ignoredHeader([]), {});
});

test('several prompts and several answers to each', () => {
    const prompts = (prompt: unknown) => readCompletion({ prompt } as JsonObject).prompts;
    assert.deepEqual(prompts('a'), ['a']);
    assert.deepEqual(prompts(['a', 'b']), ['a', 'b']);
    assert.deepEqual(prompts([1, 2]), [[1, 2]]);
    assert.deepEqual(prompts([[1], [2]]), [[1], [2]]);
    assert.throws(() => prompts([]), /empty list/);
    assert.throws(() => readCompletion({ prompt: new Array<string>(100).fill('x'), n: 2 }), /200 answers are asked for; at most 128/);
    for (const n of [0, 17, 1.5, '2']) assert.throws(() => readChat({ messages: [], n }), /'n' must be a whole number from 1 to 16/);
    assert.deepEqual(withSeed({ seed: 5 }, 0), { seed: 5 });
    assert.deepEqual(withSeed({ seed: 5 }, 2), { seed: 7 });
    assert.deepEqual(withSeed({ seed: -1 }, 2), { seed: -1 });
    assert.deepEqual(withSeed({}, 2), {});
    const large = [1, 2, 3].map((index) => withSeed({ seed: 2 ** 63 }, index)['seed']);
    assert.equal(new Set(large).size, 3);
});

const usage = (prompt_tokens: number, completion_tokens: number) => ({
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 1 },
});

test('several answers are told as one', () => {
    const answer = (id: string, text: string, tokens: number) => ({
        id,
        created: 1,
        choices: [{ index: 0, text }],
        usage: usage(10, tokens),
    });
    const whole = joined([answer('x', 'a', 2), answer('y', 'b', 3), answer('z', 'c', 4), answer('w', 'd', 5)], 2);
    const { id, choices, usage: all } = whole as { id: string; choices: object[]; usage: object };
    assert.equal(id, 'x');
    assert.deepEqual(choices, ['a', 'b', 'c', 'd'].map((text, index) => ({ index, text })));
    assert.deepEqual(all, { ...usage(20, 14), prompt_tokens_details: { cached_tokens: 2 } });
});

test('and so are streams of them', () => {
    const stream = new JoinedStream(2);
    const told: unknown[] = [];
    for (const [id, text] of [['x', 'a'], ['y', 'b']] as const) {
        const head = { id, created: 1 };
        told.push(stream.chunk({ ...head, choices: [{ index: 0, text }], usage: null }));
        const timings = { prompt_ms: 1, completion_ms: 2, tokens_per_second: 3, time_to_first_token_ms: 4 };
        told.push(stream.chunk({ ...head, choices: [], usage: usage(10, 2), timings }));
        stream.next();
    }
    assert.deepEqual(told, [
        { id: 'x', created: 1, choices: [{ index: 0, text: 'a' }], usage: null },
        undefined,
        { id: 'x', created: 1, choices: [{ index: 1, text: 'b' }], usage: null },
        undefined,
    ]);
    const end = stream.end() as { id: string; choices: unknown[]; usage: { total_tokens: number }; timings: { completion_ms: number } };
    assert.equal(end.id, 'x');
    assert.deepEqual(end.choices, []);
    assert.equal(end.usage.total_tokens, 14);
    assert.equal(end.timings.completion_ms, 4);
});

test('addresses mean the same with a slash at the end, and without /v1', () => {
    assert.equal(canonicalPath('/chat/completions'), '/v1/chat/completions');
    assert.equal(canonicalPath('/embeddings/'), '/v1/embeddings');
    assert.equal(canonicalPath('/v1/models/'), '/v1/models');
    assert.equal(canonicalPath('/api/tags//'), '/api/tags');
    for (const path of ['/', '/models/x.gguf', '/assets/', '/v1/chat/completions', '/v1x/', '/chat']) {
        assert.equal(canonicalPath(path), path);
    }
});

test("a context is the conversation, and nobody else's is taken for one", () => {
    const talk: ChatMessage[] = [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Grüß Gott! 🦊' },
        { role: 'assistant', content: '' },
    ];
    const packed = packContext(talk);
    assert.ok(packed.every((one) => Number.isInteger(one) && one >= 0 && one < 2 ** 24));
    assert.deepEqual(unpackContext(packed), talk);
    for (const nothing of [undefined, null, []]) assert.deepEqual(unpackContext(nothing), []);
    assert.throws(() => unpackContext('x'), /must be a list/);
    const [mark, size, ...rest] = packed;
    const foreign = [[1, 2, 3], [mark, size], [mark, 9e9, ...rest], [mark, size, ...rest, 1], [mark, 3, -1], [mark, 3, 'a'], [mark, 3, 0x7b7d7d]];
    for (const list of foreign) assert.throws(() => unpackContext(list as number[]), /was not given by this server/, JSON.stringify(list));
    const strange = packContext([{ role: 'tool', content: 'x' }]);
    assert.throws(() => unpackContext(strange), /was not given by this server/);
});

test('a template that only fills in texts is filled in', () => {
    const texts = { prompt: 'Hello $& {{ .System }}', system: 'Be kind.' };
    assert.equal(fillTemplate('{{ .Prompt }}', texts), texts.prompt);
    assert.equal(fillTemplate('S: {{- .System}} U: {{ .Prompt }} A: {{ .Response }}<end>', texts), `S: Be kind. U: ${texts.prompt} A: `);
    assert.throws(() => fillTemplate('{{ if .System }}x{{ end }}', texts), /'template' has \{\{ if \.System \}\}, but only/);
});

test('results of tools find their calls by id, then by name, then by place', () => {
    const call = (id: string, name: string) => ({ id, function: { name, arguments: {} } });
    const messages = readMessages([
        { role: 'assistant', content: '', tool_calls: [call('a', 'weather'), call('b', 'weather'), call('c', 'time')] },
        { role: 'tool', content: 'cold', tool_call_id: 'b', tool_name: 'weather' },
        { role: 'tool', content: 'noon', tool_name: 'time' },
        { role: 'tool', content: 'hot' },
    ]);
    assert.deepEqual(messages.slice(1).map(({ tool_call_id }) => tool_call_id), ['b', 'c', 'a']);
});

test('what is asked of embeddings', () => {
    assert.equal(readEmbed({}), undefined);
    assert.equal(readEmbed({ input: [] }), undefined);
    assert.deepEqual(readEmbed({ input: 'a', truncate: true }), { input: 'a', encoding_format: 'float' });
    assert.deepEqual(readEmbed({ input: ['a'], truncate: false, dimensions: 8, options: { num_ctx: 5 } }), {
        input: ['a'],
        encoding_format: 'float',
        truncate: false,
        dimensions: 8,
        max_input_tokens: 5,
    });
    assert.throws(() => readEmbed({ input: [1] }), /'input' must be/);
    assert.throws(() => readEmbed({ input: 'a', truncate: 'no' }), /'truncate' must be/);
});

test('degrees of thinking are thinking', () => {
    for (const degree of ['low', 'medium', 'high', 'max', true]) assert.equal(readThink(degree), true);
    for (const degree of [false, null, undefined]) assert.equal(readThink(degree), false);
});

test('what a model brings along never makes a request wrong', () => {
    const model = { params: { temperature: 7, top_k: -1, top_p: 1.5, seed: -3, repeat_penalty: 0 }, system: undefined };
    const { seed, ...sampling } = withDefaults({ messages: [], max_tokens: 0 }, model).sampling ?? {};
    assert.deepEqual(sampling, { temperature: 2, top_k: 0, top_p: 1, repeat_penalty: 0.01 });
    assert.ok(Number.isSafeInteger(seed) && Number(seed) >= 0);
});

test('a body is read anew each time, so that nobody need keep what it became', () => {
    const body = new Body(new TextEncoder().encode('{"a":[1]}'));
    assert.deepEqual(body.object(), { a: [1] });
    assert.notEqual(body.object(), body.object());
});

test('all bodies together take so much, which is free again when their answers are done', async () => {
    const bodies = new Bodies(10);
    const send = (text: string) => {
        const incoming = new PassThrough();
        const outgoing = new EventEmitter();
        const read = bodies.read({ env: { incoming, outgoing }, req: { header: () => undefined } } as unknown as Context);
        incoming.end(text);
        return { read, done: () => outgoing.emit('close') };
    };
    const full = (error: unknown) => error instanceof HttpError && error.status === 503 && error.details.retryAfter !== undefined;
    const first = send('{"a":1}');
    await first.read;
    const second = send('{"b":2}');
    await assert.rejects(second.read, full);
    second.done();
    await assert.rejects(send('{"c":3}').read, full, 'what was refused is not taken off twice');
    first.done();
    assert.deepEqual((await send('{"d":4}').read).object(), { d: 4 });
});

test('custom tools are functions of one text, there and back', () => {
    const regex = (definition: string) => ({ type: 'grammar', grammar: { syntax: 'regex', definition } });
    const own = { type: 'function', function: { name: 'add' } };
    const asked: JsonObject = {
        tools: [own, { type: 'custom', custom: { name: 'run', description: 'Runs it.', format: regex('a|b') } }],
        tool_choice: { type: 'custom', custom: { name: 'run' } },
        messages: [
            { role: 'user', content: 'x' },
            { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'run', input: 'a"b' } }] },
        ],
    };
    const input = { type: 'string', pattern: '^(?:a|b)$' };
    const parameters = { type: 'object', properties: { input }, required: ['input'], additionalProperties: false };
    assert.deepEqual(withFunctions(asked), {
        tools: [own, { type: 'function', function: { name: 'run', parameters, description: 'Runs it.' } }],
        tool_choice: { type: 'function', function: { name: 'run' } },
        messages: [
            { role: 'user', content: 'x' },
            {
                role: 'assistant',
                tool_calls: [{ id: 'c', type: 'function', function: { name: 'run', arguments: '{"input":"a\\"b"}' } }],
            },
        ],
    });
    const allowed = (tool: JsonObject) => ({
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [own, tool] } },
    });
    assert.deepEqual(
        withFunctions(allowed({ type: 'custom', custom: { name: 'run' } })),
        allowed({ type: 'function', function: { name: 'run' } }),
    );
    const lark = { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } };
    assert.throws(
        () => withFunctions({ tools: [{ type: 'custom', custom: { name: 'run', format: lark } }] }),
        /^HttpError: 'tools\[0\].custom.format' must be text or a grammar whose syntax is regex/,
    );

    const custom = customTools(asked);
    assert.deepEqual([...custom], ['run']);
    const call = (name: string, given: string) => ({ id: 'c', type: 'function', function: { name, arguments: given } });
    const answer = (tool_calls: object[]) => ({
        id: 'x',
        created: 0,
        choices: [{ index: 0, message: { content: null, tool_calls } }],
    });
    assert.deepEqual(
        withCustomCalls(answer([call('add', '{"input":"1"}'), call('run', '{"input":"b"}')]), custom),
        answer([call('add', '{"input":"1"}'), { id: 'c', type: 'custom', custom: { name: 'run', input: 'b' } }]),
    );
});
