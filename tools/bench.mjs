// Speed of what runs on the CPU, in WebAssembly: the vocabulary, the tokenizer, and the backend `cpu`.
// Usage: node tools/bench.mjs [vocabulary.gguf]   (default: the built-in model's own vocabulary)
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Model } from '../packages/lapidary/dist/index.js';
import { loadEngine, openFile } from '../packages/lapidary/dist/node.js';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const builtin = path.join(root, 'models', 'storyteller-q4_k_m.gguf');
const seconds = (from) => (performance.now() - from) / 1000;

console.log(`${os.cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`);
const engine = await loadEngine();

// Text to tokenize, written by the model itself: plain English of any length wanted.
const story = await Model.open(engine, await openFile(builtin));
await story.load('cpu');
const session = await story.createSession({});
const answer = await session.generate({ prompt: 'Once upon a time', max_tokens: 256, sampling: { seed: 1, temperature: 0.8 } });
const rate = (answer.completion_tokens / answer.completion_ms) * 1000;
console.log(`generate: ${rate.toFixed(1)} tokens/s (storyteller, 29M parameters, backend cpu)`);
const long = await session.generate({ prompt: answer.text.repeat(4), max_tokens: 1, sampling: { temperature: 0 } });
console.log(`prefill: ${((long.prompt_tokens / long.prompt_ms) * 1000).toFixed(1)} tokens/s (${long.prompt_tokens} tokens)`);

const vocabulary = process.argv[2] ?? builtin;
const model = await Model.open(engine, await openFile(vocabulary));
let from = performance.now();
await model.tokenize('ready');
console.log(`vocabulary: ready in ${(seconds(from) * 1000).toFixed(0)} ms (${path.basename(vocabulary)})`);
const text = answer.text.repeat(Math.ceil(4e6 / answer.text.length));
from = performance.now();
await model.tokenize(text);
console.log(`tokenize: ${(Buffer.byteLength(text) / 1e6 / seconds(from)).toFixed(1)} MB/s`);
console.log(`WebAssembly memory: ${(engine.memoryBytes / 2 ** 20).toFixed(0)} MiB`);

// The page, as a visitor meets it: how long until there is a model, and then until there is a word.
const { chromiumIsThere, launch, prepareSettings, Visitor } = await import('../apps/web/out/app/e2e/browser.js');
if (chromiumIsThere) {
    const { Site } = await import('../apps/web/out/app/e2e/site.js');
    const site = await Site.start();
    const browser = await launch({ gpu: false });
    const context = await browser.newContext({ serviceWorkers: 'block' });
    await prepareSettings(context, { maxTokens: 4 });
    from = performance.now();
    const visitor = await Visitor.arrive(context, site.url);
    await visitor.untilReady();
    console.log(`page: from the address to a loaded model ${seconds(from).toFixed(1)} s (Chromium, backend cpu)`);
    from = performance.now();
    await visitor.say('Tell me a story.');
    await visitor.untilWriting();
    console.log(`page: from the question to the first word ${seconds(from).toFixed(1)} s`);
    await browser.close();
    site.stop();
}
