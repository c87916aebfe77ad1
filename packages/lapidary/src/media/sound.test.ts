import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LapidaryError } from '../error.js';
import { mediaFile } from '../testing/media-files.js';
import { decodeSound } from './sound.js';

/** Of 16 bits, without what else a WAV file has. */
async function samplesOf(name: string): Promise<Float32Array> {
    const bytes = await mediaFile(name);
    const view = new DataView(bytes.buffer, 44);
    return Float32Array.from({ length: view.byteLength / 2 }, (_, i) => view.getInt16(i * 2, true) / 32768);
}

async function decoded(name: string): Promise<{ samples: Float32Array; rate: number }> {
    const sound = await decodeSound(await mediaFile(name), name);
    assert.ok('samples' in sound);
    return sound;
}

describe('sounds', () => {
    test('of FLAC are exactly what was stored', async () => {
        const expected = await samplesOf('wav/second.wav');
        for (const name of ['coded/second.flac', 'coded/second.oga']) {
            const { samples, rate } = await decoded(name);
            assert.equal(rate, 16000);
            assert.deepEqual(samples, expected, name);
        }
    });

    test('of MP3, Opus and Vorbis are what was stored, nearly, and as long', async () => {
        const expected = await samplesOf('wav/second.wav');
        for (const [name, rate] of [['second.mp3', 16000], ['second.opus', 48000], ['second.ogg', 44100]] as const) {
            const sound = await decoded(`coded/${name}`);
            assert.equal(sound.rate, rate);
            assert.equal(sound.samples.length, rate, name);
            const energy = (values: Float32Array) => Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);
            const ratio = energy(sound.samples) / energy(expected);
            assert.ok(ratio > 0.65 && ratio < 1.2, `${name}: ${ratio}`);
        }
    });

    test('of WAV go to the engine as they are', async () => {
        const bytes = await mediaFile('wav/second.wav');
        assert.deepEqual(await decodeSound(bytes), { wav: bytes });
    });

    test('that are cut short or damaged are refused, or end earlier', async () => {
        for (const name of ['second.mp3', 'second.flac', 'second.opus', 'second.ogg', 'second.oga']) {
            const bytes = await mediaFile(`coded/${name}`);
            for (const part of [0, 3, 30, 0.3, 0.9]) {
                const cut = bytes.subarray(0, part < 1 ? Math.floor(bytes.length * part) : part);
                try {
                    const sound = await decodeSound(cut, name);
                    assert.ok('samples' in sound && sound.samples.length <= sound.rate, `${name} at ${part}`);
                } catch (error) {
                    assert.ok(error instanceof LapidaryError, String(error));
                    assert.ok(error.message.startsWith(name), error.message);
                }
            }
            for (let i = 0; i < 10; i++) {
                const damaged = bytes.slice();
                damaged[(i * 7919) % bytes.length]! ^= 0x55;
                await decodeSound(damaged, name).catch((error: unknown) => assert.ok(error instanceof LapidaryError, `${name} ${i}: ${String(error)}`));
            }
        }
    });

    test('of other kinds are refused by what they are', async () => {
        await assert.rejects(decodeSound(await mediaFile('coded/second.m4a'), 'a.m4a'), /M4A sound, which only browsers can read/);
        await assert.rejects(decodeSound(await mediaFile('img/odd.png'), 'a.mp3'), /is not a sound but a file of kind PNG/);
        await assert.rejects(decodeSound(new Uint8Array(), 'a.mp3'), /a\.mp3 is empty/);
    });
});
