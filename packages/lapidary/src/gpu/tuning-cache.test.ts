import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { cacheFolder, diskTuningCache } from './tuning-cache-file.js';
import { keep, recall, type TuningCache } from './tuning-cache.js';

class TestCache implements TuningCache {
    surroundings = 'here';
    writes = 0;

    constructor(public text?: string) {}

    async read() {
        return this.text;
    }

    async write(text: string) {
        this.writes++;
        this.text = text;
    }
}

test('what was kept is there the next time, the latest first and not too much of it', async () => {
    const cache = new TestCache();
    assert.deepEqual(await recall(cache), []);
    for (const line of ['one', 'two', 'three', 'four', 'five']) await keep(cache, await recall(cache), line);
    assert.deepEqual(await recall(cache), ['five', 'four', 'three', 'two']);
    await keep(cache, await recall(cache), 'three');
    assert.equal(cache.writes, 5, 'what is known need not be written again');
});

test('another browser or another Node begins anew', async () => {
    const cache = new TestCache();
    await keep(cache, [], 'one');
    cache.surroundings = 'elsewhere';
    assert.deepEqual(await recall(cache), []);
});

test('a cache that fails is none', async () => {
    const broken: TuningCache = {
        surroundings: 'here',
        read: async () => Promise.reject(new Error('no')),
        write: async () => Promise.reject(new Error('no')),
    };
    assert.deepEqual(await recall(broken), []);
    await keep(broken, [], 'one');
});

test('on a disk it is a small file in a folder that is made when needed', async (t) => {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-tuning-'));
    t.after(() => fs.rm(folder, { recursive: true }));
    const inside = path.join(folder, 'a', 'b');
    const cache = diskTuningCache({ LAPIDARY_CACHE: inside });
    assert.deepEqual(await recall(cache), []);
    await keep(cache, [], 'one');
    assert.deepEqual(await recall(diskTuningCache({ LAPIDARY_CACHE: inside })), ['one']);
    assert.deepEqual(await fs.readdir(inside), ['gpus'], 'and nothing else is left there');
    await fs.writeFile(path.join(inside, 'gpus'), 'x'.repeat(1e6));
    assert.deepEqual(await recall(cache), []);
    await keep(diskTuningCache({ LAPIDARY_CACHE: '/dev/null/lapidary' }), [], 'one'); // cannot be made, and nobody minds
});

test('the file is where each system wants it', () => {
    assert.equal(cacheFolder({ LAPIDARY_CACHE: '/mine', XDG_CACHE_HOME: '/x' }, 'linux', '/home/me'), '/mine');
    assert.equal(cacheFolder({ XDG_CACHE_HOME: '/x' }, 'linux', '/home/me'), '/x/lapidary');
    assert.equal(cacheFolder({ XDG_CACHE_HOME: 'x' }, 'linux', '/home/me'), '/home/me/.cache/lapidary');
    assert.equal(cacheFolder({}, 'darwin', '/Users/me'), '/Users/me/Library/Caches/lapidary');
    assert.match(cacheFolder({ LOCALAPPDATA: '/local' }, 'win32', '/me'), /^.local.lapidary$/);
});
