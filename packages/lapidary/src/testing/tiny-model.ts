// A model for tests that are not about the model: a layer of noise and one format of weights, so that a software GPU,
// which takes a fifth of a second to compile a kernel, has half as many to compile as for the smallest fixture.
import { loadEngine } from '../engine-file.js';
import { synthesize } from '../synth.js';

export async function tinyModel(): Promise<Blob> {
    const engine = await loadEngine();
    const pieces: { offset: number; bytes: Uint8Array<ArrayBuffer> }[] = [];
    const sink = { write: async (offset: number, bytes: Uint8Array) => void pieces.push({ offset, bytes: bytes.slice() }) };
    await synthesize(engine, { variant: 'tiny-one', type: 'q8_0' }, sink);
    engine.close();
    pieces.sort((a, b) => a.offset - b.offset);
    return new Blob(pieces.map(({ bytes }) => bytes));
}
