// What a picture's header says: its size before anything is decoded, and whether the file is whole. A header that lies
// about the picture is found out by the decoder. How a picture is turned (EXIF) the engine reads.
import { LapidaryError } from '../error.js';
import { text, type PictureFormat } from './format.js';
import { maxPixels } from './limits.js';

export interface PictureHeader {
    format: PictureFormat;
    width: number;
    height: number;
}

/** Throws a sentence for what is broken or too large. */
export function pictureHeader(bytes: Uint8Array, format: PictureFormat, name = 'the picture'): PictureHeader {
    const header = { png, jpeg, webp, gif }[format](new View(bytes, name));
    const { width, height } = header;
    if (width === 0 || height === 0) throw new LapidaryError('bad_file', `${name} says that it has no pixels`);
    if (width * height > maxPixels) {
        const size = `${width.toLocaleString('en')} × ${height.toLocaleString('en')} pixels`;
        throw new LapidaryError('limit', `${name}: ${size} is more than can be read (limit ${maxPixels / 1e6} megapixels)`);
    }
    return { format, ...header };
}

type Found = Omit<PictureHeader, 'format'>;

/** Numbers at places; beyond the end there is a sentence instead. */
class View {
    private readonly view: DataView;

    constructor(
        readonly bytes: Uint8Array,
        readonly name: string,
    ) {
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    }

    get length(): number {
        return this.bytes.length;
    }

    private at(offset: number, size: number): number {
        if (offset < 0 || offset + size > this.bytes.length) throw this.cut();
        return offset;
    }

    cut(): LapidaryError {
        return new LapidaryError('truncated', `${this.name} ends before its picture does, so it was probably cut short`);
    }

    broken(what: string): LapidaryError {
        return new LapidaryError('bad_file', `${this.name} cannot be used: ${what}`);
    }

    u8 = (offset: number): number => this.view.getUint8(this.at(offset, 1));
    u16 = (offset: number, little = false): number => this.view.getUint16(this.at(offset, 2), little);
    u24 = (offset: number): number => this.u16(offset, true) | (this.u8(offset + 2) << 16);
    u32 = (offset: number, little = false): number => this.view.getUint32(this.at(offset, 4), little);
    text = (offset: number, length: number): string => text(this.bytes, this.at(offset, length), length);
    part = (offset: number, length: number): Uint8Array => this.bytes.subarray(this.at(offset, length), offset + length);
}

export interface Chunk {
    type: string;
    /** Of the data. */
    offset: number;
    length: number;
}

/** The chunks of a PNG up to its end. */
export function* pngChunks(bytes: Uint8Array, name: string): Generator<Chunk> {
    const view = new View(bytes, name);
    for (let offset = 8; ; ) {
        const length = view.u32(offset);
        const type = view.text(offset + 4, 4);
        view.part(offset + 8, length + 4); // the checksum too
        yield { type, offset: offset + 8, length };
        if (type === 'IEND') return;
        offset += length + 12;
    }
}

function png(view: View): Found {
    if (view.text(12, 4) !== 'IHDR' || view.u32(8) !== 13) throw view.broken('a PNG begins with its size, this one does not');
    return { width: view.u32(16), height: view.u32(20) };
}

/** Segments up to the first scan. */
function jpeg(view: View): Found {
    let found: Found | undefined;
    for (let offset = 2; ; ) {
        if (view.u8(offset) !== 0xff) throw view.broken(`the segment at byte ${offset} of the JPEG does not begin as one`);
        const marker = view.u8(offset + 1);
        if (marker === 0xff || marker === 0x01) {
            offset += marker === 0xff ? 1 : 2; // filled up, or without content
            continue;
        }
        if (marker === 0xd9) throw view.cut();
        const length = view.u16(offset + 2);
        if (length < 2) throw view.broken(`a segment of the JPEG is ${length} bytes long`);
        const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
        if (isFrame) {
            found = { width: view.u16(offset + 7), height: view.u16(offset + 5) };
            const components = view.u8(offset + 9);
            if (components !== 1 && components !== 3) {
                throw new LapidaryError('unsupported', `${view.name} has ${components} colours, as for printing; save it in RGB`);
            }
        }
        offset += 2 + length;
        if (marker !== 0xda) continue;
        if (!found) throw view.broken('its picture begins before its size was said');
        if (!hasEnd(view.bytes, offset)) throw view.cut();
        return found;
    }
}

function hasEnd(bytes: Uint8Array, from: number): boolean {
    for (let i = bytes.lastIndexOf(0xd9); i > from; i = bytes.lastIndexOf(0xd9, i - 1)) {
        if (bytes[i - 1] === 0xff) return true;
    }
    return false;
}

function webp(view: View): Found {
    if (view.u32(4, true) + 8 > view.length) throw view.cut();
    let found: Found | undefined;
    for (let offset = 12; offset + 8 <= view.length; ) {
        const type = view.text(offset, 4);
        const length = view.u32(offset + 4, true);
        const data = offset + 8;
        view.part(data, length);
        if (type === 'VP8X') found ??= { width: view.u24(data + 4) + 1, height: view.u24(data + 7) + 1 };
        if (type === 'VP8 ') found ??= { width: view.u16(data + 6, true) & 0x3fff, height: view.u16(data + 8, true) & 0x3fff };
        if (type === 'VP8L') {
            const bits = view.u32(data + 1, true);
            found ??= { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
        }
        offset = data + length + (length & 1);
    }
    if (!found) throw view.broken('the WebP has no picture in it');
    return found;
}

function gif(view: View): Found {
    return { width: view.u16(6, true), height: view.u16(8, true) };
}
