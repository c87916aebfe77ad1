// A repository of Hugging Face's: which GGUF files it has, how large they are and what they must hash to. All of it was
// written by strangers, so every member is looked at before it is believed, and lists have an end.
import { canRead, type Licence } from '../catalogue/catalogue.js';
import { isAuxiliary, isProjector, quantisationOf, rankQuantisation } from '../catalogue/quantisation.js';
import { LapidaryError } from '../error.js';
import { isObject, optionalString, parseObject, type JsonObject, type JsonValue } from '../json.js';
import { ask, type AskOptions } from './ask.js';
import { below, headersFor, type Places } from './endpoints.js';
import { licenceOf } from './licence.js';
import { isFilePath, isRepository } from './reference.js';

export interface HubFile {
    /** In the repository. */
    path: string;
    /** Undefined where the answer does not say. */
    bytes: number | undefined;
    sha256: string | undefined;
}

/** A model in a repository: one file, or all the pieces of a split one. */
export interface HubModel {
    /** The first piece's path: what to ask for. */
    file: string;
    quantisation: string | undefined;
    bytes: number | undefined;
    /** In order. */
    files: HubFile[];
}

export interface HubRepository {
    /** `OWNER/REPO` */
    repository: string;
    /** For people. */
    page: string;
    /** The commit, so that what is downloaded is what was looked at; undefined in search results that do not tell. */
    revision: string | undefined;
    /** Nothing comes without an account whose owner agreed to something. */
    gated: boolean;
    downloads: number | undefined;
    licence: Licence | undefined;
    /** `gemma4`, as the hub read it in the files. */
    architecture: string | undefined;
    /** Whether the engine runs it; undefined where the architecture is not known. */
    readable: boolean | undefined;
    /** The best first, as far as names tell. */
    models: HubModel[];
    /** For images and sound: beside the model, and not needed for text. */
    projectors: HubFile[];
}

// There are repositories with thousands of files; none with more is a place for models.
const mostFiles = 20_000;
const mostPieces = 1000;

export async function listRepository(
    repository: string,
    places: Places,
    options: AskOptions & { revision?: string } = {},
): Promise<HubRepository> {
    if (!isRepository(repository)) {
        throw new LapidaryError('invalid_argument', `'${repository}' is not the name of a repository (OWNER/REPO)`);
    }
    const { revision, ...rest } = options;
    const at = revision === undefined ? [] : ['revision', revision];
    const url = below(places.huggingface, 'api', 'models', ...repository.split('/'), ...at);
    url.searchParams.set('blobs', 'true');
    const what = `the model ${repository}${revision === undefined ? '' : ` at ${revision}`}`;
    const { text } = await ask(url, what, { ...rest, headers: headersFor(url, places) });
    const found = parseRepository(parseObject(text, `the answer about ${repository}`), places);
    if (!found) throw new LapidaryError('bad_file', `${url.host} does not answer about ${repository} as Hugging Face does`);
    return { ...found, repository };
}

/** Undefined when it is not the description of a repository. */
export function parseRepository(json: JsonObject, places: Places): HubRepository | undefined {
    const id = optionalString(json, 'id') ?? optionalString(json, 'modelId');
    if (id === undefined || !isRepository(id)) return undefined;
    const gguf = isObject(json['gguf']) ? json['gguf'] : {};
    const architecture = shortText(gguf['architecture']);
    const files = filesOf(json['siblings']);
    const { sha, downloads, gated } = json;
    const page = below(places.huggingface, ...id.split('/')).href;
    return {
        repository: id,
        page,
        revision: typeof sha === 'string' && /^[0-9a-f]{40,64}$/.test(sha) ? sha : undefined,
        gated: gated !== undefined && gated !== false && gated !== null,
        downloads: typeof downloads === 'number' && downloads >= 0 ? downloads : undefined,
        licence: licenceOf(json, page),
        architecture,
        readable: architecture === undefined ? undefined : canRead(architecture),
        models: groupModels(files),
        projectors: files.filter(({ path }) => isProjector(path)),
    };
}

/** What of a repository is a GGUF file. */
function filesOf(siblings: JsonValue | undefined): HubFile[] {
    if (!Array.isArray(siblings)) return [];
    return siblings.slice(0, mostFiles).flatMap((entry): HubFile[] => {
        if (!isObject(entry)) return [];
        const { rfilename: path, size, lfs } = entry;
        if (typeof path !== 'string' || !/\.gguf$/i.test(path) || !isFilePath(path)) return [];
        const large = isObject(lfs) ? lfs : {};
        const digest = large['sha256'] ?? large['oid'];
        return [
            {
                path,
                bytes: byteCount(size) ?? byteCount(large['size']),
                sha256: typeof digest === 'string' && /^[0-9a-f]{64}$/.test(digest) ? digest : undefined,
            },
        ];
    });
}

/** Puts the pieces of split models together; what lacks a piece is left out. */
function groupModels(files: readonly HubFile[]): HubModel[] {
    const models: HubModel[] = [];
    const byPath = new Map(files.map((file) => [file.path, file]));
    for (const first of files) {
        if (isAuxiliary(first.path)) continue;
        const split = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/is.exec(first.path);
        if (split && split[2] !== '00001') continue;
        const count = split ? Number(split[3]) : 1;
        if (count < 1 || count > mostPieces) continue;
        const names = split
            ? Array.from({ length: count }, (_, i) => `${split[1]}-${String(i + 1).padStart(5, '0')}-of-${split[3]}.gguf`)
            : [first.path];
        const pieces = names.flatMap((name) => byPath.get(name) ?? []);
        if (pieces.length !== count) continue;
        models.push({
            file: first.path,
            quantisation: quantisationOf(first.path),
            bytes: pieces.reduce<number | undefined>((sum, { bytes }) => sum === undefined || bytes === undefined ? undefined : sum + bytes, 0),
            files: pieces,
        });
    }
    return models.sort((a, b) => rankQuantisation(a.quantisation) - rankQuantisation(b.quantisation) || (a.bytes ?? 0) - (b.bytes ?? 0));
}

function byteCount(value: JsonValue | undefined): number | undefined {
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function shortText(value: JsonValue | undefined): string | undefined {
    return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value) ? value : undefined;
}
