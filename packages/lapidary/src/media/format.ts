// What a file is, by how it begins: names and types that come with it may be wrong.
import { LapidaryError } from '../error.js';

export type PictureFormat = 'png' | 'jpeg' | 'webp' | 'gif';
export type SoundFormat = 'wav' | 'mp3' | 'flac' | 'opus' | 'vorbis';
export type MediaKind = 'picture' | 'sound' | 'film' | 'document';
/** What only a browser itself can decode, and not every one. */
export type PlatformFormat = 'avif' | 'm4a' | 'mp4' | 'webm' | 'pdf';

export interface MediaFormat {
    kind: MediaKind;
    format: PictureFormat | SoundFormat | PlatformFormat;
}

/** As many bytes as it takes to be sure. */
export const headBytes = 512;

export function text(bytes: Uint8Array, at: number, length: number): string {
    return String.fromCharCode(...bytes.subarray(at, at + length));
}

function beginsWith(bytes: Uint8Array, ...values: number[]): boolean {
    return values.every((value, i) => bytes[i] === value);
}

/** Undefined: nothing that a model could see or hear. */
export function formatOf(head: Uint8Array): MediaFormat | undefined {
    if (beginsWith(head, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return { kind: 'picture', format: 'png' };
    if (beginsWith(head, 0xff, 0xd8, 0xff)) return { kind: 'picture', format: 'jpeg' };
    if (text(head, 0, 4) === 'GIF8') return { kind: 'picture', format: 'gif' };
    if (text(head, 0, 4) === 'RIFF' && text(head, 8, 4) === 'WEBP') return { kind: 'picture', format: 'webp' };
    if (text(head, 0, 4) === 'RIFF' && text(head, 8, 4) === 'WAVE') return { kind: 'sound', format: 'wav' };
    if (text(head, 0, 4) === 'fLaC') return { kind: 'sound', format: 'flac' };
    if (text(head, 0, 4) === 'OggS') return ogg(head);
    if (text(head, 4, 4) === 'ftyp') return isoMedia(text(head, 8, 4));
    if (beginsWith(head, 0x1a, 0x45, 0xdf, 0xa3)) return { kind: 'film', format: 'webm' };
    if (text(head, 0, 5) === '%PDF-') return { kind: 'document', format: 'pdf' };
    if (text(head, 0, 3) === 'ID3' || isMpegFrame(head)) return { kind: 'sound', format: 'mp3' };
    return undefined;
}

/** What is inside is named in the first packet. */
function ogg(head: Uint8Array): MediaFormat | undefined {
    const packet = 27 + (head[26] ?? 0);
    if (text(head, packet, 8) === 'OpusHead') return { kind: 'sound', format: 'opus' };
    if (text(head, packet, 7) === '\x01vorbis') return { kind: 'sound', format: 'vorbis' };
    if (text(head, packet, 5) === '\x7fFLAC') return { kind: 'sound', format: 'flac' };
    return undefined;
}

function isoMedia(brand: string): MediaFormat {
    if (brand === 'avif' || brand === 'avis') return { kind: 'picture', format: 'avif' };
    if (brand.startsWith('M4A') || brand.startsWith('M4B')) return { kind: 'sound', format: 'm4a' };
    return { kind: 'film', format: 'mp4' };
}

/** The header of a frame of MPEG audio, layer 1 to 3, with values that exist. */
function isMpegFrame(head: Uint8Array): boolean {
    const [first = 0, second = 0, third = 0] = head;
    if (first !== 0xff || (second & 0xe0) !== 0xe0) return false;
    const version = (second >> 3) & 3;
    const layer = (second >> 1) & 3;
    return version !== 1 && layer !== 0 && third >> 4 !== 15 && third >> 4 !== 0 && ((third >> 2) & 3) !== 3;
}

/** Why a file that is none of the above is refused. */
export function refuseUnknown(name: string, head: Uint8Array): LapidaryError {
    return new LapidaryError('unsupported', `${name} ${unknownWords(head)}`);
}

function unknownWords(head: Uint8Array): string {
    if (head.length === 0) return 'is empty';
    const start = new TextDecoder().decode(head).replace(/^\uFEFF/, '').trimStart().toLowerCase();
    if (start.startsWith('<svg') || (start.startsWith('<?xml') && start.includes('<svg'))) {
        return 'is an SVG drawing, which is a text with instructions and not a picture; save it as PNG';
    }
    if (start.startsWith('<!doctype') || start.startsWith('<html')) return 'is a web page, not a picture or a sound';
    const [a, b] = head;
    if (a === 0x42 && b === 0x4d) return 'is a BMP file; save it as PNG';
    if ((a === 0x49 && b === 0x49) || (a === 0x4d && b === 0x4d)) return 'is a TIFF or camera raw file; save it as PNG or JPEG';
    if (text(head, 0, 4) === 'GGUF') return 'is a model, not a picture or a sound';
    return 'is not a picture (PNG, JPEG, WebP, GIF) or a sound (WAV, MP3, FLAC, Ogg) that can be read';
}
