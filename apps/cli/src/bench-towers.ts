// How long towers take for a picture or a sound. What they see and hear is noise: that costs them the same.
import { LapidaryError, type Backend, type Engine, type JsonObject } from 'lapidary';
import type { MediaResult } from './media-items.js';
import { ProgressLine } from './terminal.js';

export interface TowerBench {
    /** Tokens of a picture, as a budget. */
    image?: number | undefined;
    /** Seconds of a sound. */
    audio?: number | undefined;
    runs: number;
}

/** 20 × 14 squares of 48 pixels: becomes exactly as many tokens as a budget of 70, 280 or 1120 allows. */
const width = 960;
const height = 672;
const rate = 16000;

function noise(bytes: Uint8Array<ArrayBuffer>, seed: number): Uint8Array<ArrayBuffer> {
    let state = seed;
    for (let i = 0; i < bytes.length; i++) {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        bytes[i] = state >>> 24;
    }
    return bytes;
}

async function add(engine: Engine, projector: number, { image, audio }: TowerBench, seed: number, signal: AbortSignal): Promise<MediaResult> {
    if (image !== undefined) {
        const args = { projector, width, height, layout: 'rgb8', budget: image } as const;
        return (await engine.call('media.image', args, { signal, blob: noise(new Uint8Array(3 * width * height), seed) })).json;
    }
    const samples = new Float32Array(Math.round((audio ?? 0) * rate));
    const bytes = noise(new Uint8Array(samples.length), seed);
    const blob = new DataView(samples.buffer);
    bytes.forEach((byte, i) => blob.setFloat32(4 * i, byte / 128 - 1, true));
    return (await engine.call('media.sound', { projector, rate }, { signal, blob: new Uint8Array(samples.buffer) })).json;
}

/** The first time the tower's weights are loaded as well, and its kernels are compiled. */
export async function benchTowers(
    engine: Engine,
    projector: number,
    backend: Backend,
    wanted: TowerBench,
    signal: AbortSignal,
): Promise<JsonObject> {
    const progress = new ProgressLine('measuring', 'steps');
    const times: number[] = [];
    let first = 0;
    let told: JsonObject = {};
    try {
        for (let run = 0; run <= wanted.runs; run++) {
            const { media, tokens } = await add(engine, projector, wanted, run + 1, signal);
            const { json } = await engine.call('media.encode', { media }, { signal });
            await engine.call('media.close', { media });
            if (run === 0) first = json.ms;
            else times.push(json.ms);
            told = { tokens, operations: json.operations };
            progress.update({ done: run + 1, total: wanted.runs + 1 });
        }
    } finally {
        progress.clear();
    }
    const median = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
    if (median === undefined) throw new LapidaryError('internal', 'nothing was measured');
    const operations = Number(told['operations']);
    return {
        backend,
        ...(wanted.image === undefined ? { seconds: wanted.audio ?? 0, ms_per_second: median / (wanted.audio ?? 1) } : {}),
        ...told,
        first_ms: first,
        ms: median,
        operations_per_second: operations / (median / 1000),
    };
}
