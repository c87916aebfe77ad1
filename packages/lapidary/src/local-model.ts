// A model on this computer's disk: a path, the name of one that was downloaded or of an Ollama model, or `builtin`.
import { existsSync, promises as fs } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { findEntry } from './catalogue/catalogue.js';
import { LapidaryError } from './error.js';
import type { KeptModel } from './hub/kept.js';
import { keptModelsHere, modelsFolder } from './hub/kept-node.js';
import type { JsonObject } from './json.js';
import { formatModelName, parseModelName, tryParseModelName, type ModelName } from './ollama/name.js';
import { findStores, storeCandidates, thisComputer } from './ollama/node.js';
import type { OllamaStore, ResolvedModel } from './ollama/store.js';
import { openFile } from './sources/file.js';
import { storyteller } from './storyteller.js';
import { openKept, openOllama, type OpenedSource } from './sources/open.js';

/** Beside the library, where `make build` and npm put it; in a clone that was only compiled, where it comes from. */
export const builtinFile = [storyteller, new URL('../../../models/storyteller-q4_k_m.gguf', import.meta.url)]
    .map((url) => fileURLToPath(url))
    .reduce((first, second) => (existsSync(first) ? first : second));

/** Who opens it closes its sources. */
export interface LocalModel extends OpenedSource {
    /** Where its bytes are, in words. */
    origin: string;
    ollama?: { store: OllamaStore; model: ResolvedModel };
    kept?: KeptModel;
    /** Options and instructions that came with it. */
    params?: JsonObject;
    system?: string | undefined;
}

/** A file that exists wins over everything that merely could have that name. */
export async function openLocalModel(name: string): Promise<LocalModel> {
    const tried: string[] = [];
    const kind = await kindOfPath(name);
    if (kind === 'file') {
        const projector = await projectorBeside(path.resolve(name));
        const openProjector = projector === undefined ? {} : { openProjector: async () => await openFile(projector) };
        return { sources: await openFile(name), origin: path.resolve(name), ...openProjector };
    }
    tried.push(kind === 'folder' ? `'${name}' is a folder` : `there is no file '${name}'`);
    const entry = findEntry(name);
    if (name === 'builtin' || entry?.sources[0]?.kind === 'builtin') return await openBuiltin();

    const kept = /^[.~/\\]/.test(name) ? undefined : await keptModelsHere().find(name);
    if (kept?.state === 'complete') return await openDownloaded(kept);
    const wanted = looksLikePath(name) ? undefined : tryParseModelName(name);
    if (wanted) {
        const stores = await findStores();
        // What the catalogue knows by a short name may be there under Ollama's.
        const same = entry?.sources.flatMap((source) => (source.kind === 'ollama' ? [parseModelName(source.name)] : [])) ?? [];
        for (const store of stores) {
            for (const known of [wanted, ...same]) {
                const model = await store.resolve(known);
                if (model) return await openResolved(store, model);
            }
        }
        tried.push(
            stores.length > 0
                ? `no Ollama model ${formatModelName(wanted)} in ${stores.map((store) => store.directory.label).join(', ')}`
                : `no Ollama models at ${storeCandidates(thisComputer()).join(', ')}`,
        );
    }
    if (kept) return await openDownloaded(kept); // which says what is missing
    throw new LapidaryError('not_found', `cannot find the model '${name}': ${tried.join(', and ')}`);
}

/** By name, whatever else is called so. */
export async function openKeptModel(name: string): Promise<LocalModel> {
    const kept = await keptModelsHere().find(name);
    if (kept) return await openDownloaded(kept);
    throw new LapidaryError('not_found', `there is no model '${name}' in ${modelsFolder()}; download it first`);
}

/** The same for a model that is known to have been downloaded. */
export async function openDownloaded(kept: KeptModel): Promise<LocalModel> {
    const opened = await openKept(keptModelsHere(), kept);
    const { params, system, name } = kept;
    return { ...opened, origin: `${name} in ${modelsFolder()}`, kept, params, system };
}

/** The same for a model that is known to be in a store. */
export async function openOllamaModel(store: OllamaStore, name: ModelName): Promise<LocalModel> {
    const model = await store.resolve(name);
    if (!model) throw new LapidaryError('not_found', `there is no Ollama model ${formatModelName(name)} any more`);
    return await openResolved(store, model);
}

async function openResolved(store: OllamaStore, model: ResolvedModel): Promise<LocalModel> {
    const opened = await openOllama(store, model);
    const { params, system } = model;
    return { ...opened, origin: `${model.name} in ${store.directory.label}`, ollama: { store, model }, params, system };
}

/**
 * A projector in the model's folder. Of several the one called most like the model; of one that does not belong to it the
 * engine will say so.
 */
export async function projectorBeside(model: string): Promise<string | undefined> {
    const folder = path.dirname(model);
    const names = (await fs.readdir(folder).catch(() => [])).filter((name) => /mmproj.*\.gguf$/i.test(name)).sort();
    if (names.includes(path.basename(model))) return undefined; // it is one itself
    const plain = (name: string) => name.toLowerCase().replace(/mmproj|\.gguf$/g, '').replace(/[^a-z0-9]/g, '');
    const wanted = plain(path.basename(model));
    const alike = (name: string) => {
        const text = plain(name);
        let length = 0;
        while (length < text.length && text[length] === wanted[length]) length++;
        return length;
    };
    const [best, second] = names.map((name) => ({ name, score: alike(name) })).sort((a, b) => b.score - a.score);
    if (!best || (second && second.score === best.score && best.score === 0)) return undefined;
    return path.join(folder, best.name);
}

async function openBuiltin(): Promise<LocalModel> {
    if ((await kindOfPath(builtinFile)) !== 'file') {
        throw new LapidaryError('not_found', `the built-in model is missing: there is no file '${builtinFile}'`);
    }
    return { sources: await openFile(builtinFile), name: 'builtin', origin: builtinFile };
}

async function kindOfPath(file: string): Promise<'file' | 'folder' | undefined> {
    try {
        return (await fs.stat(file)).isDirectory() ? 'folder' : 'file';
    } catch {
        return undefined;
    }
}

/** These can only be meant as paths, so there is no point in looking for them in a store. */
function looksLikePath(name: string): boolean {
    return /^[.~/\\]|\\|\.gguf$/i.test(name);
}
