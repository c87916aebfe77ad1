// A picture's file → its pixels as they are stored: no colour profile, no alpha worked in, sixteen bits left alone, not
// turned. The same decoders in pages and in Node, loaded when the first picture of a kind comes; a canvas would do all of
// that in its own way.
import { LapidaryError, messageOf } from '../error.js';
import { loadCodec } from './codecs.js';
import { formatOf, headBytes, refuseUnknown, text, type PictureFormat } from './format.js';
import { decodeGif } from './gif.js';
import { maxFileBytes } from './limits.js';
import { pictureHeader } from './picture-header.js';
import type { PixelLayout, Pixels } from './pixels.js';
import { decodePng } from './png.js';

export type { PixelLayout, Pixels };

/** `name`: how sentences call it. */
export async function decodePicture(bytes: Uint8Array, name = 'the picture'): Promise<Pixels> {
    if (bytes.length > maxFileBytes) {
        const most = `${maxFileBytes / 1024 / 1024} MB`;
        throw new LapidaryError('limit', `${name} is larger than a picture may be (limit ${most})`);
    }
    const head = bytes.subarray(0, headBytes);
    const found = formatOf(head);
    if (!found) throw refuseUnknown(name, head);
    if (found.kind !== 'picture') throw new LapidaryError('unsupported', `${name} is not a picture but ${article(found.format)} file`);
    if (found.format === 'avif') throw new LapidaryError('unsupported', `${name} is an AVIF picture, which only browsers can read; save it as PNG`);
    const format = found.format as PictureFormat;
    const { width, height } = pictureHeader(bytes, format, name);
    try {
        const pixels = await decoders[format](bytes, name);
        if (pixels.width !== width || pixels.height !== height) {
            throw new Error(`its header says ${width} × ${height}, its picture is ${pixels.width} × ${pixels.height}`);
        }
        return pixels;
    } catch (cause) {
        if (cause instanceof LapidaryError) throw cause;
        throw new LapidaryError('bad_file', `${name} is damaged: ${sentence(format, cause)}`, { cause });
    }
}

function article(format: string): string {
    return `${/^[aefhilmnorsx]/.test(format) ? 'an' : 'a'} ${format.toUpperCase()}`;
}

/** What decoders throw is seldom for people: numbers, addresses, nothing at all. */
function sentence(format: PictureFormat, cause: unknown): string {
    const words = messageOf(cause);
    return cause instanceof Error && /^its /.test(words) ? words : `its ${format.toUpperCase()} data cannot be decoded`;
}

const decoders: Record<PictureFormat, (bytes: Uint8Array, name: string) => Promise<Pixels>> = {
    png: async (bytes, name) => await decodePng(bytes, name),
    jpeg: async (bytes) => rgba(await (await loadCodec('jpeg')).decode(bytes)),
    webp: async (bytes) => rgba(await (await loadCodec('webp')).decode(firstOfWebp(bytes))),
    gif: async (bytes) => await Promise.resolve(decodeGif(bytes)),
};

function rgba(decoded: { width: number; height: number; data: Uint8ClampedArray } | null): Pixels {
    if (!decoded) throw new Error('nothing was decoded');
    const { width, height, data } = decoded;
    return { width, height, layout: 'rgba8', data: new Uint8Array(data.buffer, data.byteOffset, data.length) };
}

/** Of one that moves, its first picture as a file of its own; libwebp reads no others. */
function firstOfWebp(bytes: Uint8Array): Uint8Array {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 12, end = bytes.length; at + 8 <= end; ) {
        const type = text(bytes, at, 4);
        const length = view.getUint32(at + 4, true);
        if (type === 'ANMF') {
            end = at + 8 + length;
            at += 24; // its place and time, then chunks again
            continue;
        }
        if (end < bytes.length && /^VP8[ L]$/.test(type)) {
            const file = new Uint8Array(20 + length + (length & 1));
            file.set(bytes.subarray(0, 12));
            file.set(bytes.subarray(at, at + 8 + length), 12);
            new DataView(file.buffer).setUint32(4, file.length - 8, true);
            return file;
        }
        at += 8 + length + (length & 1);
    }
    return bytes;
}
