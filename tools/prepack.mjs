// Before `npm pack`: what the package needs beside what the compiler made. Refuses to pack half of it.
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const home = `${root}packages/lapidary/`;
const built = ['index.js', 'worker.js', 'lapidary.wasm', 'lapidary-workshop.wasm', 'cpu-base.wasm', 'cpu-relaxed.wasm', 'storyteller-q4_k_m.gguf', 'media/senses.js', 'media/codecs/jpeg.js'];
const missing = built.filter((name) => !existsSync(`${home}dist/${name}`));
if (missing.length > 0) {
    console.error(`prepack: run 'make build' first: ${missing.join(', ')} missing in packages/lapidary/dist`);
    process.exit(1);
}
mkdirSync(`${home}docs`, { recursive: true });
for (const name of ['api', 'models', 'adapters', 'fine-tuning', 'media']) cpSync(`${root}docs/${name}.md`, `${home}docs/${name}.md`);
