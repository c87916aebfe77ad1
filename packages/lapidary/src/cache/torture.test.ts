// Kills the download at every single change it makes to the disk and looks at what the next start makes of the ruins.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { FakeRemote, noise } from '../testing/fake-remote.js';
import { crashModes, Killed, MemoryFs } from '../testing/memory-fs.js';
import { ModelCache, type CacheOpenOptions } from './cache.js';
import { parseJournal } from './journal.js';
import { LocalLocks } from './share.js';

const chunkBytes = 1000;
const flushBytes = 3000;
const file = noise(10_500);
const sha256 = createHash('sha256').update(file).digest('hex');
const variants: CacheOpenOptions[] = [{}, { sha256 }];

async function openAndRead(fs: MemoryFs, remote: FakeRemote, options: CacheOpenOptions): Promise<Uint8Array> {
    const cache = new ModelCache({ fs, chunkBytes, locks: new LocalLocks() });
    const source = await cache.open(remote, { retryDelayMs: 0, ...options });
    try {
        return await source.read(0, source.size);
    } finally {
        await source.close();
    }
}

async function killedAt(killAt: number, options: CacheOpenOptions): Promise<{ fs: MemoryFs; remote: FakeRemote }> {
    const fs = new MemoryFs({ flushBytes, killAt });
    const remote = new FakeRemote(file);
    await assert.rejects(openAndRead(fs, remote, options), Killed);
    return { fs, remote };
}

async function changesOfOneDownload(options: CacheOpenOptions): Promise<number> {
    const fs = new MemoryFs({ flushBytes });
    assert.deepEqual(await openAndRead(fs, new FakeRemote(file), options), file);
    return fs.changes;
}

async function journaledBytes(fs: MemoryFs): Promise<number> {
    const name = fs.names.find((other) => other.endsWith('.journal'));
    const journal = name === undefined ? undefined : await fs.openRead(name);
    const state = journal && parseJournal(await journal.read(0, journal.size));
    const kept = state?.sums.map((sum, i) => (sum ? Math.min(chunkBytes, file.length - i * chunkBytes) : 0)) ?? [];
    return kept.reduce((sum, bytes) => sum + bytes, 0);
}

test('killed at any change, the next start ends with the same bytes and fetches only what is missing', async () => {
    for (const options of variants) {
        const changes = await changesOfOneDownload(options);
        assert.ok(changes > 20, 'there is something to kill');
        for (let killAt = 1; killAt <= changes; killAt++) {
            const { fs, remote } = await killedAt(killAt, options);
            for (const mode of crashModes) {
                const survivors = fs.afterCrash(mode);
                const kept = await journaledBytes(survivors);
                const again = new FakeRemote(file);
                const what = `killed at ${killAt}, ${mode}`;
                assert.deepEqual(await openAndRead(survivors, again, options), file, what);
                // With a digest, bytes that reached the disk without reaching the journal can be used too.
                const fetched = file.length - kept;
                if (options.sha256 === undefined) assert.equal(again.served, fetched, what);
                else assert.ok(again.served <= fetched, what);
                assert.ok(remote.served + again.served <= file.length + flushBytes + chunkBytes, what);
                assert.equal(survivors.names.length, 2, `${what}: ${survivors.names.join(' ')}`);
                assert.ok(survivors.names[0]?.endsWith('.data'), what);
            }
        }
    }
});

test('killed twice, it is still the same file', async () => {
    const changes = await changesOfOneDownload({});
    for (let first = 2; first <= changes; first += 3) {
        const { fs } = await killedAt(first, {});
        for (let second = 1; ; second += 2) {
            const damaged = fs.afterCrash('tear', { killAt: second });
            const died = await openAndRead(damaged, new FakeRemote(file), {}).then(
                () => false,
                (error: unknown) => error instanceof Killed,
            );
            if (!died) break;
            const survivors = damaged.afterCrash('tear');
            assert.deepEqual(await openAndRead(survivors, new FakeRemote(file), {}), file, `${first}, ${second}`);
        }
    }
});

test('a damaged byte anywhere in what a crash left is found and put right', async () => {
    for (const options of variants) {
        const changes = await changesOfOneDownload(options);
        for (let killAt = 1; killAt <= changes + 1; killAt += 2) {
            const fs = new MemoryFs({ flushBytes, killAt });
            await openAndRead(fs, new FakeRemote(file), options).catch(() => undefined);
            for (const name of fs.names) {
                for (const place of [0, 0.3, 0.7, 0.999]) {
                    const damaged = fs.afterCrash('keep');
                    damaged.tamper(name, (bytes) => {
                        const at = Math.floor(bytes.length * place);
                        if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ 0x10;
                        return bytes;
                    });
                    const bytes = await openAndRead(damaged, new FakeRemote(file), options);
                    assert.deepEqual(bytes, file, `killed at ${killAt}, ${name} damaged at ${place}`);
                }
            }
        }
    }
});

