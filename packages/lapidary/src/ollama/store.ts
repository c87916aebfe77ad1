// The models Ollama has on disk: `manifests/<host>/<namespace>/<model>/<tag>` name blobs in `blobs/sha256-<hex>`.
// We only ever read.
import { LapidaryError } from '../error.js';
import { parseObject, type JsonObject } from '../json.js';
import { openAll } from '../sources/shards.js';
import type { ByteSource } from '../sources/source.js';
import type { Directory } from './directory.js';
import {
    blobName,
    layersOf,
    parseConfig,
    parseManifest,
    whyNotGguf,
    type Layer,
    type Manifest,
    type ModelConfig,
} from './manifest.js';
import { formatModelName, isValidPart, type ModelName } from './name.js';

// Manifests are a few hundred bytes; those of models stored tensor by tensor some hundred KiB.
const largestText = 4 * 1024 * 1024;

// A store with more models than this is not a store.
const mostModels = 20_000;

export interface ListedModel {
    name: string;
    /** All layers together, as `ollama list` counts. */
    bytes: number;
    family?: string;
    parameters?: string;
    quantization?: string;
    /** Why it cannot be opened, when that is known already. */
    problem?: string;
}

export interface ResolvedModel {
    name: string;
    config: ModelConfig;
    /** One layer, or the pieces of a split model. */
    models: Layer[];
    projectors: Layer[];
    adapters: Layer[];
    /** Every layer with the config: what a verification goes through. */
    all: Layer[];
    /** Default options that came with the model, such as `temperature`. */
    params: JsonObject;
    system: string | undefined;
}

const unknownConfig: ModelConfig = {
    format: undefined,
    family: undefined,
    parameters: undefined,
    quantization: undefined,
};

export class OllamaStore {
    constructor(readonly directory: Directory) {}

    /** Every model in the store; a broken one is listed with its problem. */
    async list(): Promise<ListedModel[]> {
        const listed: ListedModel[] = [];
        for (const name of await this.names()) listed.push(await this.describe(name));
        return listed.sort((a, b) => (a.name < b.name ? -1 : 1));
    }

    /** Undefined when the store has no such model; a LapidaryError when it has one that cannot be used. */
    async resolve(wanted: ModelName): Promise<ResolvedModel | undefined> {
        const found = await this.findManifest(wanted);
        if (!found) return undefined;
        const name = formatModelName(found.name);
        const manifest = parseManifest(found.text, `the manifest of '${name}'`);
        const config = await this.config(manifest, name);
        const problem = whyNotGguf(manifest, config, name);
        if (problem !== undefined) throw new LapidaryError('unsupported', problem);

        let params: JsonObject = {};
        for (const layer of layersOf(manifest, 'params')) {
            params = { ...params, ...parseObject(await this.blobText(layer), `the parameters of '${name}'`) };
        }
        const [system] = layersOf(manifest, 'system');
        return {
            name,
            config,
            models: layersOf(manifest, 'model'),
            projectors: layersOf(manifest, 'projector'),
            adapters: layersOf(manifest, 'adapter'),
            all: manifest.config ? [manifest.config, ...manifest.layers] : manifest.layers,
            params,
            system: system ? await this.blobText(system) : undefined,
        };
    }

    /** Texts that come with a model: its licences, or Ollama's template of a prompt. */
    async texts(model: ResolvedModel, kind: 'license' | 'template'): Promise<string[]> {
        const texts: string[] = [];
        for (const layer of layersOf({ config: undefined, layers: model.all }, kind)) texts.push(await this.blobText(layer));
        return texts;
    }

    /** The bytes of layers, after their sizes were checked. */
    async openLayers(layers: readonly Layer[]): Promise<ByteSource[]> {
        return await openAll(layers, (layer) => this.openBlob(layer));
    }

    private async names(): Promise<ModelName[]> {
        const names: ModelName[] = [];
        for (const host of await this.folders([], 'host')) {
            for (const namespace of await this.folders([host], 'namespace')) {
                for (const model of await this.folders([host, namespace], 'model')) {
                    for (const tag of await this.entries([host, namespace, model], 'file', 'tag')) {
                        if (names.length < mostModels) names.push({ host, namespace, model, tag });
                    }
                }
            }
        }
        return names;
    }

