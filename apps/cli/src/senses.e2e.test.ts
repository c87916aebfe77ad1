// Pictures and sounds on the command line and through official clients, with the built-in model and a projector of
// noise: what is shown is that they arrive, and what they cost.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { tinyProjector } from 'lapidary/testing/tiny-projector';
import { lapidary, needsEngine, root, temporaryFolder } from './testing/process.js';
import { testServer, type TestServer } from './testing/server.js';

const engine = needsEngine();
const media = path.join(root, 'tests', 'data', 'media');
const file = (name: string) => path.join(media, name);
const base64 = async (name: string) => (await fs.readFile(file(name))).toString('base64');

/** Of a picture at a budget, as the fixtures have it: rows × columns of 48 pixels. */
const wideTokens = 13 * 5;

let folder: string;
let mmproj: string;
before(async () => {
    folder = await fs.mkdtemp(path.join(os.tmpdir(), 'lapidary-senses-'));
    mmproj = path.join(folder, 'mmproj-tiny.gguf');
    await fs.writeFile(mmproj, tinyProjector());
});
after(async () => await fs.rm(folder, { recursive: true, force: true }));

describe('the command line', engine, () => {
    const generate = async (...more: string[]) => {
        const { status, stdout, stderr } = await lapidary(['generate', 'builtin', '--mmproj', mmproj, '--prompt', 'What?', '-n', '2', '--temp', '0', '--json', ...more]);
        assert.equal(status, 0, stderr);
        return JSON.parse(stdout) as { prompt_tokens: number; completion_tokens: number };
    };

    test('pictures, sounds and frames are read with the prompt, and cost what they should', async (t) => {
        const wide = await generate('--image', file('img/wide.png'), '--detail', 'low');
        const two = await generate('--image', file('img/wide.png'), '--image', file('img/wide.png'), '--detail', 'low');
        assert.equal(two.prompt_tokens - wide.prompt_tokens, wideTokens + 2, 'a picture and the two tokens around it');
        const sound = await generate('--image', file('img/wide.png'), '--detail', 'low', '--audio', file('coded/second.flac'));
        assert.equal(sound.prompt_tokens - wide.prompt_tokens, 25 + 2);
        const frames = await temporaryFolder(t);
        for (const frame of [0, 1, 2]) await fs.copyFile(file(`img/frame${frame}.png`), path.join(frames, `${frame}.png`));
        const film = await generate('--video', frames);
        assert.ok(film.prompt_tokens > 3 * 50, `${film.prompt_tokens}`);
    });

    test('a chat takes files before it begins and inside', async () => {
        const input = `/image ${file('img/photo.jpg')}\nWhat is this?\n/image ${file('nosuch.png')}\n`;
        const { stderr, stdout } = await lapidary(['chat', 'builtin', '--mmproj', mmproj, '-n', '2', '--audio', file('coded/second.mp3')], { input });
        assert.match(stderr, /second\.mp3: 25 tokens/);
        assert.match(stderr, /photo\.jpg: \d+ tokens, seen at \d+ × \d+\. It goes with what you write next\./);
        assert.match(stderr, /nosuch\.png/);
        assert.ok(stdout.length > 0);
    });

    test('a model without eyes, and a projector of another, are told', async () => {
        const blind = await lapidary(['generate', 'builtin', '--prompt', 'What?', '--image', file('img/odd.png')]);
        assert.notEqual(blind.status, 0);
        assert.match(blind.stderr, /neither|cannot see|no towers|has no/);
        const other = await lapidary(['generate', 'builtin', '--prompt', 'What?', '--mmproj', file('mmproj-small-F16.gguf'), '--image', file('img/odd.png')]);
        assert.notEqual(other.status, 0);
        const broken = await lapidary(['generate', 'builtin', '--prompt', 'What?', '--mmproj', mmproj, '--image', file('coded/print.jpg')]);
        assert.match(broken.stderr, /print\.jpg has 4 colours, as for printing/);
    });
});

