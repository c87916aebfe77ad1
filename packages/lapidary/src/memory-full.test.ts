// The real engine when its memory has run out in the middle of an answer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineExports } from './engine.js';
import { Lapidary } from './lapidary.js';

const story = [{ role: 'user', content: 'Tell me a story.' }] as const;

/** Takes everything there is, and everything that could still come. */
function takeAllMemory(exports: EngineExports): void {
    const { memory } = exports;
    const mostPages = 65_536;
    memory.grow(mostPages - memory.buffer.byteLength / 65_536);
    for (let bytes = 2 ** 26; bytes >= 16; bytes /= 2) while (exports.lapidary_alloc(bytes) !== 0);
}

test('memory that runs out in an answer is told in a sentence, and the next answer has an engine of its own', async () => {
    const engine = await Lapidary.load('builtin', { backend: 'cpu', contextLength: 512 });
    const { core } = engine as unknown as { core: { opened: { engine: { exports: EngineExports } } } };
    const first = core.opened.engine;
    let heard = 0;
    const answering = async () => {
        for await (const chunk of await engine.chat.completions.create({ messages: story, stream: true })) {
            if (chunk.choices[0]?.delta.content && heard++ === 0) takeAllMemory(first.exports);
        }
    };
    const message = /^the engine has 4096 MiB and got no more memory; ask for a shorter context or use a smaller model$/;
    await assert.rejects(answering(), { code: 'out_of_memory', message });
    assert.ok(heard > 0);
    const { choices } = await engine.chat.completions.create({ messages: story, max_tokens: 4 });
    assert.ok(choices[0].message.content);
    assert.notEqual(core.opened.engine, first);
    await engine.dispose();
});
