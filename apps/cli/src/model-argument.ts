// What MODEL means on the command line: a path, a URL, the name of an Ollama model, or `builtin`.
import { promises as fs } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
    LapidaryError,
    Model,
    formatModelName,
    openHttp,
    tryParseModelName,
    type ByteSource,
    type Engine,
    type ModelName,
    type OllamaStore,
    type ResolvedModel,
} from 'lapidary';
import { findStores, loadEngine, openFile, storeCandidates, thisComputer } from 'lapidary/node';

export const modelHelp = "a GGUF file, an http(s) URL, an Ollama model such as gemma4:e2b, or 'builtin'";

export const builtinFile = fileURLToPath(new URL('../../../models/storyteller-q4_k_m.gguf', import.meta.url));

export interface ModelBytes {
    sources: ByteSource[];
    /** Where they come from, in words. */
    origin: string;
    ollama?: { store: OllamaStore; model: ResolvedModel };
}

export interface OpenModel extends ModelBytes {
    engine: Engine;
    model: Model;
}

/** Finds the bytes; the caller closes the sources. */
export async function openModelBytes(argument: string, signal?: AbortSignal): Promise<ModelBytes> {
    const tried: string[] = [];
    if (/^https?:\/\//i.test(argument)) {
        return { sources: await openHttp(argument, signal ? { signal } : {}), origin: argument };
    }
    // Also other addresses are better answered as addresses than as odd file names.
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(argument)) {
        throw new LapidaryError('invalid_argument', `'${argument}' cannot be read, only http: and https: addresses`);
    }

    // A file that exists wins over everything that merely could have that name.
    const kind = await kindOfPath(argument);
    if (kind === 'file') return { sources: await openFile(argument), origin: path.resolve(argument) };
    tried.push(kind === 'folder' ? `'${argument}' is a folder` : `there is no file '${argument}'`);

    if (argument === 'builtin') return { sources: await openBuiltin(), origin: builtinFile };

    const name = looksLikePath(argument) ? undefined : tryParseModelName(argument);
    if (name) {
        const stores = await findStores();
        for (const store of stores) {
            const model = await store.resolve(name);
            if (model) return await openResolved(store, model);
        }
        tried.push(
            stores.length > 0
                ? `no Ollama model ${formatModelName(name)} in ${stores.map((store) => store.directory.label).join(', ')}`
                : `no Ollama models at ${storeCandidates(thisComputer()).join(', ')}`,
        );
    }
    const hint = name ? "; 'lapidary models' lists what is there" : '';
    throw new LapidaryError('not_found', `cannot find the model '${argument}': ${tried.join(', and ')}${hint}`);
}

/** The same for a model that is known to be in a store. */
export async function openOllamaModel(store: OllamaStore, name: ModelName): Promise<ModelBytes> {
    const model = await store.resolve(name);
    if (!model) throw new LapidaryError('not_found', `there is no Ollama model ${formatModelName(name)} any more`);
    return await openResolved(store, model);
}

async function openResolved(store: OllamaStore, model: ResolvedModel): Promise<ModelBytes> {
    const sources = await store.openLayers(model.models);
    return { sources, origin: `${model.name} in ${store.directory.label}`, ollama: { store, model } };
}

/** Runs `work` with the opened model and closes everything afterwards. */
export async function withModel<Result>(
    argument: string,
    signal: AbortSignal,
    work: (open: OpenModel) => Promise<Result>,
): Promise<Result> {
    // The model first: a wrong name should not wait for the engine.
    const bytes = await openModelBytes(argument, signal);
    let engine: Engine;
    try {
        engine = await loadEngine({ log: logToStderr });
    } catch (error) {
        await Promise.allSettled(bytes.sources.map((source) => source.close()));
        throw error;
    }
    try {
        const model = await Model.open(engine, bytes.sources, signal);
        try {
            return await work({ ...bytes, engine, model });
        } finally {
            // What matters was said by then: a failure to tidy up must not hide it.
            await model.close().catch(() => undefined);
        }
    } finally {
        engine.close(); // the GPU is given back here rather than somewhere in the teardown of the process
    }
}

/** The engine's warnings; with LAPIDARY_LOG set, everything it says. */
export function logToStderr(level: string, text: string): void {
    if (level === 'warning' || level === 'error') process.stderr.write(`lapidary: ${text}\n`);
    else if (process.env['LAPIDARY_LOG']) process.stderr.write(`${level}: ${text}\n`);
}

async function openBuiltin(): Promise<ByteSource[]> {
    if ((await kindOfPath(builtinFile)) !== 'file') {
        throw new LapidaryError('not_found', `the built-in model is missing: there is no file '${builtinFile}'`);
    }
    return await openFile(builtinFile);
}

async function kindOfPath(file: string): Promise<'file' | 'folder' | undefined> {
    try {
        return (await fs.stat(file)).isDirectory() ? 'folder' : 'file';
    } catch {
        return undefined;
    }
}

/** These can only be meant as paths, so there is no point in looking for them in a store. */
function looksLikePath(argument: string): boolean {
    return /^[.~/\\]|\\|\.gguf$/i.test(argument);
}
