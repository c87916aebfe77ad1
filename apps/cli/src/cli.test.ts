// Everything the command line must get right before an engine is needed.
import assert from 'node:assert/strict';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { main } from './main.js';
import { lapidary, root, temporaryFolder } from './testing/process.js';

const missingEngine = { LAPIDARY_WASM: path.join(root, 'no-such-engine.wasm') };
const fixture = path.join(root, 'tests', 'data', 'fixtures', 'tiny-e2b-q4_0.gguf');

const wrong: [why: string, args: string[], sentence: RegExp][] = [
    ['no such command', ['generat'], /unknown command 'generat'/],
    ['no such option', ['inspect', 'builtin', '--frobnicate'], /unknown option '--frobnicate'/],
    ['no model', ['inspect'], /missing required argument 'model'/],
    ['too many arguments', ['inspect', 'a', 'b'], /too many arguments/],
    ['a temperature in words', ['generate', 'builtin', '--temp', 'hot'], /'hot' is invalid.*from 0 to 2/],
    ['a negative temperature', ['generate', 'builtin', '--temp', '-1'], /'-1' is invalid/],
    ['a temperature that is not a number', ['generate', 'builtin', '--temp', 'NaN'], /'NaN' is invalid/],
    ['an infinite temperature', ['generate', 'builtin', '--temp', 'Infinity'], /'Infinity' is invalid/],
    ['an empty temperature', ['generate', 'builtin', '--temp', ''], /'' is invalid/],
    ['a probability above one', ['generate', 'builtin', '--top-p', '1.5'], /from 0 to 1/],
    ['half a token', ['generate', 'builtin', '-n', '1.5'], /whole number/],
    ['no tokens', ['generate', 'builtin', '-n', '0'], /whole number/],
    ['a hexadecimal seed', ['generate', 'builtin', '--seed', '0x10'], /whole number/],
    ['a negative seed', ['generate', 'builtin', '--seed', '-3'], /whole number/],
    ['an unknown backend', ['generate', 'builtin', '--backend', 'abacus'], /Allowed choices are auto, gpu, cpu/],
    ['no tokens for logits', ['logits', 'builtin', '--out', 'x'], /either --tokens or --tokens-file/],
    ['both kinds of tokens', ['logits', 'builtin', '--tokens', '1', '--tokens-file', 'f', '--out', 'x'], /either/],
    ['an empty list of tokens', ['logits', 'builtin', '--tokens', '', '--out', 'x'], /no token/],
    ['no place for logits', ['logits', 'builtin', '--tokens', '1'], /--out/],
    ['a token in words', ['logits', 'builtin', '--tokens', '1,two', '--out', 'x'], /'two' is not a token id/],
    ['a negative token', ['logits', 'builtin', '--tokens', '1,-2', '--out', 'x'], /'-2' is not a token id/],
    ['a token too large', ['detokenize', 'builtin', '2147483648'], /not a token id/],
    ['no ids', ['detokenize', 'builtin'], /missing required argument 'ids'/],
    ['no file', ['perplexity', 'builtin'], /--file/],
    ['an unknown type', ['quantize', 'a', 'b', '--type', 'q3'], /Allowed choices/],
    ['no type', ['quantize', 'a', 'b'], /--type/],
    ['an unknown type to make', ['synth', 'e2b', 'b', '--quant', 'q3'], /Allowed choices/],
    ['a seed in words', ['synth', 'e2b', 'b', '--seed', 'lucky'], /whole number/],
];
for (const [why, args, sentence] of wrong) {
    test(`wrong usage (${why}) ends with status 2 and a sentence`, async () => {
        let stderr = '';
        const status = await main(args, { write: (text) => (stderr += text) });
        assert.match(stderr, sentence);
        assert.match(stderr, /^lapidary: /);
        assert.doesNotMatch(stderr, /\n\s+at /, 'no stack');
        assert.equal(status, 2);
    });
}

