// A model on this computer's disk: a path, the name of an Ollama model, or `builtin`.
import { promises as fs } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LapidaryError } from './error.js';
import { formatModelName, tryParseModelName } from './ollama/name.js';
import { findStores } from './ollama/node.js';
import { openFile } from './sources/file.js';
import { openOllama, type OpenedSource } from './sources/open.js';

const builtinFile = fileURLToPath(new URL('../../../models/storyteller-q4_k_m.gguf', import.meta.url));

/** A file that exists wins over everything that merely could have that name. */
export async function openLocalModel(name: string): Promise<OpenedSource> {
    if (await isFile(name)) return { sources: await openFile(name) };
    if (name === 'builtin') {
        if (await isFile(builtinFile)) return { sources: await openFile(builtinFile), name: 'builtin' };
        throw new LapidaryError('not_found', `the built-in model is missing: there is no file '${builtinFile}'`);
    }
    const wanted = tryParseModelName(name);
    for (const store of wanted ? await findStores() : []) {
        const model = wanted && (await store.resolve(wanted));
        if (model) return await openOllama(store, model);
    }
    const store = wanted ? ` and no Ollama model ${formatModelName(wanted)}` : '';
    throw new LapidaryError('not_found', `cannot find the model '${name}': there is no such file${store}`);
}

async function isFile(path: string): Promise<boolean> {
    try {
        return (await fs.stat(path)).isFile();
    } catch {
        return false;
    }
}
