// Intermediate results share buffers, within a program and between programs: not a bit is other than with a buffer each.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Session, type KvFormat } from 'lapidary';
import { GpuModel, continued, expectedOf, needsSoftwareGpu, someTokens } from '../testing/gpu-model.js';
import { MemorySink } from '../testing/memory-sink.js';
import { many, thorough } from '../testing/thorough.js';

const fixtures = ['tiny-e2b-q4_0', 'tiny-moe-q4km', ...(thorough ? ['tiny-e2b-q4km', 'tiny-31b-q4km'] : [])];

interface Seen {
    /** Of tokens in blocks, of one after the other, and in blocks again. */
    logits: Uint8Array[];
    chosen: number[];
    /** What the session has on the GPU. */
    buffers: number;
    bytes: number;
}

async function seenWith(it: GpuModel, tokens: readonly number[], shareScratch: boolean): Promise<Seen> {
    const before = it.engine.gpuLedger;
    const kv: KvFormat = 'f32';
    const { json } = await it.model.call('session.create', { backend: 'gpu', context: 64, kv, share_scratch: shareScratch });
    const session = new Session(it.engine, Number(json['session']), Number(json['context']));
    const logits = async (count: number, atOnce: number) => {
        const sink = new MemorySink();
        await session.logits(tokens.slice(0, count), sink, { atOnce });
        return sink.bytes();
    };
    // Every program runs after another one has used the buffers, and some again.
    const seen = [await logits(many(18, 48), 16), await logits(3, 1)];
    const { tokens: chosen } = await continued(session, someTokens(5), many(4, 32));
    seen.push(await logits(17, 16));
    const after = it.engine.gpuLedger;
    await session.close();
    return { logits: seen, chosen, buffers: after.buffers - before.buffers, bytes: after.bytes - before.bytes };
}

describe('buffers of intermediate results', needsSoftwareGpu(), () => {
    for (const fixture of fixtures) {
        test(`${fixture} computes the same bits whether they are shared or not`, async () => {
            const it = await GpuModel.open(fixture);
            const { tokens } = await expectedOf(fixture);
            const shared = await seenWith(it, tokens, true);
            const apart = await seenWith(it, tokens, false);
            for (const [i, bytes] of apart.logits.entries()) {
                assert.ok(bytes.some((byte) => byte !== 0), 'something was computed');
                assert.ok(Buffer.from(shared.logits[i] ?? []).equals(bytes), `logits ${i} differ`);
            }
            assert.ok(apart.chosen.length > 0);
            assert.deepEqual(shared.chosen, apart.chosen);
            assert.ok(shared.buffers + 10 < apart.buffers, `${shared.buffers} buffers, and ${apart.buffers} apart`);
            assert.ok(shared.bytes < apart.bytes, `${shared.bytes} bytes, and ${apart.bytes} apart`);
            await it.close();
        });
    }
});
