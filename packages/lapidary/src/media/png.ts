// PNG → pixels: fflate unpacks, the rest is here, because of the decoders on offer none is bounded in memory and right about
// interlaced pictures of few bits. Only what makes the picture is read; checksums are those of the chunks.
import { LapidaryError } from '../error.js';
import { loadCodec } from './codecs.js';
import type { PixelLayout, Pixels } from './pixels.js';
import { pngChunks, type Chunk } from './picture-header.js';

interface Header {
    width: number;
    height: number;
    /** Bits of a channel. */
    depth: number;
    channels: number;
    palette: Uint8Array | undefined;
    interlaced: boolean;
}

/** Part of the picture that is stored by itself: every so many pixels, from one on. */
type Pass = readonly [x: number, y: number, dx: number, dy: number];
const whole: readonly Pass[] = [[0, 0, 1, 1]];
const adam7: readonly Pass[] = [[0, 0, 8, 8], [4, 0, 8, 8], [0, 4, 4, 8], [2, 0, 4, 4], [0, 2, 2, 4], [1, 0, 2, 2], [0, 1, 1, 2]]; // prettier-ignore

export async function decodePng(bytes: Uint8Array, name: string): Promise<Pixels> {
    const damaged = (what: string) => new LapidaryError('bad_file', `${name} is damaged: ${what}`);
    const chunks = [...pngChunks(bytes, name)].filter(({ type }) => /^(IHDR|PLTE|IDAT)$/.test(type));
    for (const chunk of chunks) if (!checksumFits(bytes, chunk)) throw damaged('a checksum of the PNG does not fit');
    const header = readHeader(bytes, chunks, damaged);
    const data = await unpack(bytes, chunks, packedLength(header), name, damaged);
    const { width, height, depth, palette } = header;
    const samples = new Uint8Array(width * height * header.channels * (depth === 16 ? 2 : 1));
    let at = 0;
    for (const pass of passesOf(header)) at = readPass(data, at, pass, header, samples, damaged);
    if (palette) return { width, height, layout: 'rgb8', data: coloured(samples, palette) };
    return { width, height, ...arranged(samples, header) };
}

function readHeader(bytes: Uint8Array, chunks: readonly Chunk[], damaged: (what: string) => LapidaryError): Header {
    const view = new DataView(bytes.buffer, bytes.byteOffset + 16, 13);
    const [depth, colour, packing, filters, interlaced] = [8, 9, 10, 11, 12].map((i) => view.getUint8(i)) as [number, number, number, number, number];
    const kinds: Readonly<Record<number, { channels: number; depths: readonly number[] }>> = {
        0: { channels: 1, depths: [1, 2, 4, 8, 16] },
        2: { channels: 3, depths: [8, 16] },
        3: { channels: 1, depths: [1, 2, 4, 8] },
        4: { channels: 2, depths: [8, 16] },
        6: { channels: 4, depths: [8, 16] },
    };
    const kind = kinds[colour];
    if (!kind?.depths.includes(depth)) throw damaged(`there is no PNG of colour type ${colour} with ${depth} bits`);
    if (packing !== 0 || filters !== 0 || interlaced > 1) throw damaged('it is packed in a way that PNG does not know');
    const plte = chunks.find(({ type }) => type === 'PLTE');
    if (colour === 3 && !plte) throw damaged('its palette is missing');
    const palette = colour === 3 && plte ? bytes.subarray(plte.offset, plte.offset + plte.length) : undefined;
    return { width: view.getUint32(0), height: view.getUint32(4), depth, channels: kind.channels, palette, interlaced: interlaced === 1 };
}

function passesOf({ interlaced }: Header): readonly Pass[] {
    return interlaced ? adam7 : whole;
}

/** Pixels across and down, bytes of a row. */
function sizeOf([x, y, dx, dy]: Pass, { width, height, channels, depth }: Header): [across: number, down: number, row: number] {
    const across = Math.max(0, Math.ceil((width - x) / dx));
    const down = across === 0 ? 0 : Math.max(0, Math.ceil((height - y) / dy));
    return [across, down, Math.ceil((across * channels * depth) / 8)];
}

function packedLength(header: Header): number {
    return passesOf(header).reduce((sum, pass) => {
        const [, down, row] = sizeOf(pass, header);
        return sum + down * (row + 1);
    }, 0);
}

/** Never more than the picture takes: a file of a few bytes may unpack to more than there is memory. */
async function unpack(
    bytes: Uint8Array,
    chunks: readonly Chunk[],
    length: number,
    name: string,
    damaged: (what: string) => LapidaryError,
): Promise<Uint8Array> {
    const { Unzlib } = await loadCodec('inflate');
    const data = new Uint8Array(length);
    let filled = 0;
    const inflate = new Unzlib((piece) => {
        data.set(piece.subarray(0, Math.max(0, length - filled)), filled);
        filled = Math.min(length, filled + piece.length);
    });
    const step = 16 * 1024; // unpacks to 16 MB at most
    try {
        for (const { type, offset, length: size } of chunks) {
            for (let at = 0; type === 'IDAT' && filled < length && at < size; at += step) {
                inflate.push(bytes.subarray(offset + at, offset + Math.min(at + step, size)));
            }
        }
    } catch (cause) {
        throw damaged(`its PNG data cannot be unpacked (${cause instanceof Error ? cause.message : 'zlib'})`);
    }
    if (filled < length) throw new LapidaryError('truncated', `${name} ends before its picture does, so it was probably cut short`);
    return data;
}

