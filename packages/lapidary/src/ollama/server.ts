// Ollama's models through `lapidary serve`: pages cannot read a disk, the server on the same computer can.
import { LapidaryError, messageOf } from '../error.js';
import { isObject, type JsonObject } from '../json.js';
import { HttpSource, type HttpOptions } from '../sources/http.js';
import { openAll } from '../sources/shards.js';
import type { ByteSource } from '../sources/source.js';
import { formatModelName, parseModelName, tryParseModelName } from './name.js';

interface ServedBlob {
    digest: string;
    size: number;
}

export interface ServedModel {
    name: string;
    bytes: number;
    /** The model's file, or the pieces of a split one, in order. */
    blobs: ServedBlob[];
    /** Adapters that belong to it (`ADAPTER` in its Modelfile). */
    adapters: ServedBlob[];
    family?: string;
    parameters?: string;
    quantization?: string;
    /** Why it cannot be opened, when that is known already. */
    problem?: string;
}

/** `GET /api/ollama/models` → `{models: [{name, bytes, blobs: [{digest, size}], adapters: [{digest, size}], …}]}` */
export async function listServedModels(server: string | URL, options: HttpOptions = {}): Promise<ServedModel[]> {
    const url = new URL('/api/ollama/models', server);
    let answer: unknown;
    try {
        const response = await fetch(url, { headers: options.headers ?? {}, signal: options.signal ?? null });
        if (!response.ok) throw new Error(`it answers with HTTP ${response.status}`);
        answer = await response.json();
    } catch (cause) {
        if (options.signal?.aborted) throw new LapidaryError('cancelled', 'stopped before it was finished');
        throw new LapidaryError(
            'io',
            `${url.origin} cannot be asked for Ollama's models: ${messageOf(cause)}; does 'lapidary serve' run there?`,
            { cause },
        );
    }
    const models = isObject(answer) ? answer['models'] : undefined;
    if (!Array.isArray(models)) throw new LapidaryError('io', `${url.origin} does not answer like 'lapidary serve'`);
    return models.flatMap((model) => (isObject(model) && typeof model['name'] === 'string' ? [servedModel(model)] : []));
}

/** `GET /api/ollama/blob/<digest>`, in ranges. */
export async function openServedModel(
    server: string | URL,
    wanted: string,
    options: HttpOptions = {},
): Promise<{ sources: ByteSource[]; name: string; openAdapters?: () => Promise<ByteSource[]> }> {
    const name = formatModelName(parseModelName(wanted));
    const models = await listServedModels(server, options);
    const model = models.find((known) => sameName(known.name, name));
    if (!model) throw new LapidaryError('not_found', `the Ollama behind ${new URL(server).origin} has no model '${name}'`);
    if (model.problem !== undefined) throw new LapidaryError('unsupported', model.problem);
    if (model.blobs.length === 0) throw new LapidaryError('unsupported', `'${name}' has no model file`);
    const open = async ({ digest, size }: ServedBlob) => {
        const source = await HttpSource.open(new URL(`/api/ollama/blob/${digest}`, server), options);
        if (source.size === size) return source;
        await source.close();
        throw new LapidaryError('truncated', `the blob ${digest} has ${source.size} bytes where ${size} were announced`);
    };
    const openAdapters = () => openAll(model.adapters, open);
    const sources = await openAll(model.blobs, open);
    return { sources, name: model.name, ...(model.adapters.length > 0 ? { openAdapters } : {}) };
}

function servedModel(json: JsonObject): ServedModel {
    const { name, bytes, blobs, adapters = [], family, parameters, quantization } = json;
    const own = blobsOf(adapters);
    // Without its adapter it would be another model.
    const whole = Array.isArray(adapters) && own.length === adapters.length;
    const problem = whole ? json['problem'] : (json['problem'] ?? 'its adapter is named in a way that cannot be read');
    const optional = Object.entries({ family, parameters, quantization, problem }).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
    );
    return {
        name: String(name),
        bytes: typeof bytes === 'number' ? bytes : 0,
        blobs: blobsOf(blobs),
        adapters: own,
        ...Object.fromEntries(optional),
    };
}

function blobsOf(value: unknown): ServedBlob[] {
    return Array.isArray(value) ? value.flatMap(blobOf) : [];
}

function blobOf(value: unknown): ServedBlob[] {
    if (!isObject(value)) return [];
    const { digest, size } = value;
    // The digest becomes a part of an address: nothing else may get in there.
    const valid = typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) && typeof size === 'number';
    return valid ? [{ digest, size }] : [];
}

function sameName(a: string, b: string): boolean {
    const name = tryParseModelName(a);
    return (name ? formatModelName(name) : a).toLowerCase() === b.toLowerCase();
}