    private async folders(path: readonly string[], part: keyof ModelName): Promise<string[]> {
        return await this.entries(path, 'directory', part);
    }

    /** Only names Ollama could have written: no .DS_Store, nothing half-written. */
    private async entries(
        path: readonly string[],
        kind: 'file' | 'directory',
        part: keyof ModelName,
    ): Promise<string[]> {
        const entries = await this.directory.list(['manifests', ...path]);
        return entries
            .filter((entry) => entry.kind === kind && isValidPart(part, entry.name))
            .map((entry) => entry.name)
            .sort();
    }

    private async describe(modelName: ModelName): Promise<ListedModel> {
        const name = formatModelName(modelName);
        const listed: ListedModel = { name, bytes: 0 };
        try {
            const text = await this.text(manifestPath(modelName), `the manifest of '${name}'`);
            const manifest = parseManifest(text ?? '', `the manifest of '${name}'`);
            listed.bytes = manifest.layers.reduce((sum, layer) => sum + layer.size, manifest.config?.size ?? 0);
            const config = await this.config(manifest, name);
            if (config.family !== undefined) listed.family = config.family;
            if (config.parameters !== undefined) listed.parameters = config.parameters;
            if (config.quantization !== undefined) listed.quantization = config.quantization;
            const problem = whyNotGguf(manifest, config, name);
            if (problem !== undefined) throw new LapidaryError('unsupported', problem);
            // Opening checks that the blobs are there and complete.
            for (const source of await this.openLayers(layersOf(manifest, 'model'))) await source.close();
        } catch (error) {
            if (!(error instanceof LapidaryError)) throw error;
            listed.problem = error.message;
        }
        return listed;
    }

    /** Exactly this name first, then, as Ollama does, one that differs only in case. */
    private async findManifest(wanted: ModelName): Promise<{ name: ModelName; text: string } | undefined> {
        const what = `the manifest of '${formatModelName(wanted)}'`;
        const exact = await this.text(manifestPath(wanted), what);
        if (exact !== undefined) return { name: wanted, text: exact };
        const folded = manifestPath(wanted).join('/').toLowerCase();
        const name = (await this.names()).find((other) => manifestPath(other).join('/').toLowerCase() === folded);
        const text = name ? await this.text(manifestPath(name), what) : undefined;
        return name && text !== undefined ? { name, text } : undefined;
    }

    private async config(manifest: Manifest, name: string): Promise<ModelConfig> {
        if (!manifest.config) return unknownConfig;
        return parseConfig(parseObject(await this.blobText(manifest.config), `the configuration of '${name}'`));
    }

    private async openBlob(layer: Layer): Promise<ByteSource> {
        const name = blobName(layer);
        const source = await this.directory.open(['blobs', name]);
        if (!source) {
            const entries = await this.directory.list(['blobs']);
            const partial = entries.some((entry) => entry.name.startsWith(`${name}-partial`));
            throw new LapidaryError(
                'not_found',
                partial
                    ? `the blob ${name} is only partly downloaded; pull the model again`
                    : `the blob ${name} is missing in ${this.directory.label}; pull the model again`,
            );
        }
        if (source.size === layer.size) return source;
        await source.close();
        throw new LapidaryError(
            'truncated',
            `the blob ${name} has ${source.size} bytes where the manifest says ${layer.size}; pull the model again`,
        );
    }

    private async blobText(layer: Layer): Promise<string> {
        return await readText(await this.openBlob(layer), `the blob ${blobName(layer)}`);
    }

    private async text(path: readonly string[], what: string): Promise<string | undefined> {
        const source = await this.directory.open(path);
        return source ? await readText(source, what) : undefined;
    }
}

function manifestPath({ host, namespace, model, tag }: ModelName): string[] {
    return ['manifests', host, namespace, model, tag];
}

async function readText(source: ByteSource, what: string): Promise<string> {
    try {
        if (source.size > largestText) {
            throw new LapidaryError('limit', `${what} is ${source.size} bytes large, which cannot be right`);
        }
        return new TextDecoder().decode(await source.read(0, source.size));
    } finally {
        await source.close();
    }
}
