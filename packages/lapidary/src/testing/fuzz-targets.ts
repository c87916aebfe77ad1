// What is fuzzed here, and what must hold of it. Parsers in C++ have fuzzers of their own beside them.
import assert from 'node:assert/strict';
import { lineChecksum } from '../cache/checksum.js';
import { Chunks } from '../cache/chunks.js';
import { fits, parseJournal } from '../cache/journal.js';
import { LapidaryError } from '../error.js';
import { parseObject } from '../json.js';
import type { Directory } from '../ollama/directory.js';
import { blobName, parseConfig, parseManifest, whyNotGguf } from '../ollama/manifest.js';
import { formatModelName, isValidPart, parseModelName, tryParseModelName } from '../ollama/name.js';
import { OllamaStore } from '../ollama/store.js';
import { MemorySource } from '../sources/source.js';
import type { Target } from './fuzz.js';

/** The journal of a cached file: whatever lies on the disk, it never throws and never claims what it cannot know. */
const journal: Target = {
    name: 'journal',
    words: ['\n', 'chunk ', 'done ', 'again', `${'a'.repeat(16)}`, 'c'.repeat(64), '"size":', '"chunkBytes":', '{"lapidary":1,'],
    check(bytes) {
        const state = parseJournal(bytes);
        if (!state) return;
        const { header, sums, done, validBytes } = state;
        assert.ok(fits(header.size, header.chunkBytes));
        assert.equal(sums.length, new Chunks(header.size, header.chunkBytes).count);
        for (const sum of sums) assert.ok(sum === undefined || /^[0-9a-f]{16}$/.test(sum));
        assert.ok(done === undefined || /^[0-9a-f]{64}$/.test(done));
        assert.ok(validBytes > 0 && validBytes <= bytes.length && bytes[validBytes - 1] === 10);
        // What comes after the part that makes sense changes nothing.
        assert.deepEqual(parseJournal(bytes.subarray(0, validBytes)), state);
    },
    /** Every line with its right checksum. */
    repair(bytes) {
        const lines = new TextDecoder().decode(bytes).split('\n');
        const last = lines.pop() ?? '';
        const repaired = lines.map((line) => `${lineChecksum(line.slice(9))} ${line.slice(9)}\n`);
        return new TextEncoder().encode(repaired.join('') + last);
    },
};

/** An Ollama manifest with the name of its model: it is read, or refused in a sentence, and leads to nothing but blobs. */
const manifest: Target = {
    name: 'manifest',
    words: [
        '"layers":[', '"config":', '"digest":', '"mediaType":', '"size":', '"model"', '"tensor"', '"params"', '../', '/', ':',
        `sha256:${'ab'.repeat(32)}`, 'application/vnd.ollama.image.', '__proto__', '"model_format":"gguf"', '\\u0000', '[]', '{}',
    ],
    async check(bytes) {
        const text = new TextDecoder().decode(bytes);
        const [first = ''] = text.split('\n', 1);
        const body = text.slice(first.length);
        const name = tryParseModelName(first);
        if (name) {
            for (const part of ['host', 'namespace', 'model', 'tag'] as const) {
                assert.ok(isValidPart(part, name[part]) && !/[/\\]|^\.|^$/.test(name[part]));
            }
            assert.equal(formatModelName(parseModelName(formatModelName(name))), formatModelName(name));
        }
        await orRefused(() => {
            const parsed = parseManifest(body, 'it');
            for (const layer of [...parsed.layers, ...(parsed.config ? [parsed.config] : [])]) {
                assert.match(blobName(layer), /^sha256-[0-9a-f]{64}$/);
                assert.ok(Number.isSafeInteger(layer.size) && layer.size >= 0);
            }
            assert.notEqual(whyNotGguf(parsed, parseConfig(parseObject(body, 'it')), 'it'), '');
        });
        const store = new OllamaStore(directoryOf(body));
        await orRefused(async () => {
            const model = await store.resolve(name ?? parseModelName('gemma4'));
            for (const source of await store.openLayers(model?.models ?? [])) await source.close();
        });
        for (const listed of await store.list()) assert.ok(listed.bytes >= 0 && listed.problem !== '');
    },
};

export const targets: readonly Target[] = [journal, manifest];

/** A store in which every file is the same text, and every blob as large as its layer says, within reason. */
function directoryOf(text: string): Directory {
    const bytes = new TextEncoder().encode(text);
    const sizes = new Map<string, number>();
    for (const [, digest = '', size] of text.matchAll(/"digest":"sha256[:-]([0-9a-fA-F]{64})","size":(\d{1,4})\b/g)) {
        sizes.set(`sha256-${digest.toLowerCase()}`, Number(size));
    }
    const inside = [['registry.ollama.ai'], ['library'], ['gemma4'], ['latest']];
    return {
        label: 'a store',
        list: async ([folder, ...path]) => {
            if (folder !== 'manifests') return [];
            const kind = path.length === 3 ? 'file' : 'directory';
            return (inside[path.length] ?? []).map((name) => ({ name, kind }));
        },
        open: async (path) => {
            const [folder, ...rest] = path;
            const fine = folder === 'blobs' ? /^sha256-[0-9a-f]{64}$/.test(rest.join('/')) : folder === 'manifests' && rest.length === 4;
            assert.ok(fine, `it asked for ${path.join('/')}`);
            for (const part of rest) assert.doesNotMatch(part, /[/\\]|^\.\.?$|^$/);
            const blob = new Uint8Array(sizes.get(rest.join('/')) ?? bytes.length).fill(32);
            blob.set(bytes.subarray(0, blob.length));
            return new MemorySource(blob);
        },
    };
}

async function orRefused(work: () => void | Promise<void>): Promise<void> {
    try {
        await work();
    } catch (error) {
        if (!(error instanceof LapidaryError) || error.message === '') throw error;
    }
}
