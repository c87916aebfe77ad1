// Ollama's registry: the manifest of a name, and where its blobs are. It speaks as registries of container images do.
import { LapidaryError } from '../error.js';
import { isObject, parseObject, type JsonObject } from '../json.js';
import { ask, type AskOptions } from '../hub/ask.js';
import { below, type Places } from '../hub/endpoints.js';
import { isLoopback } from '../sources/follow.js';
import { RefusedError } from '../sources/refused.js';
import { layersOf, parseConfig, parseManifest, whyNotGguf, type Layer, type Manifest, type ModelConfig } from './manifest.js';
import { formatModelName, type ModelName } from './name.js';

export interface RegistryModel {
    /** The shortest spelling. */
    name: string;
    config: ModelConfig;
    models: Layer[];
    projectors: Layer[];
    adapters: Layer[];
    /** Options it should be used with, such as `temperature`. */
    params: JsonObject;
    system: string | undefined;
    /** The text of its licence. */
    licence: string | undefined;
    /** Where a layer's bytes are, and what must be sent to get them. */
    urlOf(layer: Layer): URL;
    headers: Record<string, string>;
}

const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';
const usualHost = 'registry.ollama.ai';
/** Manifests are a few hundred bytes; licences, the longest of the texts, some ten thousand. */
const mostText = 1024 * 1024;
const mostLayers = 1000;

/** A name that nobody has gives a `not_found`, one that cannot be used an `unsupported`. */
export async function askRegistry(wanted: ModelName, places: Places, options: AskOptions = {}): Promise<RegistryModel> {
    const name = formatModelName(wanted);
    const base = baseOf(wanted, places);
    const path = ['v2', wanted.namespace, wanted.model];
    const what = `the model '${name}'`;
    const headers: Record<string, string> = {};
    const get = async (url: URL, about: string, accept: Record<string, string> = {}) =>
        (await ask(url, about, { mostBytes: mostText, ...options, headers: { ...headers, ...accept } })).text;
    const manifestUrl = below(base, ...path, 'manifests', wanted.tag);
    let text: string;
    try {
        text = await get(manifestUrl, what, { accept: manifestType });
    } catch (error) {
        if (!(error instanceof RefusedError) || error.status !== 401) throw error;
        // Some registries want a token, which they give to anybody.
        headers['authorization'] = `Bearer ${await anonymousToken(error.challenge, base, options)}`;
        text = await get(manifestUrl, what, { accept: manifestType });
    }
    const manifest = parseManifest(text, `the manifest of '${name}'`);
    if (manifest.layers.length > mostLayers) {
        throw new LapidaryError('limit', `the manifest of '${name}' has ${manifest.layers.length} layers, which cannot be right`);
    }
    const urlOf = (layer: Layer) => below(base, ...path, 'blobs', layer.digest);
    const small = async (layer: Layer | undefined, about: string) => {
        if (!layer) return undefined;
        if (layer.size > mostText) throw new LapidaryError('limit', `${about} is ${layer.size} bytes long, which cannot be right`);
        return await get(urlOf(layer), about);
    };
    const config = await configOf(manifest, name, small);
    const problem = whyNotGguf(manifest, config, name);
    if (problem !== undefined) throw new LapidaryError('unsupported', problem);
    const params = await small(layersOf(manifest, 'params')[0], `the parameters of '${name}'`);
    return {
        name,
        config,
        models: layersOf(manifest, 'model'),
        projectors: layersOf(manifest, 'projector'),
        adapters: layersOf(manifest, 'adapter'),
        params: params === undefined ? {} : parseObject(params, `the parameters of '${name}'`),
        system: await small(layersOf(manifest, 'system')[0], `the system prompt of '${name}'`),
        licence: await small(layersOf(manifest, 'license')[0], `the licence of '${name}'`),
        urlOf,
        headers,
    };
}

async function configOf(
    manifest: Manifest,
    name: string,
    small: (layer: Layer | undefined, about: string) => Promise<string | undefined>,
): Promise<ModelConfig> {
    const text = await small(manifest.config, `the configuration of '${name}'`);
    return parseConfig(text === undefined ? {} : parseObject(text, `the configuration of '${name}'`));
}

/** Names without a host are those of the usual registry, wherever that is said to be. */
function baseOf({ host }: ModelName, places: Places): URL {
    if (host === usualHost) return places.ollama;
    const url = new URL(`https://${host}`);
    return isLoopback(url) ? new URL(`http://${host}`) : url;
}

/** `Bearer realm="https://…",service="…",scope="…"` → what that address gives. Nothing secret is sent there. */
async function anonymousToken(challenge: string | undefined, base: URL, options: AskOptions): Promise<string> {
    const refused = () => new RefusedError('io', `${base.host} wants an account for this model`, 401);
    const members = new Map([...(challenge ?? '').matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]));
    let realm: URL;
    try {
        realm = new URL(members.get('realm') ?? '');
    } catch {
        throw refused();
    }
    if (realm.protocol !== 'https:' && !(isLoopback(realm) && isLoopback(base))) throw refused();
    for (const key of ['service', 'scope']) realm.searchParams.set(key, members.get(key) ?? '');
    const { text } = await ask(realm, 'a token', options);
    const json: unknown = parseObject(text, 'the token');
    const token = isObject(json) ? (json['token'] ?? json['access_token']) : undefined;
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,8192}$/.test(token)) throw refused();
    return token;
}