/** Unfilters the rows of a pass where they lie, and puts their samples in place. Gives where the next pass begins. */
function readPass(data: Uint8Array, at: number, pass: Pass, header: Header, samples: Uint8Array, damaged: (what: string) => LapidaryError): number {
    const { width, channels, depth } = header;
    const [across, down, length] = sizeOf(pass, header);
    const [x0, y0, dx, dy] = pass;
    const size = (channels * Math.max(8, depth)) / 8; // bytes of a pixel in `samples`
    const step = Math.max(1, (channels * depth) / 8); // … and between a byte and its left neighbour in `data`
    let above: Uint8Array = new Uint8Array(length);
    for (let y = 0; y < down; y++, at += length + 1) {
        const filter = data[at] ?? 0;
        if (filter > 4) throw damaged(`there is no PNG filter ${filter}`);
        const row = data.subarray(at + 1, at + 1 + length);
        unfilter(filter, row, above, step);
        above = row;
        const target = (y0 + y * dy) * width * size;
        if (depth >= 8 && dx === 1) samples.set(row, target);
        else for (let x = 0; x < across; x++) {
            const to = target + (x0 + x * dx) * size;
            if (depth >= 8) for (let i = 0; i < size; i++) samples[to + i] = row[x * size + i]!;
            else samples[to] = (row[(x * depth) >> 3]! >> (8 - depth - ((x * depth) & 7))) & ((1 << depth) - 1);
        }
    }
    return at;
}

function unfilter(filter: number, row: Uint8Array, above: Uint8Array, step: number): void {
    for (let i = 0; filter !== 0 && i < row.length; i++) {
        const left = i < step ? 0 : row[i - step]!;
        const up = above[i]!;
        if (filter === 1) row[i]! += left;
        else if (filter === 2) row[i]! += up;
        else if (filter === 3) row[i]! += (left + up) >> 1;
        else row[i]! += paeth(left, up, i < step ? 0 : above[i - step]!);
    }
}

/** Of the three neighbours the one nearest to left + up - corner. */
function paeth(left: number, up: number, corner: number): number {
    const a = Math.abs(up - corner);
    const b = Math.abs(left - corner);
    const c = Math.abs(left + up - 2 * corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** An index beyond the palette is black, as other programs have it. */
function coloured(indices: Uint8Array, palette: Uint8Array): Uint8Array {
    const out = new Uint8Array(indices.length * 3);
    for (let i = 0; i < indices.length; i++) {
        for (let c = 0; c < 3; c++) out[i * 3 + c] = palette[indices[i]! * 3 + c] ?? 0;
    }
    return out;
}

/** In one of the engine's layouts. Alpha counts for nothing there, so it is left out or made up. */
function arranged(samples: Uint8Array, { channels, depth }: Header): { layout: PixelLayout; data: Uint8Array } {
    if (depth < 8) {
        const white = 255 / ((1 << depth) - 1);
        return { layout: 'grey8', data: samples.map((value) => value * white) };
    }
    const grey = channels <= 2;
    const to = grey ? 1 : depth === 16 ? 4 : channels;
    const data = to === channels && depth === 8 ? samples : new Uint8Array((samples.length / channels) * to);
    if (data !== samples) {
        const wide = depth === 16 ? 2 : 1;
        const pixels = samples.length / channels / wide;
        for (let i = 0; i < pixels; i++) {
            for (let c = 0; c < Math.min(channels, to); c++) {
                const from = (i * channels + c) * wide;
                const target = (i * to + c) * wide;
                // A PNG's numbers begin with their high byte, the engine's with the low one.
                for (let b = 0; b < wide; b++) data[target + b] = samples[from + wide - 1 - b]!;
            }
        }
    }
    if (grey) return { layout: depth === 16 ? 'grey16' : 'grey8', data };
    return { layout: depth === 16 ? 'rgba16' : channels === 3 ? 'rgb8' : 'rgba8', data };
}

let table: Uint32Array | undefined;

/** CRC-32 of type and data. */
function checksumFits(bytes: Uint8Array, { offset, length }: Chunk): boolean {
    table ??= Uint32Array.from({ length: 256 }, (_, n) => {
        for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
        return n;
    });
    let crc = -1;
    for (let i = offset - 4; i < offset + length; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
    return (crc ^ -1) >>> 0 === new DataView(bytes.buffer, bytes.byteOffset + offset + length, 4).getUint32(0);
}
