// The first picture of a GIF. Ours, because the decoder on offer does not end with some damaged files. Pixels that nobody would
// see have the colours that the palette has for them.
import type { Pixels } from './pixels.js';

class Reader {
    at = 0;

    constructor(readonly bytes: Uint8Array) {}

    u8(): number {
        const value = this.bytes[this.at++];
        if (value === undefined) throw new Error('its GIF ends before its picture does');
        return value;
    }

    u16(): number {
        return this.u8() | (this.u8() << 8);
    }

    take(length: number): Uint8Array {
        if (this.at + length > this.bytes.length) throw new Error('its GIF ends before its picture does');
        this.at += length;
        return this.bytes.subarray(this.at - length, this.at);
    }

    /** Up to 255 bytes each, until an empty one. */
    *blocks(): Generator<Uint8Array> {
        for (let length = this.u8(); length > 0; length = this.u8()) yield this.take(length);
    }

    palette(flags: number): Uint8Array | undefined {
        return flags & 0x80 ? this.take(3 << ((flags & 7) + 1)) : undefined;
    }
}

export function decodeGif(bytes: Uint8Array): Pixels {
    const reader = new Reader(bytes);
    reader.at = 6;
    const [width, height] = [reader.u16(), reader.u16()];
    const flags = reader.u8();
    const background = reader.u8();
    reader.u8();
    const common = reader.palette(flags);
    for (;;) {
        const block = reader.u8();
        if (block === 0x21) {
            reader.u8();
            for (const part of reader.blocks()) void part; // a comment, how long it is seen, what is transparent
        } else if (block === 0x2c) {
            return frame(reader, width, height, common, background);
        } else {
            throw new Error('its GIF has no picture in it');
        }
    }
}

function frame(reader: Reader, width: number, height: number, common: Uint8Array | undefined, background: number): Pixels {
    const [left, top, across, down] = [reader.u16(), reader.u16(), reader.u16(), reader.u16()];
    const flags = reader.u8();
    const palette = reader.palette(flags) ?? common;
    if (!palette) throw new Error('its GIF has no colours');
    if (left + across > width || top + down > height) throw new Error('its first picture is larger than the GIF');
    const indices = unpack(reader, across * down);
    const data = new Uint8Array(width * height * 3);
    const paint = (at: number, index: number) => {
        for (let c = 0; c < 3; c++) data[at * 3 + c] = palette[index * 3 + c] ?? 0;
    };
    if (across < width || down < height) for (let i = 0; i < width * height; i++) paint(i, background);
    let from = 0;
    for (const y of rows(down, (flags & 0x40) !== 0)) {
        for (let x = 0; x < across; x++) paint((top + y) * width + left + x, indices[from++]!);
    }
    return { width, height, layout: 'rgb8', data };
}

/** Interlaced: every eighth row, the eighths between, the quarters, the rest. */
function* rows(count: number, interlaced: boolean): Generator<number> {
    for (const [first, step] of interlaced ? ([[0, 8], [4, 8], [2, 4], [1, 2]] as const) : ([[0, 1]] as const)) {
        for (let y = first; y < count; y += step) yield y;
    }
}

/** LZW with codes that grow up to twelve bits. A code stands for the text of an earlier one and one byte more. */
function unpack(reader: Reader, count: number): Uint8Array {
    const least = reader.u8();
    if (least < 1 || least > 11) throw new Error('its GIF is packed in a way that does not exist');
    const out = new Uint8Array(count);
    const clear = 1 << least;
    const prefix = new Uint16Array(4096);
    const last = new Uint8Array(4096);
    const length = new Uint16Array(4096);
    for (let code = 0; code < clear; code++) [last[code], length[code]] = [code, 1];
    let [known, bits, previous] = [clear + 2, least + 1, -1];
    let [filled, buffer, have] = [0, 0, 0];
    for (const block of reader.blocks()) {
        for (const byte of block) {
            buffer |= byte << have;
            have += 8;
            while (have >= bits) {
                const code = buffer & ((1 << bits) - 1);
                buffer >>>= bits;
                have -= bits;
                if (code === clear) {
                    [known, bits, previous] = [clear + 2, least + 1, -1];
                    continue;
                }
                if (code === clear + 1 || filled === count) return whole(out, filled);
                if (previous < 0 ? code > clear : code > known) throw new Error('its GIF data cannot be unpacked');
                if (previous >= 0 && known < 4096) {
                    prefix[known] = previous;
                    length[known] = length[previous]! + 1;
                    last[known] = first(code === known ? previous : code);
                    known++;
                }
                if (code >= known) throw new Error('its GIF data cannot be unpacked');
                for (let at = filled + length[code]! - 1, c = code; at >= filled; at--, c = prefix[c]!) {
                    if (at < count) out[at] = last[c]!;
                }
                filled = Math.min(count, filled + length[code]!);
                previous = code;
                if (known === 1 << bits && bits < 12) bits++;
            }
        }
    }
    return whole(out, filled);

    function first(code: number): number {
        while (code >= clear) code = prefix[code]!;
        return code;
    }
}

function whole(out: Uint8Array, filled: number): Uint8Array {
    if (filled < out.length) throw new Error('its GIF ends before its picture does');
    return out;
}
