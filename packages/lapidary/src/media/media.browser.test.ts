// The same file gives the same pixels and samples in Chromium as here, to the bit.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { chromium } from 'playwright-core';
import { knownPictures, mediaFile, sha256Of } from '../testing/media-files.js';
import { RangeServer } from '../testing/range-server.js';
import { decodePicture } from './picture.js';
import { decodeSound } from './sound.js';

const executablePath = process.env['LAPIDARY_CHROMIUM'] ?? '/usr/bin/chromium';
const skip = existsSync(executablePath) ? false : `there is no Chromium at ${executablePath}`;

// No bundler and no import map, and the policy of the app.
const page = `<!doctype html><title>media</title>
<script type="module">
import { decodePicture } from '/dist/media/picture.js';
import { decodeSound } from '/dist/media/sound.js';
const digest = async (bytes) => [...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))].map((b) => b.toString(16).padStart(2, '0')).join('');
const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
window.media = {
    picture: async (text) => { const { data, ...rest } = await decodePicture(bytesOf(text)); return { ...rest, digest: await digest(data) }; },
    sound: async (text) => { const { samples, rate } = await decodeSound(bytesOf(text)); return { rate, digest: await digest(samples) }; },
};
</script>`;

interface Media {
    picture(base64: string): Promise<{ width: number; height: number; layout: string; digest: string }>;
    sound(base64: string): Promise<{ rate: number; digest: string }>;
}
declare const media: Media;

test('Chromium decodes pictures and sounds to the same bytes', { skip }, async (t) => {
    const site = await RangeServer.start(new Uint8Array(), { '/': page });
    const browser = await chromium.launch({ executablePath, headless: true, args: ['--no-sandbox'] });
    t.after(async () => {
        await browser.close();
        await site.stop();
    });
    const tab = await browser.newPage();
    await tab.goto(`${site.origin}/`);
    await tab.waitForFunction('window.media !== undefined');
    const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
    for (const name of Object.keys(await knownPictures())) {
        const bytes = await mediaFile(name);
        const { data, ...rest } = await decodePicture(bytes);
        const there = await tab.evaluate(async (text) => await media.picture(text), base64(bytes));
        assert.deepEqual(there, { ...rest, digest: sha256Of(data) }, name);
    }
    for (const name of ['second.mp3', 'second.flac', 'second.opus', 'second.ogg']) {
        const bytes = await mediaFile(`coded/${name}`);
        const sound = await decodeSound(bytes);
        assert.ok('samples' in sound);
        const there = await tab.evaluate(async (text) => await media.sound(text), base64(bytes));
        assert.deepEqual(there, { rate: sound.rate, digest: sha256Of(new Uint8Array(sound.samples.buffer)) }, name);
    }
});