describe('official clients', engine, () => {
    const cleanups: (() => unknown)[] = [];
    let server: TestServer;
    let openai: OpenAI;
    let ollama: Ollama;
    before(async () => {
        server = await testServer({ after: (fn) => cleanups.push(fn as () => unknown) }, { model: 'builtin', mmproj });
        openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
        ollama = new Ollama({ host: server.url });
    });
    after(async () => {
        for (const cleanup of cleanups) await cleanup();
    });
    const ask = async (content: OpenAI.ChatCompletionContentPart[]) =>
        await openai.chat.completions.create({ model: 'builtin', messages: [{ role: 'user', content }], max_completion_tokens: 2, temperature: 0 });
    const text = { type: 'text' as const, text: 'What?' };

    test('image_url and input_audio of OpenAI', async () => {
        const plain = (await ask([text])).usage!.prompt_tokens;
        const url = `data:image/png;base64,${await base64('img/wide.png')}`;
        const seen = await ask([{ type: 'image_url', image_url: { url, detail: 'low' } }, text]);
        assert.equal(seen.usage!.prompt_tokens - plain, wideTokens + 2);
        const sound = { data: await base64('coded/second.mp3'), format: 'mp3' as const };
        const heard = await ask([{ type: 'input_audio', input_audio: sound }, text]);
        assert.equal(heard.usage!.prompt_tokens - plain, 25 + 2);
        // The same conversation goes on: what was seen is not read again.
        const again = await openai.chat.completions.create({
            model: 'builtin',
            messages: [
                { role: 'user', content: [{ type: 'image_url', image_url: { url, detail: 'low' } }, text] },
                { role: 'assistant', content: seen.choices[0]?.message.content ?? '' },
                { role: 'user', content: 'And now?' },
            ],
            max_completion_tokens: 1,
        });
        assert.ok((again.usage?.prompt_tokens_details?.cached_tokens ?? 0) >= wideTokens, JSON.stringify(again.usage));
    });

    test('what cannot be seen is refused, and the server goes on', async () => {
        for (const [url, sentence] of [
            ['data:image/png;base64,aGk=', /is not a picture/],
            [`data:image/jpeg;base64,${await base64('coded/print.jpg')}`, /4 colours/],
            ['https://example.com/a.png', /fetching from other computers was not allowed/],
        ] as const) {
            await assert.rejects(ask([{ type: 'image_url', image_url: { url } }, text]), (error) => {
                assert.ok(error instanceof OpenAI.BadRequestError, String(error));
                assert.match(error.message, sentence);
                return true;
            });
        }
        assert.ok((await ask([text])).usage);
    });

    test('transcriptions', async () => {
        const sound = await OpenAI.toFile(await fs.readFile(file('wav/second.wav')), 'second.wav');
        const { text: said } = await openai.audio.transcriptions.create({ model: 'builtin', file: sound, language: 'en' });
        assert.equal(typeof said, 'string');
        const plain = await openai.audio.transcriptions.create({ model: 'builtin', file: sound, response_format: 'text' });
        assert.equal(typeof plain, 'string');
        await assert.rejects(openai.audio.transcriptions.create({ model: 'builtin', file: sound, response_format: 'srt' }), /tells no times/);
    });

    test("images of Ollama's chat and generate", async () => {
        const images = [await base64('img/wide.png')];
        const options = { num_predict: 2, temperature: 0 };
        const plain = await ollama.chat({ model: 'builtin', messages: [{ role: 'user', content: 'What?' }], options });
        const seen = await ollama.chat({ model: 'builtin', messages: [{ role: 'user', content: 'What?', images }], options });
        assert.ok(seen.prompt_eval_count - plain.prompt_eval_count > 200);
        const said = await ollama.generate({ model: 'builtin', prompt: 'What?', images, options });
        assert.equal(said.prompt_eval_count, seen.prompt_eval_count);
    });
});
