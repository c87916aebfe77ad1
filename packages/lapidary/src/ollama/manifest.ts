// An Ollama manifest: which blobs make up a model. It is a file that anybody may have written, so every member is
// checked before it is believed.
import { LapidaryError } from '../error.js';
import { isObject, optionalString, parseObject, type JsonObject, type JsonValue } from '../json.js';

export interface Layer {
    mediaType: string;
    /** Always `sha256:` and 64 lowercase digits. */
    digest: string;
    size: number;
}

export interface Manifest {
    config: Layer | undefined;
    layers: Layer[];
}

/** What the config blob says, as far as people want to see it. */
export interface ModelConfig {
    format: string | undefined;
    family: string | undefined;
    parameters: string | undefined;
    quantization: string | undefined;
}

const digestPattern = /^sha256[:-]([0-9a-fA-F]{64})$/;
const layerPrefix = 'application/vnd.ollama.image.';

export function parseManifest(text: string, what: string): Manifest {
    const json = parseObject(text, what);
    const layers = json['layers'];
    if (!Array.isArray(layers)) throw new LapidaryError('bad_file', `${what} has no list of layers`);
    const config = json['config'];
    return {
        config: config === undefined || config === null ? undefined : parseLayer(config, what),
        layers: layers.map((layer) => parseLayer(layer, what)),
    };
}

function parseLayer(value: JsonValue, what: string): Layer {
    if (!isObject(value)) throw new LapidaryError('bad_file', `${what} has a layer that is not an object`);
    const { mediaType, digest, size } = value;
    if (typeof mediaType !== 'string') throw new LapidaryError('bad_file', `${what} has a layer without a media type`);
    // Also the fence around the blobs folder: nothing else becomes a file name.
    const match = typeof digest === 'string' ? digestPattern.exec(digest) : null;
    if (!match?.[1]) throw new LapidaryError('bad_file', `${what} has a layer without a SHA-256 digest`);
    if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
        throw new LapidaryError('bad_file', `${what} has a layer without a size`);
    }
    return { mediaType, digest: `sha256:${match[1].toLowerCase()}`, size };
}

/** The layers of one kind: `model`, `projector`, `params`, … */
export function layersOf(manifest: Manifest, kind: string): Layer[] {
    return manifest.layers.filter((layer) => layer.mediaType === layerPrefix + kind);
}

export function blobName(layer: Layer): string {
    return layer.digest.replace(':', '-');
}

export function parseConfig(json: JsonObject): ModelConfig {
    return {
        format: optionalString(json, 'model_format'),
        family: optionalString(json, 'model_family'),
        parameters: optionalString(json, 'model_type'),
        quantization: optionalString(json, 'file_type'),
    };
}

/** A sentence when this is not a model in a GGUF file, the only kind we read. */
export function whyNotGguf(manifest: Manifest, config: ModelConfig, name: string): string | undefined {
    if (config.format !== undefined && config.format !== 'gguf') {
        return `'${name}' is a ${config.format} model; only models in GGUF files can be read`;
    }
    if (layersOf(manifest, 'tensor').length > 0) {
        return `'${name}' is a safetensors (MLX) model; only models in GGUF files can be read`;
    }
    if (layersOf(manifest, 'model').length === 0) return `'${name}' has no model file among its layers`;
    return undefined;
}
