// Losing the engine half-way with the real engine: what comes after is what would have come anyway.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine, type CallOptions, type CallResult } from '../engine.js';
import { loadEngine } from '../engine-file.js';
import { LapidaryError } from '../error.js';
import { LoadedEngine } from '../lapidary.js';
import { openLocalModel } from '../local-model.js';
import type { JsonObject } from '../json.js';
import { LocalCore } from './local.js';

/** Breaks off the next answer after some events, as if the GPU had gone away. */
class Breaker {
    after = Infinity;
    readonly asked: JsonObject[] = [];

    async make(): Promise<Engine> {
        const engine = await loadEngine();
        const call = engine.call.bind(engine);
        const broken = async (method: string, args: object, options: CallOptions = {}): Promise<CallResult> => {
            if (method !== 'session.generate') return await call(method, args, options);
            this.asked.push(args as JsonObject);
            let events = 0;
            return await call<string>(method, args, {
                ...options,
                onEvent: (event) => {
                    if (++events > this.after) throw new LapidaryError('device_lost', 'the GPU was lost: a test');
                    options.onEvent?.(event);
                },
            }).finally(() => (this.after = Infinity));
        };
        engine.call = broken as Engine['call'];
        return engine;
    }
}

test('an answer that was broken off goes on as if nothing had happened', async () => {
    const breaker = new Breaker();
    const { sources } = await openLocalModel('builtin');
    const core = await LocalCore.start(
        { kind: 'open', sources },
        { backend: 'cpu', contextLength: 96 },
        { runtime: { makeEngine: () => breaker.make(), findGpu: async () => undefined }, log: () => undefined },
    );
    const engine = new LoadedEngine(core);
    const ask = async () => {
        const stream = await engine.chat.completions.create({
            messages: [{ role: 'user', content: 'Tell me a story.' }],
            seed: 11,
            max_tokens: 16,
            stream: true,
            stream_options: { include_usage: true },
        });
        let text = '';
        let usage;
        for await (const chunk of stream) {
            text += chunk.choices[0]?.delta.content ?? '';
            usage = chunk.usage ?? usage;
        }
        return { text, completion: usage?.completion_tokens, prompt: usage?.prompt_tokens };
    };
    const whole = await ask();
    assert.equal(whole.completion, 16);
    for (const after of [1, 4, 12, 20]) {
        breaker.asked.length = 0;
        breaker.after = after;
        assert.deepEqual(await ask(), whole, `after ${after} events`);
        assert.equal(breaker.asked.length, 2);
        assert.ok(Array.isArray(breaker.asked[1]?.['continue_tokens']) || after === 1, `after ${after} events`);
    }
    await engine.dispose();
});
