// --image, --audio, --video and --mmproj on the command line: files that go with a message.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { Option, type Command } from 'commander';
import { LapidaryError, asContent, type Engine, formatBytes, type Detail, type MediaInfo, type MediaPart, type JsonObject, type ByteSource } from 'lapidary';
import { Media, fileError, openFile } from 'lapidary/node';
import type { OpenModel } from './model-argument.js';
import { readVideo } from './video.js';

export interface MediaFlags {
    image?: string[];
    audio?: string[];
    video?: string[];
    mmproj?: string;
    detail?: Detail;
}

const collect = (text: string, list: string[] = []) => [...list, text];

export function addMediaOptions(command: Command): Command {
    return command
        .option('--image <file>', 'a picture that goes with the first message; may be repeated', collect)
        .option('--audio <file>', 'a sound likewise (WAV, MP3, FLAC, Ogg)', collect)
        .option('--video <file>', 'a film likewise, by ffmpeg, or a folder of its frames', collect)
        .addOption(new Option('--detail <words>', 'how closely pictures are looked at').choices(['low', 'auto', 'high']))
        .addOption(mmprojOption());
}

export function mmprojOption(): Option {
    return new Option('--mmproj <file>', "the model's projector; by default the one beside it or in it");
}

export type MediaKind = 'image' | 'audio' | 'video';

/** In the order in which models were taught: what is seen and heard first, the text behind it. */
export async function mediaOf(flags: MediaFlags, engine: Engine, signal: AbortSignal): Promise<MediaPart[]> {
    const parts: MediaPart[] = [];
    for (const kind of ['image', 'audio', 'video'] as const) {
        for (const file of flags[kind] ?? []) parts.push(await readMedia(kind, file, flags.detail, engine, signal));
    }
    return parts;
}

export async function readMedia(kind: MediaKind, file: string, detail: Detail | undefined, engine: Engine, signal: AbortSignal): Promise<MediaPart> {
    const name = path.basename(file);
    if (kind === 'video') {
        const sample = async (frames: number, fps?: number) => (await engine.call('media.frames', { frames, fps }, { signal })).json;
        return { type: 'video', name, frames: await readVideo(file, sample, signal) };
    }
    const bytes = await readBounded(file);
    return kind === 'audio' ? { type: 'audio', audio: bytes, name } : { type: 'image', image: bytes, name, ...(detail ? { detail } : {}) };
}

const largestFile = 256 * 1024 * 1024;

export async function readBounded(file: string): Promise<Uint8Array> {
    try {
        const { size } = await fs.stat(file);
        if (size > largestFile) throw new LapidaryError('limit', `'${file}' is larger than can be read at once (limit ${formatBytes(largestFile)})`);
        return await fs.readFile(file);
    } catch (error) {
        throw fileError(error, file, 'read');
    }
}

/** A message with files before its text. */
export function contentOf(text: string, parts: readonly MediaPart[]): string | JsonObject[] {
    return parts.length > 0 ? [...parts.map(asContent), { type: 'text', text }] : text;
}

/** What looks and listens. A projector that was named is opened at once, another one when there is something for it. */
export class Senses {
    private media: Media | undefined;

    private constructor(
        readonly open: OpenModel,
        private readonly signal: AbortSignal,
    ) {}

    static async of(open: OpenModel, mmproj: string | undefined, signal: AbortSignal): Promise<Senses> {
        const senses = new Senses(open, signal);
        if (mmproj !== undefined) senses.media = await senses.openMedia(await openFile(mmproj));
        return senses;
    }

    async place(messages: JsonObject[], signal: AbortSignal): Promise<JsonObject[]> {
        const none = messages.every(({ content }) => !Array.isArray(content));
        return none ? messages : await (await this.found()).place(messages, signal);
    }

    async measure(part: MediaPart, signal: AbortSignal): Promise<MediaInfo> {
        return await (await this.found()).measure(part, signal);
    }

    private async found(): Promise<Media> {
        return (this.media ??= await this.openMedia((await this.open.openProjector?.()) ?? []));
    }

    private async openMedia(sources: ByteSource[]): Promise<Media> {
        try {
            return await Media.open(this.open.engine, this.open.model.number, sources, false, this.signal);
        } catch (error) {
            await Promise.allSettled(sources.map((source) => source.close()));
            throw error;
        }
    }
}

/** For the person who attached it. */
export function describeMedia(name: string, info: MediaInfo): string {
    const tokens = `${info.tokens.toLocaleString('en')} tokens`;
    if (info.type === 'image') return `${name}: ${tokens}, seen at ${info.width} × ${info.height}`;
    if (info.type === 'audio' && info.pieces > 1) return `${name}: ${tokens}, heard in ${info.pieces} pieces of 30 seconds`;
    return `${name}: ${tokens}`;
}
