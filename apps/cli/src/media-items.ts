// Pictures and sounds given to commands that measure and compare: decoded here, and handed to the engine as they are.
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import { LapidaryError, type ByteSource, type Engine, type Methods } from 'lapidary';
import { decodePicture, decodeSound, openFile } from 'lapidary/node';
import { readBinaryFile } from './input.js';
import type { OpenModel } from './model-argument.js';

export type MediaKind = 'image' | 'frame' | 'audio';

export interface MediaItem {
    kind: MediaKind;
    file: string;
    /** Of tokens; what is usual unless told. */
    budget?: number;
}

export type MediaResult = Methods['media.image']['result'] | Methods['media.sound']['result'];

export const mmprojHelp = 'the projector file that has the towers for images and sounds';
const mostOfFileForLook = 1024 * 1024;

/** image:PATH:BUDGET, frame:PATH:BUDGET or audio:PATH; a path may have colons in it, and the budget may be left out. */
export function parseMediaOption(text: string, before: MediaItem[] = []): MediaItem[] {
    const found = /^(image|frame|audio):(.+?)(?::(\d+))?$/s.exec(text);
    if (!found) throw new InvalidArgumentError('It must be image:PATH:BUDGET, frame:PATH:BUDGET or audio:PATH.');
    const [, kind, file = '', budget] = found;
    return [...before, { kind: kind as MediaKind, file, ...(budget === undefined ? {} : { budget: Number(budget) }) }];
}

/** The towers of a projector file, or else of the model's own, or else of a projector beside it. */
export async function withProjector<Result>(
    open: OpenModel,
    mmproj: string | undefined,
    backend: 'cpu' | 'gpu',
    signal: AbortSignal,
    work: (projector: number) => Promise<Result>,
): Promise<Result> {
    if (mmproj !== undefined) return await withTowersOf(open, await openFile(mmproj), backend, signal, work);
    const own = await open.engine.call('model.describe', { model: open.model.number }, { signal });
    const beside = own.json.towers ? [] : await open.openProjector?.();
    return await withTowersOf(open, beside ?? [], backend, signal, work);
}

async function withTowersOf<Result>(
    { engine, model }: OpenModel,
    files: readonly ByteSource[],
    backend: 'cpu' | 'gpu',
    signal: AbortSignal,
    work: (projector: number) => Promise<Result>,
): Promise<Result> {
    const numbers = files.map((file) => engine.addSource(file));
    try {
        const sources = files.map(({ size }, i) => ({ id: numbers[i] ?? 0, size }));
        const { json } = await engine.call('projector.open', { model: model.number, backend, sources }, { signal });
        try {
            return await work(json.projector);
        } finally {
            await engine.call('projector.close', { projector: json.projector }).catch(() => undefined);
        }
    } finally {
        for (const number of numbers) engine.removeSource(number);
        await Promise.allSettled(files.map((file) => file.close()));
    }
}

/** A file as the engine knows it from then on. Nothing is encoded yet. */
export async function addMedia(engine: Engine, projector: number, { kind, file, budget }: MediaItem, signal: AbortSignal): Promise<MediaResult> {
    const bytes = await readBinaryFile(file);
    const name = `'${path.basename(file)}'`;
    if (kind === 'audio') {
        const sound = await decodeSound(bytes, name, signal);
        if ('wav' in sound) return (await engine.call('media.sound', { projector }, { signal, blob: sound.wav })).json;
        const { samples, rate } = sound;
        const blob = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
        return (await engine.call('media.sound', { projector, rate }, { signal, blob })).json;
    }
    const { json: seen } = await engine.call('media.look', {}, { signal, blob: bytes.subarray(0, mostOfFileForLook) });
    const { data, width, height, layout } = await decodePicture(bytes, name);
    const args = { projector, width, height, layout, orientation: seen.orientation ?? 1, budget, frame: kind === 'frame' };
    return (await engine.call('media.image', args, { signal, blob: data })).json;
}

/** Entries -1, -2, … of the tokens stand for media: how many there must be. */
export function checkEntries(tokens: readonly number[], media: readonly MediaItem[]): void {
    const missing = tokens.find((token) => token < 0 && -token > media.length);
    if (missing === undefined) return;
    throw new LapidaryError('invalid_argument', `the tokens have an entry ${missing}, and --media was given ${media.length} times`);
}
