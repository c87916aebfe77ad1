// The examples of the documents, as programs.
import { promises as fs } from 'node:fs';

/** Everything between ```js and ``` in a document, in order. */
export async function snippets(file) {
    const text = await fs.readFile(file, 'utf8');
    return [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code);
}

/** A module of several examples: each in a block of its own, with imports first, as they may share names. */
export function moduleOf(examples) {
    const imports = new Set();
    const blocks = examples.map((code) => `{\n${code.replace(/^import .*$/gm, (line) => (imports.add(line), ''))}}\n`);
    return `${[...imports].join('\n')}\n${blocks.join('')}`;
}
