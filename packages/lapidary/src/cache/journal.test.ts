import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryFs } from '../testing/memory-fs.js';
import { lineChecksum } from './checksum.js';
import { Chunks } from './chunks.js';
import { JournalWriter, parseJournal, type Header } from './journal.js';
import { ProgressMeter, type CacheProgress } from './progress.js';

const header: Header = {
    id: 'https://example.org/größe.gguf?rev=1',
    name: 'größe.gguf',
    url: 'https://example.org/größe.gguf',
    size: 2500,
    etag: '"x"',
    modified: null,
    sha256: null,
    chunkBytes: 1000,
    created: 5,
};
const [a, b, done] = ['a'.repeat(16), 'b'.repeat(16), 'c'.repeat(64)];

async function written(): Promise<Uint8Array> {
    const fs = new MemoryFs();
    const journal = await JournalWriter.open(fs, 'j', header);
    await journal.addChunks([{ index: 0, sum: a }, { index: 2, sum: b }]);
    await journal.addDone(done);
    await journal.close();
    const file = await fs.openRead('j');
    return (await file?.read(0, file.size)) ?? new Uint8Array();
}

test('a journal says what was written to it', async () => {
    const bytes = await written();
    assert.deepEqual(parseJournal(bytes), { header, sums: [a, undefined, b], done, validBytes: bytes.length });
});

test('cut anywhere, it says less but nothing wrong; with any bit flipped too', async () => {
    const bytes = await written();
    for (let length = 0; length < bytes.length; length++) {
        const state = parseJournal(bytes.subarray(0, length));
        assert.equal(state?.done, undefined);
        if (state) assert.deepEqual(state.header, header);
    }
    for (let at = 0; at < bytes.length; at++) {
        const damaged = bytes.slice();
        damaged[at] = (damaged[at] ?? 0) ^ (1 << at % 8);
        const state = parseJournal(damaged);
        if (!state) continue;
        assert.deepEqual(state.header, header);
        assert.ok(state.sums[0] === undefined || state.sums[0] === a);
        assert.equal(state.done, undefined);
    }
});

test('a header whose sizes cannot be is not believed, and nothing is made after it', async () => {
    const line = (size: string, chunkBytes: string) => {
        const body = JSON.stringify({ lapidary: 1, ...header }).replace('"size":2500', `"size":${size}`);
        const text = body.replace('"chunkBytes":1000', `"chunkBytes":${chunkBytes}`);
        return new TextEncoder().encode(`${lineChecksum(text)} ${text}\n`);
    };
    assert.equal(parseJournal(line('2500', '1000'))?.sums.length, 3);
    assert.equal(parseJournal(line('0', '1000'))?.sums.length, 0);
    const sizes = ['-0', '-1', '0.5', '1e308', '9007199254740991', '9007199254740993', String(2 ** 41), 'null', '"1"'];
    for (const size of sizes) assert.equal(parseJournal(line(size, '1000')), undefined, size);
    // A terabyte in chunks of a byte would be a terabyte of checksums.
    const chunks = ['0', '-0', '-1', '0.5', '9007199254740991', '1099511627776', 'null'];
    for (const chunkBytes of chunks) assert.equal(parseJournal(line('2500', chunkBytes)), undefined, chunkBytes);
    assert.equal(parseJournal(line(String(2 ** 40), '1')), undefined);
    assert.equal(parseJournal(line(String(2 ** 40), '1048576'))?.sums.length, 2 ** 20);
    const absurd = JournalWriter.open(new MemoryFs(), 'j', { ...header, size: 2 ** 50 });
    await assert.rejects(absurd, { code: 'limit', message: /too large for the cache/ });
});

test('what was damaged at the end is overwritten by what follows', async () => {
    const fs = new MemoryFs();
    const bytes = (await written()).slice();
    bytes.fill(0, bytes.length - 20);
    const state = parseJournal(bytes);
    assert.ok(state);
    const file = await fs.openWrite('j');
    await file.write(0, bytes);
    await file.close();
    const journal = await JournalWriter.open(fs, 'j', state);
    await journal.addChunks([{ index: 1, sum: b }]);
    const read = await fs.openRead('j');
    assert.deepEqual(parseJournal((await read?.read(0, read.size)) ?? bytes)?.sums, [a, b, b]);
});

test('chunks know their borders and which of them lie together', () => {
    const chunks = new Chunks(2500, 1000);
    assert.deepEqual([chunks.count, chunks.length(1), chunks.length(2)], [3, 1000, 500]);
    assert.deepEqual(chunks.touched(999, 2), { first: 0, end: 2 });
    assert.deepEqual(chunks.touched(1000, 1000), { first: 1, end: 2 });
    assert.deepEqual(chunks.runs((i) => i !== 1), [{ first: 0, end: 1 }, { first: 2, end: 3 }]);
    assert.equal(chunks.bytesIn(chunks.runs(() => true)), 2500);
    assert.equal(new Chunks(0, 1000).count, 0);
});

test('progress tells rate and time left, not more than ten times a second', () => {
    const reports: CacheProgress[] = [];
    let time = 0;
    const meter = new ProgressMeter('m', (progress) => void reports.push(progress), () => time);
    for (let done = 0; done <= 1000; done += 10, time += 10) meter.step('downloading', done, 2000);
    assert.equal(reports.length, 11);
    assert.equal(reports.at(-1)?.rate, 1000);
    assert.equal(reports.at(-1)?.etaSeconds, 1);
    meter.step('verifying', 0, 2000);
    assert.equal(reports.at(-1)?.etaSeconds, undefined);
});
