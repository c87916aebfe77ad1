import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { BlobSource } from './blob.js';
import { FileSink, FileSource, openFile } from './file.js';

async function folder(t: TestContext): Promise<string> {
    const made = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-file-'));
    t.after(() => fs.rm(made, { recursive: true, force: true }));
    return made;
}

test('a file gives exactly the range, and never less', async (t) => {
    const file = path.join(await folder(t), 'a.bin');
    await fs.writeFile(file, Buffer.from('0123456789'));
    const source = await FileSource.open(file);
    t.after(() => source.close());
    assert.equal(source.size, 10);
    assert.equal(source.name, 'a.bin');
    assert.equal(Buffer.from(await source.read(3, 4)).toString(), '3456');
    assert.equal((await source.read(10, 0)).length, 0);
    await assert.rejects(source.read(8, 3), /ends at byte 10/);
    await assert.rejects(source.read(-1, 3), /cannot be read at -1/);
    await assert.rejects(source.read(0.5, 1), /cannot be read/);
    await assert.rejects(source.read(0, 1, AbortSignal.abort()), { code: 'cancelled' });
    await fs.truncate(file, 5);
    await assert.rejects(source.read(3, 4), /became shorter/);
});

test('what is not a file is refused with a sentence', async (t) => {
    const dir = await folder(t);
    await assert.rejects(FileSource.open(path.join(dir, 'none')), { code: 'not_found', message: /there is no file/ });
    await assert.rejects(FileSource.open(dir), /is a folder/);
    await assert.rejects(FileSource.open(path.join(dir, 'none', 'x')), /there is no file/);
    if (process.platform === 'win32') return;
    execFileSync('mkfifo', [path.join(dir, 'pipe')]);
    await assert.rejects(FileSource.open(path.join(dir, 'pipe')), /not a regular file/); // and does not wait for a writer
});

test('the pieces of a split model lie beside each other', async (t) => {
    const dir = await folder(t);
    for (const i of [1, 2]) await fs.writeFile(path.join(dir, `m-0000${i}-of-00002.gguf`), `piece ${i}`);
    const sources = await openFile(path.join(dir, 'm-00001-of-00002.gguf'));
    assert.deepEqual(
        sources.map((source) => source.name),
        ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf'],
    );
    for (const source of sources) await source.close();
    await fs.rm(path.join(dir, 'm-00002-of-00002.gguf'));
    await assert.rejects(openFile(path.join(dir, 'm-00001-of-00002.gguf')), /no file '.*00002-of-00002/);
});

test('a result appears only when it is complete', async (t) => {
    const dir = await folder(t);
    const target = path.join(dir, 'out');
    const sink = await FileSink.create(target, { overwrite: false });
    await sink.write(3, Buffer.from('def'));
    await sink.write(0, Buffer.from('abc'));
    await assert.rejects(fs.stat(target));
    await sink.commit();
    assert.equal(await fs.readFile(target, 'utf8'), 'abcdef');
    assert.deepEqual(await fs.readdir(dir), ['out']);
});

test('a result that was given up leaves nothing behind', async (t) => {
    const dir = await folder(t);
    const target = path.join(dir, 'out');
    await fs.writeFile(target, 'old');
    for (const method of ['discard', 'discardSync'] as const) {
        const sink = await FileSink.create(target, { overwrite: true });
        await sink.write(0, Buffer.from('new'));
        await sink[method]();
        if (method === 'discardSync') await sink.discard();
        assert.equal(await fs.readFile(target, 'utf8'), 'old');
        assert.deepEqual(await fs.readdir(dir), ['out']);
    }
});

test('an existing file is overwritten only on request, also when it appears in the meantime', async (t) => {
    const dir = await folder(t);
    const target = path.join(dir, 'out');
    const late = await FileSink.create(target, { overwrite: false });
    await fs.writeFile(target, 'old');
    await assert.rejects(late.commit(), /exists already/);
    await assert.rejects(FileSink.create(target, { overwrite: false }), /exists already/);
    assert.deepEqual(await fs.readdir(dir), ['out']);
    const sink = await FileSink.create(target, { overwrite: true });
    await sink.write(0, Buffer.from('new'));
    await sink.commit();
    assert.equal(await fs.readFile(target, 'utf8'), 'new');
});

test('a folder, a device and a missing folder are no places for a result', async (t) => {
    const dir = await folder(t);
    await assert.rejects(FileSink.create(dir, { overwrite: true }), /is a folder/);
    await assert.rejects(FileSink.create(path.join(dir, 'no', 'out'), { overwrite: true }), /folder does not exist/);
    if (process.platform === 'win32') return;
    await assert.rejects(FileSink.create('/dev/null', { overwrite: true }), /not a regular file/);
});

test('a link is kept, and what it points to is replaced', { skip: process.platform === 'win32' }, async (t) => {
    const dir = await folder(t);
    await fs.writeFile(path.join(dir, 'real'), 'old');
    await fs.symlink('real', path.join(dir, 'link'));
    const sink = await FileSink.create(path.join(dir, 'link'), { overwrite: true });
    await sink.write(0, Buffer.from('new'));
    await sink.commit();
    assert.equal(await fs.readFile(path.join(dir, 'real'), 'utf8'), 'new');
    assert.ok((await fs.lstat(path.join(dir, 'link'))).isSymbolicLink());
});

test('a blob reads like a file', async () => {
    const source = new BlobSource(new Blob(['0123456789']), 'picked.gguf');
    assert.equal(source.size, 10);
    assert.equal(source.name, 'picked.gguf');
    assert.equal(Buffer.from(await source.read(3, 4)).toString(), '3456');
    await assert.rejects(source.read(8, 3), /ends at byte 10/);
});
