// What is known about a model that is kept here: a small file beside its bytes. It lies on disks that others can write
// to, so reading it believes nothing.
import type { CacheStorageFs } from '../cache/fs.js';
import { shortName } from '../cache/checksum.js';
import { LapidaryError } from '../error.js';
import { isObject, optionalString, type JsonObject, type JsonValue } from '../json.js';
import type { ModelFile, ResolvedModel } from './resolve.js';

/** What is known of a model that was downloaded, wherever that is written. */
export interface Origin {
    name: string;
    title: string;
    /** What leads to where it came from. */
    reference: string;
    source: 'huggingface' | 'ollama' | 'url';
    page: string | undefined;
    revision: string | undefined;
    quantisation: string | undefined;
    architecture: string | undefined;
    licence: { name: string; url: string } | undefined;
    params: JsonObject;
    system: string | undefined;
}

export interface Manifest extends Origin {
    /** Milliseconds since 1970. */
    created: number;
    files: Omit<ModelFile, 'headers'>[];
}

const ending = '.model';
const mostBytes = 1024 * 1024;
const mostFiles = 1100;
const mostManifests = 2000;
const formatVersion = 1;

export function manifestOf(model: ResolvedModel, created: number): Manifest {
    const { name, title, reference, source, page, revision, quantisation, architecture, licence, files, params, system } = model;
    if (source === 'builtin') throw new LapidaryError('invalid_argument', `'${name}' comes with Lapidary: there is nothing to download`);
    return {
        name,
        title,
        reference,
        source,
        page,
        revision,
        quantisation,
        architecture,
        licence: licence && { name: licence.name, url: licence.url },
        created,
        files: files.map(({ role, name: file, url, bytes, sha256, validator }) => ({ role, name: file, url, bytes, sha256, validator })),
        params,
        system,
    };
}

/** A file name can hold only a part of a model’s name, so a hash keeps those apart that would look the same. */
export function manifestFile(name: string): string {
    const readable = name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 60) || 'model';
    return `${readable}.${shortName(name.toLowerCase())}${ending}`;
}

export async function writeManifest(fs: CacheStorageFs, manifest: Manifest): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify({ lapidary: formatVersion, ...manifest }, null, 1));
    const target = manifestFile(manifest.name);
    const made = `${target}.new`;
    await writeWhole(fs, made, bytes);
    if (await fs.move(made, target)) return;
    // Nothing can be renamed here. Should this be interrupted, half a manifest is left, which counts as none.
    await writeWhole(fs, target, bytes);
    await fs.remove(made);
}

async function writeWhole(fs: CacheStorageFs, name: string, bytes: Uint8Array): Promise<void> {
    const file = await fs.openWrite(name);
    try {
        await file.truncate(0);
        await file.write(0, bytes);
        await file.flush();
    } finally {
        await file.close();
    }
}

export async function readManifests(fs: CacheStorageFs): Promise<Manifest[]> {
    const names = (await fs.list()).map(({ name }) => name).filter((name) => name.endsWith(ending));
    const manifests: Manifest[] = [];
    for (const name of names.sort().slice(0, mostManifests)) {
        const bytes = await fs.readWhole(name, mostBytes).catch(() => undefined);
        const manifest = bytes && parseManifest(bytes);
        if (manifest && manifestFile(manifest.name) === name) manifests.push(manifest);
    }
    return manifests;
}

export function parseManifest(bytes: Uint8Array): Manifest | undefined {
    let json: unknown;
    try {
        json = JSON.parse(new TextDecoder().decode(bytes));
    } catch {
        return undefined;
    }
    if (!isObject(json) || json['lapidary'] !== formatVersion) return undefined;
    const { name, title, reference, source, created, files, params } = json;
    const known = source === 'huggingface' || source === 'ollama' || source === 'url';
    if (typeof name !== 'string' || name === '' || typeof reference !== 'string' || !known) return undefined;
    if (!Array.isArray(files) || files.length === 0 || files.length > mostFiles) return undefined;
    const parsed = files.flatMap(parseFile);
    if (parsed.length !== files.length) return undefined;
    const licence = isObject(json['licence']) ? json['licence'] : {};
    const [licenceName, licenceUrl] = [optionalString(licence, 'name'), optionalString(licence, 'url')];
    return {
        name,
        title: typeof title === 'string' ? title : name,
        reference,
        source,
        page: optionalString(json, 'page'),
        revision: optionalString(json, 'revision'),
        quantisation: optionalString(json, 'quantisation'),
        architecture: optionalString(json, 'architecture'),
        licence: licenceName === undefined ? undefined : { name: licenceName, url: licenceUrl ?? '' },
        created: typeof created === 'number' ? created : 0,
        files: parsed,
        params: isObject(params) ? params : {},
        system: optionalString(json, 'system'),
    };
}

function parseFile(value: JsonValue): Manifest['files'] {
    if (!isObject(value)) return [];
    const { role, name, url, bytes, sha256 } = value;
    if (role !== 'model' && role !== 'adapter' && role !== 'projector') return [];
    if (typeof name !== 'string' || typeof url !== 'string') return [];
    const digest = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256) ? sha256 : undefined;
    if (sha256 !== undefined && sha256 !== null && digest === undefined) return [];
    const size = typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined;
    return [{ role, name, url, bytes: size, sha256: digest, validator: optionalString(value, 'validator') }];
}
