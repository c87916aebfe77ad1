import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LapidaryError } from '../error.js';
import { below, headersFor, placesOf } from './endpoints.js';
import { parseReference } from './reference.js';

const places = placesOf({ huggingface: 'https://huggingface.co', ollama: 'https://registry.ollama.ai' });
const hub = (repository: string, more: object = {}) => ({ kind: 'huggingface', repository, ...more });

const read: [text: string, expected: object][] = [
    ['hf:google/gemma', hub('google/gemma')],
    ['hf:google/gemma:q4_0', hub('google/gemma', { quantisation: 'Q4_0' })],
    ['hf:google/gemma/a.gguf', hub('google/gemma', { file: 'a.gguf' })],
    ['hf:google/gemma/sub/a.gguf@v1.0', hub('google/gemma', { file: 'sub/a.gguf', revision: 'v1.0' })],
    ['hf:google/gemma@refs/pr/2', hub('google/gemma', { revision: 'refs/pr/2' })],
    ['https://huggingface.co/google/gemma', hub('google/gemma')],
    ['https://huggingface.co/google/gemma/tree/main', hub('google/gemma', { revision: 'main' })],
    ['https://huggingface.co/google/gemma/blob/main/a.gguf', hub('google/gemma', { revision: 'main', file: 'a.gguf' })],
    ['https://huggingface.co/google/gemma/resolve/main/a.gguf?download=true', hub('google/gemma', { revision: 'main', file: 'a.gguf' })],
    ['hf.co/google/gemma:Q8_0', hub('google/gemma', { quantisation: 'Q8_0' })],
    ['huggingface.co/google/gemma', hub('google/gemma')],
];
for (const [text, expected] of read) {
    test(`${text} is a place at Hugging Face`, () => assert.deepEqual(parseReference(text, places), expected));
}

test('names, Ollama names and other addresses are told apart', () => {
    const e2b = parseReference('gemma4:e2b', places);
    assert.equal(e2b.kind, 'name');
    assert.equal(e2b.kind === 'name' && e2b.ollama?.tag, 'e2b');
    const far = parseReference('ollama:someone/model:7b', places);
    assert.equal(far.kind === 'ollama' && far.name.namespace, 'someone');
    assert.equal(parseReference('https://ollama.com/library/gemma4:e2b', places).kind, 'ollama');
    assert.equal(parseReference('https://example.org/a.gguf', places).kind, 'url');
    assert.equal(parseReference('https://huggingface.co/datasets/a/b', places).kind, 'url');
});

const refused: [text: string, message: RegExp][] = [
    ['', /is empty/],
    [`hf:${'a'.repeat(3000)}`, /too long/],
    ['hf:a\u0007b/c', /control characters/],
    ['hf:only-one', /not the name of a repository/],
    ['hf:../../etc/passwd.gguf', /not the name of a repository/],
    ['hf:a/b/../../c.gguf', /not a path of a file/],
    ['hf:a/b/c\\d.gguf', /not a path of a file/],
    ['hf:a/b/notes.txt', /only GGUF files/],
    ['hf:a/b@../x', /not the name of a revision/],
    ['hf:a/b@', /not the name of a revision/],
    ['hf:a/b:Q4_0:Q5_0', /a colon too many/],
    ['ollama:///', /not an Ollama name/],
    ['ftp://example.org/a.gguf', /only http: and https:/],
    ['https://me:secret@example.org/a.gguf', /user name or password/],
];
for (const [text, message] of refused) {
    test(`'${text.slice(0, 40)}' is refused with a reason`, () => {
        assert.throws(() => parseReference(text, places), (error: unknown) => {
            assert.ok(error instanceof LapidaryError);
            assert.match(error.message, message);
            assert.doesNotMatch(error.message, /secret/);
            return true;
        });
    });
}

test('endpoints can be others, and their path stays', () => {
    const mirror = placesOf({ huggingface: 'https://mirror.example/hf/', ollama: 'http://127.0.0.1:1' });
    assert.equal(below(mirror.huggingface, 'api', 'a/b').href, 'https://mirror.example/hf/api/a%2Fb');
    assert.throws(() => below(mirror.huggingface, '..', 'api'), /not a part of an address/);
    assert.throws(() => placesOf({ huggingface: 'file:///etc' }), /http\(s\)/);
    assert.throws(() => placesOf({ huggingface: 'https://me:secret@x' }), /address alone/);
});

test('a token goes to Hugging Face alone, and never unencrypted over a network', () => {
    const token = 'hf_secret';
    const known = { ...places, token };
    assert.deepEqual(headersFor(new URL('https://huggingface.co/a'), known), { authorization: 'Bearer hf_secret' });
    assert.deepEqual(headersFor(new URL('https://huggingface.co.evil.example/a'), known), {});
    assert.deepEqual(headersFor(new URL('https://cdn.example/a'), known), {});
    const plain = { ...placesOf({ huggingface: 'http://mirror.lan' }), token };
    assert.deepEqual(headersFor(new URL('http://mirror.lan/a'), plain), {});
});
