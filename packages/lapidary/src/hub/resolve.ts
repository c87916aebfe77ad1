// From what a person wrote to what has to be downloaded: addresses, sizes, digests, licence. Nothing is downloaded yet.
import { entryOfFile, findEntry, whyUnreadable, type CatalogueEntry, type CatalogueSource, type Licence } from '../catalogue/catalogue.js';
import { quantisationOf } from '../catalogue/quantisation.js';
import { LapidaryError } from '../error.js';
import type { JsonObject } from '../json.js';
import { parseModelName, type ModelName } from '../ollama/name.js';
import { askRegistry } from '../ollama/registry.js';
import { HttpSource, lastSegment } from '../sources/http.js';
import { shardUrls } from '../sources/shards.js';
import type { AskOptions } from './ask.js';
import { below, headersFor, placesOf, type Endpoints, type Places } from './endpoints.js';
import { licenceOfText } from './licence.js';
import { parseReference, type HubReference } from './reference.js';
import { listRepository, type HubFile, type HubModel, type HubRepository } from './repository.js';

export interface ModelFile {
    /** An adapter that belongs to the model takes part in every answer. */
    role: 'model' | 'adapter' | 'projector';
    /** What it is called where it comes from. */
    name: string;
    url: string;
    /** Undefined where the source does not say. */
    bytes: number | undefined;
    /** What it must hash to; without one it can only be "not checked". */
    sha256: string | undefined;
    /** Tells one version of it from another where there is no digest. */
    validator: string | undefined;
    /** What must be sent to get it. Never kept. */
    headers?: Record<string, string>;
}

export interface ResolvedModel {
    /** What it is kept under, and answers to. */
    name: string;
    /** For people. */
    title: string;
    /** What leads here again. */
    reference: string;
    source: 'huggingface' | 'ollama' | 'url' | 'builtin';
    /** The row of the catalogue, when it is one of them. */
    entry: CatalogueEntry | undefined;
    /** Where people can read about it. */
    page: string | undefined;
    /** The commit at Hugging Face. */
    revision: string | undefined;
    quantisation: string | undefined;
    architecture: string | undefined;
    /** Everything that has to be there, in order. Empty for what comes with Lapidary. */
    files: ModelFile[];
    /** Files for images and sound that lie beside it; it works without them. */
    projectors: ModelFile[];
    /** Of `files` together; undefined where a source does not say. */
    bytes: number | undefined;
    /** Whether everything will be compared with a digest. */
    checked: boolean;
    licence: Licence | undefined;
    /** It comes only to those who have an account and agreed to something there. */
    gated: boolean;
    /** Why it cannot be used here though it could be downloaded. */
    problem: string | undefined;
    /** The other models at the same place. */
    others: HubModel[];
    /** Options and instructions it should be used with, where its source has such. */
    params: JsonObject;
    system: string | undefined;
}

export interface ResolveOptions extends AskOptions {
    endpoints?: Endpoints;
}

/** Each piece of a split model is asked for its size, so there is a limit to how many. */
const mostUrlPieces = 200;

export async function resolveModel(text: string, options: ResolveOptions = {}): Promise<ResolvedModel> {
    const { endpoints, ...rest } = options;
    const places = placesOf(endpoints);
    const reference = parseReference(text, places);
    switch (reference.kind) {
        case 'huggingface':
            return await resolveHub(reference, places, rest);
        case 'ollama':
            return await resolveOllama(reference.name, places, rest);
        case 'url':
            return await resolveUrl(reference.url, places, rest);
        case 'name': {
            const entry = findEntry(reference.name);
            if (entry) return await resolveEntry(entry, places, rest);
            if (reference.ollama) return await resolveOllama(reference.ollama, places, rest);
            const how = "'lapidary search WORDS' looks on Hugging Face";
            throw new LapidaryError('not_found', `there is no model called '${reference.name}'; ${how}`);
        }
    }
}

