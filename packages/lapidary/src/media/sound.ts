// A sound's file → samples of one channel at the file's own rate. WAV the engine reads itself. The same decoders in pages and
// in Node, loaded when the first sound of a kind comes; a page's decodeAudioData would resample in its own way.
import { LapidaryError, throwIfCancelled } from '../error.js';
import { loadCodec } from './codecs.js';
import type { Piece } from './codecs/decoder.js';
import { formatOf, headBytes, refuseUnknown, text, type SoundFormat } from './format.js';
import { formatDuration, maxFileBytes, maxSeconds } from './limits.js';

export type Sound =
    /** A WAV file as it is. */
    | { wav: Uint8Array }
    | { samples: Float32Array; rate: number };

type Compressed = Exclude<SoundFormat, 'wav'>;

/** Of the file; a second or so of sound each, so that one may stop in between. */
const pieceBytes = 64 * 1024;

/** `name`: how sentences call it. */
export async function decodeSound(bytes: Uint8Array, name = 'the sound', signal?: AbortSignal): Promise<Sound> {
    if (bytes.length > maxFileBytes) {
        throw new LapidaryError('limit', `${name} is larger than a sound may be (limit ${maxFileBytes / 1024 / 1024} MB)`);
    }
    const head = bytes.subarray(0, headBytes);
    const found = formatOf(head);
    if (!found) throw refuseUnknown(name, head);
    if (found.kind !== 'sound') throw new LapidaryError('unsupported', `${name} is not a sound but a file of kind ${found.format.toUpperCase()}`);
    if (found.format === 'm4a') throw new LapidaryError('unsupported', `${name} is an M4A sound, which only browsers can read; save it as WAV, FLAC, Ogg or MP3`);
    if (found.format === 'wav') return { wav: bytes };
    return await decodeStream(bytes, found.format as Compressed, name, signal);
}

async function decodeStream(bytes: Uint8Array, format: Compressed, name: string, signal: AbortSignal | undefined): Promise<Sound> {
    if (text(bytes, 0, 4) === 'OggS') checkPages(bytes, name);
    const { Decoder } = await loadCodec(format);
    const decoder = new Decoder();
    const mix = new Mix(name, format);
    try {
        await decoder.ready;
        for (let at = 0; at < bytes.length; at += pieceBytes) {
            throwIfCancelled(signal);
            mix.add(await decoder.decode(bytes.slice(at, at + pieceBytes)));
        }
        if (decoder.flush) mix.add(await decoder.flush());
    } catch (cause) {
        if (cause instanceof LapidaryError) throw cause;
        throw damaged(name, format, cause);
    } finally {
        decoder.free();
    }
    return mix.finish();
}

/** Ogg: page after page to the end, each of up to 255 parts whose lengths stand before them. */
function checkPages(bytes: Uint8Array, name: string): void {
    for (let at = 0; at < bytes.length; ) {
        const parts = bytes.subarray(at + 27, at + 27 + (bytes[at + 26] ?? 0));
        const end = at + 27 + parts.length + parts.reduce((sum, length) => sum + length, 0);
        if (text(bytes, at, 4) !== 'OggS' || end > bytes.length) {
            throw new LapidaryError('truncated', `${name} ends before its sound does, so it was probably cut short`);
        }
        at = end;
    }
}

function damaged(name: string, format: Compressed, cause: unknown): LapidaryError {
    const words: Record<Compressed, string> = { mp3: 'MP3', flac: 'FLAC', opus: 'Opus', vorbis: 'Vorbis' };
    return new LapidaryError('bad_file', `${name} is damaged: its ${words[format]} data cannot be decoded`, { cause });
}

/** The decoder divides whole numbers by the largest there is; as in a WAV file the smallest should be -1. */
function asInWav(channel: Float32Array, bits: number): void {
    const largest = 2 ** (bits - 1) - 1;
    for (let i = 0; i < channel.length; i++) channel[i] = Math.round((channel[i] ?? 0) * largest) / (largest + 1);
}

/** Pieces of several channels to one sound of one channel. */
class Mix {
    private readonly pieces: Float32Array[] = [];
    private length = 0;
    private rate = 0;

    constructor(
        private readonly name: string,
        private readonly format: Compressed,
    ) {}

    add({ channelData, sampleRate, bitDepth, errors }: Piece): void {
        // An MP3 is made to be joined in the middle, and often has something else at its end.
        if (errors.length > 0 && this.format !== 'mp3') throw damaged(this.name, this.format, errors[0]);
        const decoded = channelData[0]?.length ?? 0;
        if (decoded === 0) return;
        if (this.rate !== 0 && sampleRate !== this.rate) {
            throw new LapidaryError('unsupported', `${this.name} changes its sample rate on the way, from ${this.rate} to ${sampleRate}`);
        }
        this.rate = sampleRate;
        const mono = new Float32Array(decoded);
        for (const channel of channelData) {
            if (this.format === 'flac') asInWav(channel, bitDepth);
            for (let i = 0; i < decoded; i++) mono[i]! += (channel[i] ?? 0) / channelData.length;
        }
        this.pieces.push(mono);
        this.length += decoded;
        if (this.length > maxSeconds * this.rate) {
            const most = formatDuration(maxSeconds);
            throw new LapidaryError('limit', `${this.name} lasts longer than can be listened to at once (limit ${most}); cut it into pieces`);
        }
    }

    finish(): Sound {
        if (this.length === 0) throw new LapidaryError('bad_file', `${this.name} has no sound in it`);
        const samples = new Float32Array(this.length);
        let at = 0;
        for (const piece of this.pieces) {
            samples.set(piece, at);
            at += piece.length;
        }
        return { samples, rate: this.rate };
    }
}
