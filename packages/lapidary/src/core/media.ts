// Pictures and sounds of one engine: its projector, and what it was given lately, so that a conversation that goes on
// neither decodes nor encodes them again. The engine tells by their digests what it has read already.
import { Sha256 } from '../cache/sha256-stream.js';
import type { Engine } from '../engine.js';
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import type { JsonObject, JsonValue } from '../json.js';
import { asMediaPart, budgetOf, type AudioPart, type FileBytes, type ImagePart, type MediaInfo, type MediaPart, type Senses, type VideoPart } from '../media/parts.js';
import { decodePicture } from '../media/picture.js';
import { decodeSound } from '../media/sound.js';
import { maxFileBytes } from '../media/limits.js';
import type { ByteSource } from '../sources/source.js';

interface Kept {
    media: number;
    info: Extract<MediaInfo, { type: 'image' | 'audio' }>;
    lastUse: number;
}

/** More than any conversation has that fits into a context; what is beyond is decoded again. */
const mostKept = 128;
/** Of a file's beginning, where its size and EXIF data are. */
const lookBytes = 1024 * 1024;

export class Media {
    private readonly kept = new Map<string, Kept>();
    private uses = 0;

    private constructor(
        private readonly engine: Engine,
        private readonly projector: number,
        readonly senses: Senses,
        private readonly mayFetch: boolean,
    ) {}

    /** With a projector's own files, or the towers in the model's. The sources stay whose they are. */
    static async open(engine: Engine, model: number, sources: readonly ByteSource[], mayFetch: boolean, signal?: AbortSignal): Promise<Media> {
        const numbers = sources.map((source) => engine.addSource(source));
        try {
            const files = sources.map(({ size }, i) => ({ id: numbers[i] ?? 0, size }));
            const args = files.length > 0 ? { model, sources: files } : { model };
            const { json } = await engine.call('projector.open', args, signal ? { signal } : {});
            const { projector, vision, audio } = json;
            return new Media(engine, projector, { ...(vision ? { vision } : {}), ...(audio ? { audio } : {}) }, mayFetch);
        } catch (error) {
            for (const number of numbers) engine.removeSource(number);
            throw error;
        }
    }

    /** The messages with what the engine knows in place of files. */
    async place(messages: readonly JsonObject[], signal?: AbortSignal): Promise<JsonObject[]> {
        this.uses++;
        const out: JsonObject[] = [];
        for (const message of messages) {
            const { content } = message;
            if (!Array.isArray(content)) {
                out.push(message);
                continue;
            }
            const parts: JsonValue[] = [];
            for (const part of content) {
                const media = asMediaPart(part);
                parts.push(media ? await this.placePart(media, signal) : part);
            }
            out.push({ ...message, content: parts });
        }
        await this.forget();
        return out;
    }

    /** What it costs, before it is sent. */
    async measure(part: MediaPart, signal?: AbortSignal): Promise<MediaInfo> {
        this.uses++;
        if (part.type === 'image') return (await this.image(part, false, signal)).info;
        if (part.type === 'audio') return (await this.sound(part, signal)).info;
        const { tokens } = await this.video(part, signal);
        return { type: 'video', tokens };
    }

    private async placePart(part: MediaPart, signal?: AbortSignal): Promise<JsonObject> {
        if (part.type === 'image') return { type: 'image', media: (await this.image(part, false, signal)).media };
        if (part.type === 'audio') return { type: 'audio', media: (await this.sound(part, signal)).media };
        return { type: 'video', frames: (await this.video(part, signal)).frames };
    }

    private async video({ frames, name = 'the video', budget }: VideoPart, signal?: AbortSignal) {
        if (frames.length === 0) throw new LapidaryError('bad_file', `${name} has no pictures in it`);
        const out: { media: number; seconds: number }[] = [];
        let tokens = 0;
        for (const [i, { image, seconds }] of frames.entries()) {
            const part: ImagePart = { type: 'image', image, name: `frame ${i + 1} of ${name}`, budget: budget ?? 70 };
            const { media, info } = await this.image(part, true, signal);
            out.push({ media, seconds: Math.floor(seconds) });
            tokens += info.tokens;
        }
        return { frames: out, tokens };
    }

    private async image(part: ImagePart, frame: boolean, signal?: AbortSignal): Promise<Kept> {
        const { name = 'the picture' } = part;
        if (!this.senses.vision) throw new LapidaryError('unsupported', 'this model cannot see: its projector has ears only');
        const bytes = await this.bytesOf(part.image, name, signal);
        const budget = budgetOf(part);
        return await this.once(`${frame ? 'frame' : 'image'} ${budget} ${await digestOf(bytes)}`, async () => {
            // Before it is decoded: what the engine finds too large is refused while it is small.
            const head = bytes.subarray(0, lookBytes);
            const { json: seen } = await this.engine.call('media.look', {}, { blob: head, ...(signal ? { signal } : {}) });
            throwIfCancelled(signal);
            const { data, width, height, layout } = await decodePicture(bytes, name);
            throwIfCancelled(signal);
            const { json } = await this.engine.call(
                'media.image',
                { projector: this.projector, width, height, layout, orientation: seen.orientation ?? 1, budget, frame },
                { blob: data, ...(signal ? { signal } : {}) },
            );
            return { media: json.media, info: { type: 'image', tokens: json.tokens, width: json.width, height: json.height } };
        });
    }