/** From the first of its sources that has it. */
async function resolveEntry(entry: CatalogueEntry, places: Places, options: AskOptions): Promise<ResolvedModel> {
    let refused: unknown;
    for (const source of entry.sources) {
        try {
            // Where one is out of reach the others probably are, and nobody wants to wait for all of them in turn.
            const patience = refused === undefined ? options : { ...options, retries: 0 };
            const found = await resolveSource(source, entry, places, patience);
            const { id: name, title, quantisation } = entry;
            return { ...found, name, title, entry, reference: name, quantisation: found.quantisation ?? quantisation, licence: found.licence ?? entry.licence };
        } catch (error) {
            if (error instanceof LapidaryError && error.code === 'cancelled') throw error;
            refused ??= error; // the best source's reason says most
        }
    }
    throw refused;
}

async function resolveSource(
    source: CatalogueSource,
    entry: CatalogueEntry,
    places: Places,
    options: AskOptions,
): Promise<ResolvedModel> {
    if (source.kind === 'builtin') return builtin(entry);
    if (source.kind === 'ollama') return await resolveOllama(parseModelName(source.name), places, options);
    const { repository, file } = source;
    return await resolveHub({ kind: 'huggingface', repository }, places, options, file);
}

function builtin(entry: CatalogueEntry): ResolvedModel {
    return {
        ...nothing(),
        name: entry.id,
        title: entry.title,
        reference: entry.id,
        source: 'builtin',
        entry,
        architecture: entry.architecture,
        bytes: 0,
        checked: true,
    };
}

/** `preferred`: a file that should be there, and need not be. */
async function resolveHub(
    { repository, revision, file, quantisation }: HubReference,
    places: Places,
    options: AskOptions,
    preferred?: string,
): Promise<ResolvedModel> {
    const found = await listRepository(repository, places, { ...options, ...(revision === undefined ? {} : { revision }) });
    const model = chooseModel(found, { file, quantisation, preferred });
    const asFile = (role: ModelFile['role']) => (listed: HubFile) => hubFile(listed, role, found, revision, places);
    const files = model.files.map(asFile('model'));
    const { architecture, readable } = found;
    const where = `hf:${repository}/${model.file}${revision === undefined ? '' : `@${revision}`}`;
    return {
        ...nothing(),
        name: nameOfFile(model.file),
        title: titleOfFile(model.file),
        reference: where,
        source: 'huggingface',
        entry: undefined,
        page: found.page,
        revision: found.revision,
        quantisation: model.quantisation,
        architecture,
        files,
        projectors: found.projectors.map(asFile('projector')),
        bytes: model.bytes,
        checked: files.every(({ sha256 }) => sha256 !== undefined),
        licence: found.licence,
        gated: found.gated,
        problem: readable === false && architecture !== undefined ? whyUnreadable(architecture) : undefined,
        others: found.models.filter((other) => other !== model),
    };
}

function hubFile(
    { path, bytes, sha256 }: HubFile,
    role: ModelFile['role'],
    { repository, revision }: HubRepository,
    asked: string | undefined,
    places: Places,
): ModelFile {
    const parts = [...repository.split('/'), 'resolve', revision ?? asked ?? 'main', ...path.split('/')];
    const url = below(places.huggingface, ...parts);
    return {
        role,
        name: path.split('/').pop() ?? path,
        url: url.href,
        bytes,
        sha256,
        // A commit never changes.
        validator: sha256 ?? revision,
        headers: headersFor(url, places),
    };
}