const failing: [why: string, args: string[], sentence: RegExp][] = [
    ['no such model', ['inspect', 'nosuch'], /cannot find the model 'nosuch': there is no file 'nosuch', and no Ollama/],
    ['no such file', ['inspect', './no.gguf'], /cannot find the model '\.\/no\.gguf': there is no file '\.\/no\.gguf'$/m],
    ['a folder', ['inspect', './tests'], /'\.\/tests' is a folder/],
    ['a name that climbs', ['inspect', '../../etc'], /cannot find|is a folder/],
    ['another kind of address', ['inspect', 'ftp://example.org/x.gguf'], /only http: and https:/],
    ['no such tokens file', ['logits', 'builtin', '--tokens-file', 'no', '--out', 'x'], /there is no file 'no'/],
    ['no such text', ['perplexity', 'builtin', '--file', 'no'], /there is no file 'no'/],
    ['text that is none', ['perplexity', 'builtin', '--file', fixture], /is not UTF-8 text/],
    ['a later piece of a split model', ['inspect', 'x-00002-of-00003.gguf'], /cannot find the model/],
];
for (const [why, args, sentence] of failing) {
    test(`a failure (${why}) ends with status 1 and one sentence`, async () => {
        const { status, stdout, stderr } = await lapidary(args, { env: missingEngine });
        assert.match(stderr, sentence);
        assert.match(stderr, /^lapidary: [^\n]*\n$/);
        assert.equal(stdout, '');
        assert.equal(status, 1);
    });
}

test('without the engine it says how to get it', async () => {
    const { status, stderr } = await lapidary(['inspect', 'builtin'], { env: missingEngine });
    assert.match(stderr, /^lapidary: run 'make build' first[^\n]*\n$/);
    assert.equal(status, 1);
});

test('a file that is not the engine is not run', async () => {
    const { status, stderr } = await lapidary(['inspect', 'builtin'], { env: { LAPIDARY_WASM: fixture } });
    assert.match(stderr, /^lapidary: [^\n]*not an engine[^\n]*\n$/);
    assert.equal(status, 1);
});

test('every command explains itself with an example', async (t) => {
    const { stdout, status } = await lapidary(['--help']);
    assert.equal(status, 0);
    // The others in this process: starting one for each takes longer than everything else here.
    const explained = async (command: string) => {
        let text = '';
        const write = t.mock.method(process.stdout, 'write', (piece: string) => ((text += piece), true));
        try {
            assert.equal(await main([command, '--help']), 0);
        } finally {
            write.mock.restore();
        }
        return text;
    };
    const list = /^Commands:\n(.*?)\n\n/ms.exec(stdout)?.[1] ?? '';
    const commands = [...list.matchAll(/^ {2}(\w+) .*/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
    assert.ok(commands.length >= 14, commands.join());
    for (const command of commands) {
        assert.match(await explained(command), new RegExp(`Example:\n .*lapidary ${command}`), command);
    }
});

test('called without a command it shows the commands, as wrong usage', async () => {
    const { status, stderr } = await lapidary([]);
    assert.match(stderr, /Commands:/);
    assert.equal(status, 2);
});

test('the models of a store are listed, and a broken one says why', async (t) => {
    const store = await temporaryFolder(t);
    const folder = path.join(store, 'manifests', 'registry.ollama.ai', 'library', 'gemma4');
    await fs.mkdir(folder, { recursive: true });
    await fs.writeFile(path.join(folder, 'e2b'), 'not a manifest');
    const env = { OLLAMA_MODELS: store };
    const listed = await lapidary(['models'], { env });
    assert.match(listed.stdout, /^OLLAMA'S .*\ngemma4:e2b .*not valid JSON\n$/m);
    const json: unknown = JSON.parse((await lapidary(['models', '--json'], { env })).stdout);
    assert.ok(Array.isArray(json) && json.length === 1);
    const broken = await lapidary(['inspect', 'gemma4:e2b'], { env });
    assert.match(broken.stderr, /^lapidary: the manifest of 'gemma4:e2b' is not valid JSON\n$/);
    const other = await lapidary(['inspect', 'mistral:7b'], { env });
    assert.match(other.stderr, /no Ollama model mistral:7b in .*'lapidary models' lists what is there/);
});

test('an empty store is no error', async () => {
    const { status, stdout } = await lapidary(['models']);
    assert.match(stdout, /^no Ollama models found/m);
    assert.equal(status, 0);
});
