// Opens a prepared source where the engine runs.
import { openCachedPieces } from '../cache/open-cached.js';
import { LapidaryError, messageOf } from '../error.js';
import { KeptModels, type KeptModel } from '../hub/kept.js';
import type { Progress } from '../work.js';
import { formatModelName, parseModelName } from '../ollama/name.js';
import { ListedDirectory } from '../ollama/listed.js';
import { PickedDirectory } from '../ollama/picked.js';
import { openServedModel } from '../ollama/server.js';
import { OllamaStore, type ResolvedModel } from '../ollama/store.js';
import { BlobSource } from './blob.js';
import { openHttp, type HttpOptions } from './http.js';
import { manyDigests } from './digest.js';
import type { PreparedSource } from './prepared.js';
import { prove } from './prove.js';
import type { ByteSource } from './source.js';

export interface OpenedSource {
    sources: ByteSource[];
    /** How the model is called where it comes from, if it has a name there. */
    name?: string;
    /** Opens the adapters that belong to it: GGUF files, each with scale 1. Who does that closes them. */
    openAdapters?: () => Promise<ByteSource[]>;
    /** Opens the projector that belongs to it: with it, it sees or hears. Who does that closes it. */
    openProjector?: () => Promise<ByteSource[]>;
}

/** Opens a path or a name on this computer's disk; only places that have one offer it. */
export type OpenLocal = (name: string, signal: AbortSignal | undefined) => Promise<OpenedSource>;

export async function openPrepared(
    prepared: PreparedSource,
    openLocal: OpenLocal | undefined,
    signal: AbortSignal | undefined,
    onDownload: (progress: Progress) => void = () => undefined,
): Promise<OpenedSource> {
    const opened = await openPlace(prepared, openLocal, signal, onDownload);
    const { sha256 } = prepared;
    if (sha256 === undefined || (prepared.kind === 'url' && prepared.cache)) return opened;
    try {
        const [source, ...others] = opened.sources;
        if (!source || others.length > 0) throw manyDigests(opened.sources.length);
        const onProgress = (progress: Progress) => onDownload({ ...progress, note: 'its SHA-256 is compared first' });
        return { ...opened, sources: [await prove(source, sha256, { onProgress, ...(signal ? { signal } : {}) })] };
    } catch (error) {
        await Promise.allSettled(opened.sources.map((source) => source.close()));
        throw error;
    }
}

async function openPlace(
    prepared: PreparedSource,
    openLocal: OpenLocal | undefined,
    signal: AbortSignal | undefined,
    onDownload: (progress: Progress) => void,
): Promise<OpenedSource> {
    const stop = signal ? { signal } : {};
    switch (prepared.kind) {
        case 'url':
            try {
                return { sources: await openUrl(prepared, onDownload, stop) };
            } catch (error) {
                const absent = error instanceof LapidaryError && error.code === 'not_found';
                throw prepared.builtin && absent ? noBuiltin(error) : error;
            }
        case 'blobs':
            return { sources: prepared.blobs.map((blob) => new BlobSource(blob)) };
        case 'files':
            return { sources: await Promise.all(prepared.handles.map(openHandle)) };
        case 'folder': {
            const { directory } = prepared;
            const found = 'kind' in directory ? await PickedDirectory.find(directory) : ListedDirectory.find(directory);
            const store = new OllamaStore(found);
            const name = parseModelName(prepared.model);
            const model = await store.resolve(name);
            if (model) return await openOllama(store, model);
            const where = store.directory.label;
            throw new LapidaryError('not_found', `there is no model '${formatModelName(name)}' in ${where}`);
        }
        case 'server':
            return await openServedModel(prepared.server, prepared.model, { headers: prepared.headers, ...stop });
        case 'shelf':
            // Where there is a disk, they are in a folder of it.
            if (openLocal) return await openLocal(`${keptPrefix}${prepared.name}`, signal);
            return await openShelf(prepared, { headers: prepared.headers, ...stop });
        case 'local':
            if (openLocal) return await openLocal(prepared.name, signal);
            throw new LapidaryError('unsupported', `'${prepared.name}' cannot be opened here: there is no disk`);
        case 'open':
            return { sources: prepared.sources.map(borrowed) };
    }
}

/** Before a name for `OpenLocal`: only what was downloaded, not a file that happens to be called so. */
export const keptPrefix = 'kept:';

/** One that was downloaded before: nothing is asked of the network, unless a piece of it is damaged. */
async function openShelf({ name, id }: PreparedSource & { kind: 'shelf' }, http: HttpOptions): Promise<OpenedSource> {
    const models = await KeptModels.ofThisOrigin();
    const model = await models?.find(name, id);
    if (models && model) return await openKept(models, model, http);
    throw new LapidaryError('not_found', `there is no model '${name}' in this browser; download it first`);
}

/** A downloaded model with the adapters that belong to it. */
export async function openKept(models: KeptModels, model: KeptModel, http: HttpOptions = {}): Promise<OpenedSource> {
    const { signal, ...rest } = http;
    const sources = await models.open(model, { http: rest, ...(signal ? { signal } : {}) });
    const openAdapters = () => models.openAdapters(model);
    const openProjector = () => models.openProjector(model);
    const has = (wanted: string) => model.files.some(({ role }) => role === wanted);
    return { sources, name: model.name, ...(has('adapter') ? { openAdapters } : {}), ...(has('projector') ? { openProjector } : {}) };
}

async function openUrl(
    { url, headers, cache, sha256 }: PreparedSource & { kind: 'url' },
    onDownload: (progress: Progress) => void,
    stop: { signal?: AbortSignal },
): Promise<ByteSource[]> {
    if (!cache) return await openHttp(url, { headers, onDownload, ...stop });
    const digest = sha256 === undefined ? {} : { sha256 };
    return await openCachedPieces(url, { http: { headers, onDownload }, onProgress: onDownload, ...digest, ...stop });
}

function noBuiltin(cause: LapidaryError): LapidaryError {
    return new LapidaryError(
        'not_found',
        `this page has no built-in model (${cause.message}); import { storyteller } from 'lapidary/storyteller' and load ` +
            `that, or say with builtinUrl where it is`,
        { cause },
    );
}

/** A model of Ollama's with its adapters and its projector, which Ollama applies too. */
export async function openOllama(store: OllamaStore, model: ResolvedModel): Promise<OpenedSource> {
    const sources = await store.openLayers(model.models);
    const openAdapters = () => store.openLayers(model.adapters);
    const openProjector = () => store.openLayers(model.projectors.slice(0, 1));
    return {
        sources,
        name: model.name,
        ...(model.adapters.length > 0 ? { openAdapters } : {}),
        ...(model.projectors.length > 0 ? { openProjector } : {}),
    };
}

/** They may be needed again when the GPU was lost, so the engine must not close them; `closePrepared` does. */
function borrowed(source: ByteSource): ByteSource {
    return {
        size: source.size,
        name: source.name,
        read: (offset, length, signal) => source.read(offset, length, signal),
        close: async () => undefined,
    };
}

/** At the end: what was given to us open is ours to close. */
export async function closePrepared(prepared: PreparedSource): Promise<void> {
    if (prepared.kind === 'open') await Promise.allSettled(prepared.sources.map((source) => source.close()));
}

async function openHandle(handle: FileSystemFileHandle): Promise<ByteSource> {
    try {
        return new BlobSource(await handle.getFile());
    } catch (cause) {
        throw new LapidaryError('io', `'${handle.name}' could not be read: ${messageOf(cause)}`, { cause });
    }
}