function chooseModel(
    { repository, models }: HubRepository,
    { file, quantisation, preferred }: { file: string | undefined; quantisation: string | undefined; preferred: string | undefined },
): HubModel {
    const [best] = models;
    if (!best) throw new LapidaryError('not_found', `${repository} has no GGUF file that is a model; look for one with "GGUF" in its name`);
    const are = () => models.slice(0, 6).map((model) => model.quantisation ?? model.file).join(', ');
    if (file !== undefined) {
        const named = models.find((model) => model.files.some(({ path }) => path === file));
        if (!named) throw new LapidaryError('not_found', `${repository} has no model file '${file}'; there are ${are()}`);
        return named;
    }
    if (quantisation !== undefined) {
        const quantised = models.find((model) => model.quantisation === quantisation);
        if (!quantised) throw new LapidaryError('not_found', `${repository} has no ${quantisation}; there are ${are()}`);
        return quantised;
    }
    return models.find((model) => model.file === preferred) ?? best;
}

async function resolveOllama(wanted: ModelName, places: Places, options: AskOptions): Promise<ResolvedModel> {
    const found = await askRegistry(wanted, places, options);
    const { name, config, headers } = found;
    const page = `https://ollama.com/${wanted.namespace}/${wanted.model}:${wanted.tag}`;
    const asFile = (role: ModelFile['role']) => (layer: { digest: string; size: number }): ModelFile => ({
        role,
        name: `${wanted.model}-${wanted.tag}${role === 'model' ? '' : `-${role}`}.gguf`,
        url: found.urlOf({ ...layer, mediaType: '' }).href,
        bytes: layer.size,
        sha256: layer.digest.slice('sha256:'.length),
        validator: layer.digest,
        headers,
    });
    const files = [...found.models.map(asFile('model')), ...found.adapters.map(asFile('adapter'))];
    const { family } = config;
    return {
        ...nothing(),
        name,
        title: name,
        reference: `ollama:${name}`,
        source: 'ollama',
        entry: undefined,
        page,
        quantisation: config.quantization,
        architecture: family,
        files,
        projectors: found.projectors.map(asFile('projector')),
        bytes: files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
        checked: true,
        licence: found.licence === undefined ? undefined : licenceOfText(found.licence, page),
        problem: family === undefined ? undefined : whyUnreadable(family),
        params: found.params,
        system: found.system,
    };
}

/** Any address whose server answers ranges; of a split model, the first piece's. */
async function resolveUrl(url: URL, places: Places, { signal }: AskOptions): Promise<ResolvedModel> {
    url.hash = '';
    const urls = shardUrls(url);
    if (urls.length > mostUrlPieces) {
        throw new LapidaryError('limit', `'${lastSegment(url)}' claims ${urls.length} pieces; at most ${mostUrlPieces} are fetched`);
    }
    const files: ModelFile[] = [];
    for (const piece of urls) {
        const headers = headersFor(piece, places);
        const source = await HttpSource.open(piece, { headers, ...(signal ? { signal } : {}) });
        await source.close();
        files.push({
            role: 'model',
            name: lastSegment(piece),
            url: piece.href,
            bytes: source.size,
            sha256: source.promisedSha256,
            validator: source.etag ?? source.modified ?? undefined,
            headers,
        });
    }
    const fileName = lastSegment(url);
    return {
        ...nothing(),
        name: nameOfFile(fileName),
        title: titleOfFile(fileName),
        reference: url.href,
        source: 'url',
        quantisation: quantisationOf(fileName),
        files,
        bytes: files.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
        checked: files.every(({ sha256 }) => sha256 !== undefined),
    };
}

/** The file's own name, without what every file has: what people type. */
export function nameOfFile(path: string): string {
    const stem = (path.split('/').pop() ?? path).replace(/\.gguf$/i, '').replace(/-00001-of-\d{5}$/, '');
    return stem.slice(0, 120) || 'model';
}

function titleOfFile(path: string): string {
    const entry = entryOfFile(path);
    const quantisation = quantisationOf(path);
    return entry && quantisation ? `${entry.title} ${quantisation}` : nameOfFile(path);
}


function nothing() {
    return {
        page: undefined,
        revision: undefined,
        quantisation: undefined,
        architecture: undefined,
        entry: undefined,
        files: [],
        projectors: [],
        licence: undefined,
        gated: false,
        problem: undefined,
        others: [],
        params: {},
        system: undefined,
    };
}
