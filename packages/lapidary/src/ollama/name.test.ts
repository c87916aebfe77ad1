import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatModelName, parseModelName, tryParseModelName } from './name.js';

const registry = 'registry.ollama.ai';
const valid: [text: string, parts: [string, string, string, string], short: string][] = [
    ['gemma4', [registry, 'library', 'gemma4', 'latest'], 'gemma4:latest'],
    ['gemma4:e2b', [registry, 'library', 'gemma4', 'e2b'], 'gemma4:e2b'],
    ['me/gemma4', [registry, 'me', 'gemma4', 'latest'], 'me/gemma4:latest'],
    [
        'hf.co/unsloth/gemma-4-E2B-it-GGUF:Q4_K_M',
        ['hf.co', 'unsloth', 'gemma-4-E2B-it-GGUF', 'Q4_K_M'],
        'hf.co/unsloth/gemma-4-E2B-it-GGUF:Q4_K_M',
    ],
    ['localhost:5000/me/m', ['localhost:5000', 'me', 'm', 'latest'], 'localhost:5000/me/m:latest'],
    ['https://example.org/me/m:t', ['example.org', 'me', 'm', 't'], 'example.org/me/m:t'],
    ['_x:_y', [registry, 'library', '_x', '_y'], '_x:_y'],
    ['a'.repeat(80), [registry, 'library', 'a'.repeat(80), 'latest'], `${'a'.repeat(80)}:latest`],
];
for (const [text, parts, short] of valid) {
    test(`'${text.slice(0, 40)}' is understood`, () => {
        const name = parseModelName(text);
        assert.deepEqual([name.host, name.namespace, name.model, name.tag], parts);
        assert.equal(formatModelName(name), short);
        assert.deepEqual(parseModelName(short), name);
    });
}

const invalid = [
    '',
    ':',
    'gemma4:',
    ':e2b',
    '/gemma4',
    'me/',
    'me//m',
    '//m',
    '://a/b/c',
    'https:///me/m',
    'a/b/c/d',
    '..',
    '.hidden',
    '../m',
    '../../etc/passwd',
    'host/../m',
    'host/ns/..',
    'm:..',
    'm:../../x',
    'm:a/../b',
    'na.me/m',
    '-m',
    'm:-t',
    'm m',
    'm\\x',
    'm\0',
    'm\n',
    'gemma4@sha256',
    'größe',
    'a'.repeat(81),
    `m:${'t'.repeat(81)}`,
    `${'h'.repeat(351)}/n/m`,
];
test('names that break the grammar or climb out of a folder are refused', () => {
    for (const text of invalid) assert.equal(tryParseModelName(text), undefined, JSON.stringify(text));
    assert.throws(() => parseModelName('../m'), { code: 'invalid_argument' });
});