test('a file cut off or grown, and one that is missing, are put right', async () => {
    for (const options of variants) {
        const fs = new MemoryFs({ flushBytes });
        await openAndRead(fs, new FakeRemote(file), options);
        for (const name of fs.names) {
            for (const size of [0, 1, 999, 1000, 5500, 20_000]) {
                const damaged = fs.afterCrash('keep');
                damaged.tamper(name, (bytes) => {
                    const changed = new Uint8Array(size);
                    changed.set(bytes.subarray(0, size));
                    return changed;
                });
                const remote = new FakeRemote(file);
                assert.deepEqual(await openAndRead(damaged, remote, options), file, `${name} of ${size} bytes`);
                assert.equal(damaged.names.length, 2);
                const lost = file.length - Math.min(size, 10_000) + chunkBytes;
                if (name.endsWith('.data')) assert.ok(remote.served <= lost);
            }
            const without = fs.afterCrash('keep');
            await without.remove(name);
            assert.deepEqual(await openAndRead(without, new FakeRemote(file), options), file, `without ${name}`);
        }
    }
});

test('where files cannot be renamed, the journal alone says what is complete', async () => {
    const fs = new MemoryFs({ flushBytes, canMove: false });
    const remote = new FakeRemote(file);
    assert.deepEqual(await openAndRead(fs, remote, {}), file);
    assert.deepEqual(await openAndRead(fs.afterCrash('lose'), remote, {}), file);
    assert.equal(remote.served, file.length);
    const changes = fs.changes;
    for (let killAt = 1; killAt < changes; killAt++) {
        const dying = new MemoryFs({ flushBytes, killAt, canMove: false });
        await assert.rejects(openAndRead(dying, new FakeRemote(file), {}), Killed);
        assert.deepEqual(await openAndRead(dying.afterCrash('reorder'), new FakeRemote(file), {}), file);
    }
});

/** Numbers that look random and are always the same. */
function dice(seed: number): (sides: number) => number {
    const rolls = noise(4000, seed);
    let at = 0;
    return (sides) => (((rolls[at++] ?? 0) << 8) | (rolls[at++] ?? 0)) % sides;
}

test('whatever happens in whatever order, what is opened is the file as the server has it', async () => {
    let opened = 0;
    for (let seed = 1; seed <= 100; seed++) {
        const roll = dice(seed * 7919);
        const options = variants[seed % 2] ?? {};
        let fs = new MemoryFs({ flushBytes });
        for (let turn = 0; turn < 6; turn++) {
            // A new version now and then, where no digest says that there is only one.
            const version = options.sha256 === undefined ? roll(2) : 0;
            const remote = new FakeRemote(version === 0 ? file : noise(9_300, 5), `"${version}"`);
            if (roll(2) === 0) remote.breakAfter = 500 + roll(3000);
            if (roll(3) === 0) fs.quota = 2000 + roll(20_000);
            const check = roll(2) === 0 ? 'at-open' : 'on-read';
            try {
                const bytes = await openAndRead(fs, remote, { ...options, retries: 3, check });
                assert.deepEqual(bytes, remote.bytes, `seed ${seed}, turn ${turn}`);
                opened++;
            } catch (error) {
                const expected = error instanceof Killed || error instanceof LapidaryError;
                assert.ok(expected, `seed ${seed}, turn ${turn}: ${String(error)}`);
            }
            const mode = crashModes[roll(crashModes.length)] ?? 'keep';
            fs = fs.afterCrash(mode, { quota: Infinity, ...(roll(2) === 0 ? { killAt: 1 + roll(60) } : {}) });
            const victim = fs.names[roll(fs.names.length + 2)];
            if (victim !== undefined) fs.tamper(victim, (bytes) => hurt(bytes, roll));
        }
    }
    assert.ok(opened > 200, `only ${opened} of 600 attempts came to an end`);
});

function hurt(bytes: Uint8Array, roll: (sides: number) => number): Uint8Array {
    if (roll(2) === 0) return bytes.slice(0, roll(bytes.length + 1));
    const at = roll(bytes.length + 1);
    return bytes.fill(roll(256), at, at + 1 + roll(2000));
}
