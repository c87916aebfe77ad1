// Pictures and sounds on their way to the engine, which is a fake one here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { asContent, type MediaPart } from '../media/parts.js';
import { FakeModel } from '../testing/fake-model.js';
import { mediaFile } from '../testing/media-files.js';
import { MemorySource } from '../sources/source.js';

interface Asked {
    method: string;
    args: Record<string, unknown>;
    bytes: number;
}

/** A model that sees and hears, and what its engine was asked. */
function seeing(): { fake: FakeModel; asked: Asked[] } {
    const fake = new FakeModel();
    const asked: Asked[] = [];
    let media = 0;
    fake.onMedia = (method, args, blob) => {
        asked.push({ method, args, bytes: blob.length });
        if (method === 'projector.open') return { projector: 9, backend: 'cpu', width: 64, bytes: 1, vision: { budgets: [70, 280] }, audio: { tokens_per_second: 25 } };
        if (method === 'media.look') return { format: 'jpeg', orientation: 6 };
        if (method === 'media.image') return { media: ++media, tokens: 65, width: 624, height: 240, digest: `${media}` };
        if (method === 'media.sound') return { media: ++media, tokens: 25, seconds: 1, pieces: 1, digest: `${media}` };
        return {};
    };
    return { fake, asked };
}

const ask = (...content: (MediaPart | string)[]) => ({
    messages: [{ role: 'user', content: content.map((part) => (typeof part === 'string' ? { type: 'text', text: part } : asContent(part))) }],
    max_tokens: 1,
    sampling: {},
    stop: [],
});

test('files become what the engine knows, once each, and pixels go there as they are stored', async () => {
    const { fake, asked } = seeing();
    const core = await fake.start({ workshop: true });
    assert.deepEqual(core.info.vision?.budgets, [70, 280]);
    assert.equal(core.info.audio?.tokens_per_second, 25);
    const image = await mediaFile('img/turned.jpg');
    const audio = new Blob([await mediaFile('coded/second.flac')]);
    const parts: MediaPart[] = [{ type: 'image', image, detail: 'high' }, { type: 'audio', audio }];
    await core.generate(ask(...parts, 'What is it?'), {});
    assert.deepEqual(fake.generated[0]?.args['messages'], [
        { role: 'user', content: [{ type: 'image', media: 1 }, { type: 'audio', media: 2 }, { type: 'text', text: 'What is it?' }] },
    ]);
    const sent = asked.filter(({ method }) => /image|sound/.test(method));
    assert.deepEqual(sent, [
        { method: 'media.image', args: { projector: 9, width: 320, height: 200, layout: 'rgba8', orientation: 6, budget: 1120, frame: false }, bytes: 256000 },
        { method: 'media.sound', args: { projector: 9, rate: 16000 }, bytes: 64000 },
    ]);
    // The same again, as other objects, and once with another budget.
    const again = { type: 'image' as const, image: new Blob([image]), detail: 'high' as const };
    assert.deepEqual(await core.measure(again, {}), { type: 'image', tokens: 65, width: 624, height: 240 });
    await core.generate(ask(again, { type: 'image', image }, 'And now?'), {});
    assert.deepEqual((fake.generated[1]?.args['messages'] as { content: object[] }[])[0]?.content.slice(0, 2), [
        { type: 'image', media: 1 },
        { type: 'image', media: 3 },
    ]);
    await core.dispose();
});

test('a film is its frames', async () => {
    const { fake } = seeing();
    const core = await fake.start({ workshop: true });
    const frames = [{ image: await mediaFile('img/frame0.png'), seconds: 0 }, { image: await mediaFile('img/frame1.png'), seconds: 1.5 }];
    await core.generate(ask({ type: 'video', frames }), {});
    assert.deepEqual((fake.generated[0]?.args['messages'] as { content: object[] }[])[0]?.content, [
        { type: 'video', frames: [{ media: 1, seconds: 0 }, { media: 2, seconds: 1 }] },
    ]);
    await core.dispose();
});

test('the small engine gives way to the one with towers as soon as the model is known to have some', async () => {
    const { fake } = seeing();
    const core = await fake.start();
    assert.deepEqual(fake.workshops, [false, true]);
    assert.ok(core.info.vision);
    await core.dispose();
});

test('a projector of its own comes along and is closed with the model', async () => {
    const { fake, asked } = seeing();
    const projector = new MemorySource(new Uint8Array(7), 'mmproj.gguf');
    projector.close = async () => void fake.closed.push(projector.name);
    const openLocal = async () => ({ sources: [projector] });
    const makeEngine = (fake as unknown as { engine(): { connect(options: object): Promise<never> } });
    const core = await fake.start(
        { mmproj: { kind: 'local', name: 'mmproj.gguf' } },
        { runtime: { makeEngine: async (options) => await makeEngine.engine().connect(options), findGpu: async () => undefined, openLocal } },
    );
    const opened = asked.find(({ method }) => method === 'projector.open');
    assert.deepEqual((opened?.args['sources'] as { size: number }[]).map(({ size }) => size), [7]);
    await core.dispose();
    assert.deepEqual(fake.closed.sort(), ['fake.gguf', 'mmproj.gguf']);
});

test('a model without eyes says so and stays usable', async () => {
    const fake = new FakeModel();
    const core = await fake.start();
    const image = await mediaFile('img/odd.png');
    const refused = (words: RegExp) => (error: unknown) => error instanceof LapidaryError && error.code === 'unsupported' && words.test(error.message);
    await assert.rejects(core.generate(ask({ type: 'image', image }), {}), refused(/this model cannot see; .*mmproj/));
    await assert.rejects(core.measure({ type: 'audio', audio: image }, {}), refused(/this model cannot hear/));
    await core.generate(ask('hello'), {});
    assert.deepEqual(fake.workshops, [false], 'nothing larger was fetched for it');
    await core.dispose();
});

test('an address is fetched only where that was allowed', async (t) => {
    const { fake } = seeing();
    const image = await mediaFile('img/odd.png');
    const { createServer } = await import('node:http');
    const server = createServer((request, response) => void (request.url === '/a.png' ? response.end(image) : response.writeHead(404).end()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    const shut = await fake.start({ workshop: true });
    await assert.rejects(shut.measure({ type: 'image', image: `${origin}/a.png` }, {}), /fetching from other computers was not allowed here/);
    await shut.dispose();
    const open = await seeing().fake.start({ workshop: true, fetchMedia: true });
    assert.equal((await open.measure({ type: 'image', image: `${origin}/a.png` }, {})).tokens, 65);
    await assert.rejects(open.measure({ type: 'image', image: `${origin}/b.png` }, {}), /could not be fetched: .* answers 404/);
    await open.dispose();
});
