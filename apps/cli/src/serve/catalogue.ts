// The models that may be asked for by name: the built-in one, the one given on the command line, those that were
// downloaded, and Ollama's. Nothing else: a request must not be able to name a file or an address.
import { createHash } from 'node:crypto';
import { promises as fs } from 'node:fs';
import path from 'node:path';
import {
    LapidaryError,
    formatModelName,
    parseModelName,
    tryParseModelName,
    type ListedModel,
    type ModelName,
    type OllamaStore,
} from 'lapidary';
import type { KeptModel } from 'lapidary/hub';
import { builtinFile, findStores, keptModelsHere, openDownloaded, openOllamaModel } from 'lapidary/node';
import { openModelBytes, type ModelBytes } from '../model-argument.js';

export interface CatalogueEntry {
    /** Under which name it is listed and answers. */
    id: string;
    bytes: number;
    modified: Date;
    /** SHA-256 in hexadecimal that changes when the model does. */
    digest: string;
    family?: string;
    parameters?: string;
    quantization?: string;
    open(signal?: AbortSignal): Promise<ModelBytes>;
}

/** Another name for a model; it may end in `*`. */
export type Alias = readonly [name: string, model: string];

const builtinName = 'builtin';

export class Catalogue {
    private constructor(
        private readonly given: CatalogueEntry | undefined,
        private readonly aliases: readonly Alias[],
    ) {}

    /** `argument` is MODEL as on the command line; it must exist, and so must what other names stand for. */
    static async create(argument?: string, aliases: readonly Alias[] = []): Promise<Catalogue> {
        const catalogue = new Catalogue(argument === undefined ? undefined : await givenEntry(argument), aliases);
        for (const [name, model] of aliases) {
            if (await catalogue.findOwn(model)) continue;
            throw new LapidaryError('not_found', `--alias ${name}=${model}: there is no model '${model}'`);
        }
        return catalogue;
    }

    /** What answers when a request names no model. */
    get defaultId(): string {
        return this.given?.id ?? builtinName;
    }

    async list(): Promise<CatalogueEntry[]> {
        const entries = new Map<string, CatalogueEntry>();
        const add = (entry: CatalogueEntry | undefined) => {
            if (entry && !entries.has(entry.id)) entries.set(entry.id, entry);
        };
        add(this.given);
        add(await builtinEntry());
        for (const model of await keptModelsHere().list()) {
            if (model.state === 'complete') add(keptEntry(model));
        }
        for (const store of await findStores()) {
            for (const model of await store.list()) {
                if (model.problem === undefined) add(await ollamaEntry(store, model));
            }
        }
        for (const [id, model] of this.aliases) {
            const entry = id.endsWith('*') ? undefined : await this.findOwn(model);
            if (entry) add({ ...entry, id });
        }
        return [...entries.values()];
    }

    /** A name of its own goes before another's. */
    async find(name: string): Promise<CatalogueEntry | undefined> {
        const own = await this.findOwn(name);
        if (own) return own;
        const stands = ([alias]: Alias) => (alias.endsWith('*') ? name.startsWith(alias.slice(0, -1)) : name === alias);
        const found = this.aliases.find(stands);
        return found && (await this.findOwn(found[1]));
    }

    private async findOwn(name: string): Promise<CatalogueEntry | undefined> {
        if (this.given && (name === this.given.id || name === `${this.given.id}:latest`)) return this.given;
        if (name === builtinName || name === `${builtinName}:latest`) return await builtinEntry();
        const kept = await keptModelsHere().find(name.replace(/:latest$/, ''));
        if (kept?.state === 'complete') return keptEntry(kept);
        const parsed = tryParseModelName(name);
        if (!parsed) return undefined;
        for (const store of await findStores()) {
            const resolved = await store.resolve(parsed);
            if (!resolved) continue;
            const { family, parameters, quantization } = resolved.config;
            return await ollamaEntry(store, {
                name: resolved.name,
                bytes: resolved.all.reduce((sum, layer) => sum + layer.size, 0),
                ...(family === undefined ? {} : { family }),
                ...(parameters === undefined ? {} : { parameters }),
                ...(quantization === undefined ? {} : { quantization }),
            });
        }
        return undefined;
    }
}

async function builtinEntry(): Promise<CatalogueEntry | undefined> {
    try {
        return await fileEntry(builtinName, builtinFile);
    } catch {
        return undefined; // it was not shipped
    }
}

async function fileEntry(id: string, file: string): Promise<CatalogueEntry> {
    const { size, mtime } = await fs.stat(file);
    return {
        id,
        bytes: size,
        modified: mtime,
        digest: sha256Hex(`${file} ${size} ${mtime.getTime()}`),
        open: () => openModelBytes(file),
    };
}

/** The model of --model under the name that people would use for it. */
async function givenEntry(argument: string): Promise<CatalogueEntry> {
    // Found and closed again: a wrong name should be told at the start, not to the first client.
    const { sources, origin, ollama, kept } = await openModelBytes(argument);
    await Promise.allSettled(sources.map((source) => source.close()));
    const bytes = sources.reduce((sum, source) => sum + source.size, 0);
    if (kept) return keptEntry(kept);
    const id = ollama?.model.name ?? (argument === builtinName ? argument : nameOfFile(argument));
    const isUrl = /^https?:/i.test(argument);
    const modified = isUrl || ollama ? new Date() : (await fs.stat(origin)).mtime;
    const digest = sha256Hex(`${origin} ${bytes}`);
    return { id, bytes, modified, digest, open: (signal) => openModelBytes(argument, signal) };
}

function nameOfFile(argument: string): string {
    const last = argument.split(/[?#]/)[0]?.split(/[/\\]/).pop() ?? '';
    const name = last.replace(/\.gguf$/i, '').replace(/-\d{5}-of-\d{5}$/, '');
    return name === '' ? 'model' : name;
}

function keptEntry(model: KeptModel): CatalogueEntry {
    const { name, have, bytes, created, architecture, quantisation, files } = model;
    return {
        id: name,
        bytes: bytes ?? have,
        modified: created,
        digest: sha256Hex(files.map(({ url, sha256 }) => sha256 ?? url).join(' ')),
        ...(architecture === undefined ? {} : { family: architecture }),
        ...(quantisation === undefined ? {} : { quantization: quantisation }),
        open: () => openDownloaded(model),
    };
}

async function ollamaEntry(store: OllamaStore, model: ListedModel): Promise<CatalogueEntry> {
    const name = parseModelName(model.name);
    const { digest, modified } = await manifestOf(store, name);
    const { bytes, family, parameters, quantization } = model;
    return {
        id: formatModelName(name),
        bytes,
        modified,
        digest,
        ...(family === undefined ? {} : { family }),
        ...(parameters === undefined ? {} : { parameters }),
        ...(quantization === undefined ? {} : { quantization }),
        open: () => openOllamaModel(store, name),
    };
}

/** Ollama names a model's version by the digest of its manifest, and its age by the age of that file. */
async function manifestOf(store: OllamaStore, name: ModelName): Promise<{ digest: string; modified: Date }> {
    const file = path.join(store.directory.label, 'manifests', name.host, name.namespace, name.model, name.tag);
    try {
        const [bytes, { mtime }] = await Promise.all([fs.readFile(file), fs.stat(file)]);
        return { digest: sha256Hex(bytes), modified: mtime };
    } catch {
        return { digest: sha256Hex(file), modified: new Date(0) }; // gone since it was listed
    }
}

function sha256Hex(data: string | Uint8Array): string {
    return createHash('sha256').update(data).digest('hex');
}
