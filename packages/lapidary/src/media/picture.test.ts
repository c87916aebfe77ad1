import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { LapidaryError } from '../error.js';
import { knownPictures, mediaFile, rgbOf, sha256Of } from '../testing/media-files.js';
import { decodePicture } from './picture.js';

const refusal = async (bytes: Uint8Array, name: string): Promise<LapidaryError> => {
    try {
        await decodePicture(bytes, name);
    } catch (error) {
        assert.ok(error instanceof LapidaryError, String(error));
        assert.ok(error.message.startsWith(name), error.message);
        return error;
    }
    return assert.fail(`${name} was decoded`);
};

function crc32(bytes: Uint8Array): number {
    let crc = -1;
    for (const byte of bytes) {
        crc ^= byte;
        for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
    }
    return (crc ^ -1) >>> 0;
}

/** A PNG's header with any size. */
async function pngOfSize(width: number, height: number): Promise<Uint8Array> {
    const bytes = (await mediaFile('img/odd.png')).slice();
    const view = new DataView(bytes.buffer);
    view.setUint32(16, width);
    view.setUint32(20, height);
    return bytes; // its checksum does not fit any more
}

describe('pictures', () => {
    test('have the pixels that Pillow finds in them', async () => {
        for (const [name, { width, height, rgb }] of Object.entries(await knownPictures())) {
            const pixels = await decodePicture(await mediaFile(name), name);
            assert.deepEqual([pixels.width, pixels.height], [width, height], name);
            assert.equal(sha256Of(rgbOf(pixels)), rgb, name);
        }
    });

    test('that are cut short are refused wherever they end', async () => {
        for (const name of ['img/odd.png', 'img/photo.jpg', 'img/lossy.webp', 'img/lossless.webp', 'coded/still.gif', 'coded/c3d8i.png']) {
            const bytes = await mediaFile(name);
            for (const part of [0, 4, 11, 20, 0.1, 0.5, 0.9, 0.99]) {
                const error = await refusal(bytes.subarray(0, part < 1 ? Math.floor(bytes.length * part) : part), name);
                assert.match(error.message, /is empty|cut short|is not a picture|is damaged/);
            }
        }
    });

    test('that are larger than can be read are refused before anything is decoded', async () => {
        const huge = await refusal(await pngOfSize(60_000, 60_000), 'huge.png');
        assert.equal(huge.message, 'huge.png: 60,000 × 60,000 pixels is more than can be read (limit 100 megapixels)');
        assert.match((await refusal(await pngOfSize(0xffffffff, 0xffffffff), 'all.png')).message, /limit 100 megapixels/);
        assert.match((await refusal(await pngOfSize(0, 10), 'none.png')).message, /no pixels/);
    });

    test('whose headers lie are refused', async () => {
        const larger = await pngOfSize(211, 38);
        assert.match((await refusal(larger, 'larger.png')).message, /checksum/);
        const jpeg = (await mediaFile('img/photo.jpg')).slice();
        const frame = jpeg.findIndex((byte, i) => byte === 0xff && jpeg[i + 1] === 0xc0);
        new DataView(jpeg.buffer).setUint16(frame + 5, 9000);
        const { length } = await decodePicture(jpeg, 'tall.jpg').then(({ data }) => data, () => new Uint8Array());
        assert.ok(length === 0 || length === 9000 * 500 * 4, 'as libjpeg does: what is missing is grey, or a refusal');
    });

    test('whose bytes are damaged are refused or have other pixels, and the next one is decoded', async () => {
        for (const name of ['img/odd.png', 'img/photo.jpg', 'img/lossy.webp', 'coded/still.gif', 'coded/moving.webp']) {
            const bytes = await mediaFile(name);
            for (let i = 0; i < 40; i++) {
                const damaged = bytes.slice();
                damaged[(i * 7919) % bytes.length]! ^= 0x55;
                await decodePicture(damaged, name).catch((error: unknown) => assert.ok(error instanceof LapidaryError, `${name} ${i}: ${String(error)}`));
            }
            assert.ok((await decodePicture(bytes, name)).width > 0);
        }
    });

    test('that are something else are refused by what they are', async () => {
        const text = (words: string) => new TextEncoder().encode(words);
        const svg = text('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
        assert.match((await refusal(svg, 'logo.png')).message, /SVG drawing/);
        assert.match((await refusal(text('<!doctype html><title>404'), 'photo.jpg')).message, /web page/);
        assert.match((await refusal(text('MZ…'), 'photo.png')).message, /is not a picture \(PNG, JPEG, WebP, GIF\)/);
        assert.match((await refusal(await mediaFile('wav/short.wav'), 'photo.png')).message, /not a picture but a WAV file/);
        assert.match((await refusal(await mediaFile('coded/print.jpg'), 'print.jpg')).message, /4 colours, as for printing/);
    });

    test('of a few bytes that unpack to gigabytes are refused', async () => {
        const chunk = (type: string, data: Uint8Array) => {
            const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
            const out = Buffer.alloc(body.length + 8);
            out.writeUInt32BE(data.length);
            body.copy(out, 4);
            out.writeUInt32BE(crc32(body), body.length + 4);
            return out;
        };
        const header = Buffer.from([0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
        const bomb = deflateSync(Buffer.alloc(200_000_000));
        const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
        const file = Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', bomb), chunk('IEND', Buffer.alloc(0))]);
        const { data } = await decodePicture(new Uint8Array(file), 'bomb.png');
        assert.deepEqual([...data], [0, 0, 0, 0], 'only what the picture takes is unpacked');
    });
});
