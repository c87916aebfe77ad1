import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { modelsFolder } from '../hub/kept-node.js';
import { FakeRemote, noise } from '../testing/fake-remote.js';
import { ModelCache } from './cache.js';
import { DiskFs } from './disk.js';
import { BusyError } from './fs.js';

async function withFolder(work: (folder: string) => Promise<void>): Promise<void> {
    const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-disk-'));
    try {
        await work(path.join(folder, 'made', 'when needed'));
    } finally {
        await fs.rm(folder, { recursive: true });
    }
}

const bytes = noise(100_000);
const sha256 = createHash('sha256').update(bytes).digest('hex');

test('the cache keeps files in a folder, under a name that says what they are, and finds them again', async () => {
    await withFolder(async (folder) => {
        const remote = new FakeRemote(bytes);
        const make = () => new ModelCache({ fs: new DiskFs(folder), chunkBytes: 1000 });
        assert.deepEqual(await make().list(), []);
        await (await make().open(remote, { sha256 })).close();
        const names = (await fs.readdir(folder)).sort();
        assert.deepEqual(names.map((name) => path.extname(name)), ['.gguf', '.journal']);
        assert.deepEqual(new Uint8Array(await fs.readFile(path.join(folder, names[0]!))), bytes);
        const again = await make().open(remote, { sha256 });
        assert.deepEqual(await again.read(5000, 10), bytes.slice(5000, 5010));
        await again.close();
        assert.equal(remote.requests.length, 1);
        const [file] = await make().list();
        await make().remove(file!.key);
        assert.deepEqual(await fs.readdir(folder), []);
    });
});

test('a file has one writer, also among programs, and a writer that died does not count', async () => {
    await withFolder(async (folder) => {
        const disk = new DiskFs(folder);
        const file = await disk.openWrite('a.part');
        await assert.rejects(disk.openWrite('a.part'), BusyError);
        await file.write(3, Uint8Array.of(1, 2));
        await file.flush();
        assert.deepEqual(await file.read(0, 99), Uint8Array.of(0, 0, 0, 1, 2));
        await file.close();
        const gone = spawn(process.execPath, ['-e', '']);
        await new Promise((resolve) => gone.on('exit', resolve));
        await fs.writeFile(path.join(folder, 'a.part.lock'), String(gone.pid));
        const again = await disk.openWrite('a.part');
        assert.equal(await again.size(), 5);
        await again.truncate(2);
        await again.close();
        assert.deepEqual(await disk.list(), [{ name: 'a.part', size: 2 }]);
        await fs.writeFile(path.join(folder, 'a.part.lock'), '');
        await (await disk.openWrite('a.part')).close();
    });
});

test('there is room on the disk before the folder is there', async () => {
    await withFolder(async (folder) => {
        const room = await new DiskFs(folder).room();
        assert.ok(room && room.quota > room.usage && room.usage > 0);
    });
});

const places: [env: Record<string, string>, platform: string, expected: string][] = [
    [{}, 'linux', '/home/me/.local/share/lapidary/models'],
    [{ XDG_DATA_HOME: '/data' }, 'linux', '/data/lapidary/models'],
    [{ XDG_DATA_HOME: 'relative' }, 'linux', '/home/me/.local/share/lapidary/models'],
    [{ LAPIDARY_MODELS: '/big' }, 'darwin', '/big'],
    [{}, 'darwin', '/home/me/Library/Application Support/lapidary/models'],
];
for (const [env, platform, expected] of places) {
    test(`models are at ${expected} with ${JSON.stringify(env)} on ${platform}`, () => {
        assert.equal(modelsFolder(env, platform, '/home/me'), expected);
    });
}