    private async sound({ audio, name = 'the sound' }: AudioPart, signal?: AbortSignal): Promise<Kept> {
        if (!this.senses.audio) throw new LapidaryError('unsupported', 'this model cannot hear: its projector has eyes only');
        const bytes = await this.bytesOf(audio, name, signal);
        return await this.once(`audio ${await digestOf(bytes)}`, async () => {
            const sound = await decodeSound(bytes, name, signal);
            const blob = 'wav' in sound ? sound.wav : littleEndian(sound.samples);
            const rate = 'wav' in sound ? {} : { rate: sound.rate };
            const { json } = await this.engine.call('media.sound', { projector: this.projector, ...rate }, { blob, ...(signal ? { signal } : {}) });
            return { media: json.media, info: { type: 'audio', tokens: json.tokens, seconds: json.seconds, pieces: json.pieces } };
        });
    }

    private async bytesOf(file: FileBytes, name: string, signal?: AbortSignal): Promise<Uint8Array> {
        if (typeof file === 'string') {
            if (!this.mayFetch) {
                const why = `${name} is at ${file.slice(0, 100)}, and fetching from other computers was not allowed here`;
                throw new LapidaryError('unsupported', `${why}: send the file itself, as a data: address`);
            }
            return await fetchBytes(file, name, signal);
        }
        const size = file instanceof Uint8Array ? file.length : file.size;
        if (size > maxFileBytes) throw tooLarge(name);
        return file instanceof Uint8Array ? file : new Uint8Array(await file.arrayBuffer());
    }

    private async once(key: string, make: () => Promise<Omit<Kept, 'lastUse'>>): Promise<Kept> {
        const known = this.kept.get(key);
        if (known) {
            known.lastUse = this.uses;
            return known;
        }
        const made = { ...(await make()), lastUse: this.uses };
        this.kept.set(key, made);
        return made;
    }

    /** The longest unused first, and none that is in use. */
    private async forget(): Promise<void> {
        const oldest = [...this.kept].filter(([, { lastUse }]) => lastUse < this.uses).sort(([, a], [, b]) => a.lastUse - b.lastUse);
        for (const [key, { media }] of oldest.slice(0, Math.max(0, this.kept.size - mostKept))) {
            this.kept.delete(key);
            await this.engine.call('media.close', { media });
        }
    }
}


function tooLarge(name: string): LapidaryError {
    return new LapidaryError('limit', `${name} is larger than can be read at once (limit ${maxFileBytes / 1024 / 1024} MB)`);
}

const fetchPatience = 30_000;

/** No more than may be read, whatever the server sends. */
async function fetchBytes(address: string, name: string, signal?: AbortSignal): Promise<Uint8Array> {
    const late = AbortSignal.timeout(fetchPatience);
    const pieces: Uint8Array[] = [];
    let length = 0;
    try {
        const response = await fetch(address, { signal: signal ? AbortSignal.any([signal, late]) : late, credentials: 'omit' });
        if (!response.ok) throw new LapidaryError('io', `${name} could not be fetched: ${new URL(address).host} answers ${response.status}`);
        for (const reader = response.body?.getReader(); reader; ) {
            const { done, value } = await reader.read();
            if (done) break;
            pieces.push(value);
            length += value.length;
            if (length > maxFileBytes) {
                await reader.cancel();
                throw tooLarge(name);
            }
        }
    } catch (cause) {
        throwIfCancelled(signal);
        if (cause instanceof LapidaryError) throw cause;
        throw new LapidaryError('io', `${name} could not be fetched: ${messageOf(cause)}`, { cause });
    }
    const bytes = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
        bytes.set(piece, at);
        at += piece.length;
    }
    return bytes;
}

async function digestOf(bytes: Uint8Array): Promise<string> {
    // Pages without https have no subtle cryptography.
    if (typeof crypto !== 'object' || !crypto.subtle) {
        const hash = new Sha256();
        hash.update(bytes);
        return hash.digest();
    }
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
    return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function littleEndian(samples: Float32Array): Uint8Array {
    const here = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
    if (new Uint8Array(Uint16Array.of(1).buffer)[0] === 1) return here;
    const view = new DataView(new ArrayBuffer(samples.byteLength));
    samples.forEach((value, i) => view.setFloat32(i * 4, value, true));
    return new Uint8Array(view.buffer);
}

/** Of a model that has no towers and no projector. */
export function blind(parts: readonly MediaPart[]): LapidaryError {
    const hears = parts.every(({ type }) => type === 'audio');
    const what = hears ? 'hear' : 'see';
    return new LapidaryError(
        'unsupported',
        `this model cannot ${what}; if it is one that could, its projector file (mmproj…gguf) is missing: put it beside the model or name it`,
    );
}
