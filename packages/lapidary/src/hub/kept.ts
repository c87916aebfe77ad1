// The models that are kept on this device: in a page in its private files, elsewhere in a folder. Bytes are the cache's
// affair (chunks, journals, repairs); here is which of them make up a model, what it is called and how it gets here.
import { ModelCache, type CacheOpenOptions } from '../cache/cache.js';
import { WrongBytesError } from '../cache/bring.js';
import { shortName } from '../cache/checksum.js';
import type { CachedFile } from '../cache/entries.js';
import type { CacheStorageFs } from '../cache/fs.js';
import { OpfsFs } from '../cache/opfs.js';
import type { CacheProgress } from '../cache/progress.js';
import { wanted } from '../cache/remote.js';
import { LapidaryError } from '../error.js';
import type { WorkOptions } from '../work.js';
import { HttpSource } from '../sources/http.js';
import { openAll } from '../sources/shards.js';
import type { ByteSource } from '../sources/source.js';
import { manifestFile, manifestOf, readManifests, writeManifest, type Manifest, type Origin } from './manifest.js';
import type { ModelFile, ResolvedModel } from './resolve.js';

export interface KeptModel extends Origin {
    /** Only a `complete` one can be used. */
    state: 'complete' | 'partial';
    /** Bytes on disk, and of the whole where that is known. */
    have: number;
    bytes: number | undefined;
    /** Whether all of it was compared with a digest of its source. */
    checked: boolean;
    created: Date;
    files: KeptFile[];
}

export interface KeptFile extends Omit<ModelFile, 'headers'> {
    /** In the cache; undefined when nothing of it is there. */
    key: string | undefined;
    have: number;
    complete: boolean;
}

export interface PullProgress {
    /**
     * `waiting`: another tab or program downloads it. `retrying`: after a pause. `verifying`: comparing with the digest.
     * `again`: it did not match and is fetched once more.
     */
    state: 'waiting' | 'checking' | 'downloading' | 'retrying' | 'verifying' | 'again';
    /** The file, and which of how many it is. */
    file: string;
    number: number;
    files: number;
    /** Bytes, of all files together; `total` is 0 while it is not known. */
    done: number;
    total: number;
    /** Bytes a second over the last seconds; 0 when nothing is known. */
    rate: number;
    etaSeconds: number | undefined;
    /** With `retrying`. */
    pause?: { reason: string; seconds: number };
}

export interface PullOptions extends Pick<CacheOpenOptions, 'signal' | 'retries' | 'retryDelayMs' | 'onShortage' | 'http'> {
    onProgress?: (progress: PullProgress) => void;
    /** For the date it is kept with; now unless told. */
    now?: number;
}

export interface Check {
    file: string;
    ok: boolean;
    /** Why it is not, for people. */
    problem: string | undefined;
    sha256: string | undefined;
}

export class KeptModels {
    private readonly cache: ModelCache;

    constructor(
        private readonly fs: CacheStorageFs,
        cache?: ModelCache,
        /** What a model is kept as that the catalogue knows by this name too: an engine's worker has no catalogue. */
        private readonly idOf: (name: string) => string | undefined = () => undefined,
    ) {
        this.cache = cache ?? new ModelCache({ fs });
    }

    /** Those of this page; undefined where the browser keeps nothing. */
    static async ofThisOrigin(): Promise<KeptModels | undefined> {
        const fs = await OpfsFs.open();
        return fs ? new KeptModels(fs) : undefined;
    }

    /** By name; also those of which only a part is here. */
    async list(): Promise<KeptModel[]> {
        const cached = await this.cache.list();
        const models = (await readManifests(this.fs)).map((manifest) => describe(manifest, cached));
        // One whose bytes somebody removed elsewhere is not kept any more.
        return models.filter(({ have }) => have > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
    }

    /** By its name, another name of the same in the catalogue, its reference, or its file's name. */
    async find(name: string, id: string | undefined = this.idOf(name)): Promise<KeptModel | undefined> {
        const models = await this.list();
        const words = name.trim().toLowerCase();
        const same = (text: string) => text.toLowerCase() === words;
        return (
            models.find((model) => same(model.name)) ??
            models.find((model) => model.name === id) ??
            models.find(({ reference }) => same(reference) || same(reference.replace(/^(hf|ollama):/, ''))) ??
            models.find(({ files }) => files.some((file) => same(file.name)))
        );
    }

    /**
     * Downloads what is not there yet, or goes on where it was stopped; resolves once every digest held. Stopping keeps
     * what has arrived. Whether its licence was agreed to is for the caller to know.
     */
    async pull(model: ResolvedModel, options: PullOptions = {}): Promise<KeptModel> {
        if (model.problem !== undefined) throw new LapidaryError('unsupported', `${model.title} cannot be used: ${model.problem}`);
        const before = (await readManifests(this.fs)).find(({ name }) => name === model.name);
        const manifest = manifestOf(model, options.now ?? Date.now());
        await writeManifest(this.fs, manifest);
        try {
            await this.bringAll(model, manifest, options);
        } catch (error) {
            // Without a byte of any of its files, the manifest would only list a model that is not there.
            const begun = await Promise.all(manifest.files.map((file) => this.begun(file))).catch(() => [true]);
            if (!begun.includes(true)) await this.fs.remove(manifestFile(manifest.name)).catch(() => undefined);
            throw error;
        }
        await writeManifest(this.fs, manifest);
        if (before) await this.clearAway(before, [manifest]);
        const kept = await this.find(model.name);
        if (!kept || kept.state !== 'complete') throw new LapidaryError('io', `'${model.name}' was removed while it was downloaded`);
        return kept;
    }

    /** Sizes that nobody had announced go into the manifest. */
    private async bringAll(model: ResolvedModel, manifest: Manifest, options: PullOptions): Promise<void> {
        let done = 0;
        for (const [index, file] of model.files.entries()) {
            const report = (state: PullProgress['state'], progress: Partial<CacheProgress> = {}) => {
                const { rate = 0, done: part = 0, pause } = progress;
                const total = model.bytes ?? (model.files.length === 1 ? (progress.total ?? 0) : 0);
                options.onProgress?.({
                    state,
                    file: file.name,
                    number: index + 1,
                    files: model.files.length,
                    done: done + part,
                    total,
                    rate,
                    etaSeconds: rate > 0 && total > 0 ? (total - done - part) / rate : undefined,
                    ...(pause ? { pause } : {}),
                });
            };
            const size = await this.bring(file, options, report);
            if (file.bytes === undefined) manifest.files[index] = { ...manifest.files[index]!, bytes: size };
            done += size;
        }
    }

    /** For the engine; who opens them closes them. A piece that is damaged on disk is fetched again by itself. */
    async open(model: KeptModel, { signal, http }: Pick<CacheOpenOptions, 'signal' | 'http'> = {}): Promise<ByteSource[]> {
        return await this.openFiles(model, 'model', { ...(signal ? { signal } : {}), ...(http ? { http } : {}) });
    }

    /** Adapters that belong to it. */
    async openAdapters(model: KeptModel): Promise<ByteSource[]> {
        return await this.openFiles(model, 'adapter', {});
    }

    /** One that belongs to it. */
    async openProjector(model: KeptModel): Promise<ByteSource[]> {
        return (await this.openFiles(model, 'projector', {})).slice(0, 1);
    }

    /** Reads everything. What is damaged is fetched again when it is pulled or opened the next time. */
    async verify(model: KeptModel, options: WorkOptions = {}): Promise<Check[]> {
        const checks: Check[] = [];
        for (const { name, key, complete } of model.files) {
            if (key === undefined || !complete) {
                checks.push({ file: name, ok: false, problem: 'it is not complete', sha256: undefined });
                continue;
            }
            const { ok, problem, sha256 } = await this.cache.verify(key, options);
            checks.push({ file: name, ok, problem, sha256 });
        }
        return checks;
    }

    /** With what has arrived of it. Files that another model needs too stay. */
    async remove(model: KeptModel): Promise<void> {
        const manifests = await readManifests(this.fs);
        const mine = manifests.find(({ name }) => name === model.name);
        if (!mine) return;
        await this.clearAway(mine, manifests.filter((other) => other !== mine));
        await this.fs.remove(manifestFile(mine.name));
    }

    private async bring(
        file: ModelFile,
        options: PullOptions,
        report: (state: PullProgress['state'], progress?: Partial<CacheProgress>) => void,
    ): Promise<number> {
        const { signal, retries, retryDelayMs, onShortage, http } = options;
        const headers = { ...http?.headers, ...file.headers };
        const open: CacheOpenOptions = {
            http: { ...http, headers },
            ...(signal ? { signal } : {}),
            ...(retries === undefined ? {} : { retries }),
            ...(retryDelayMs === undefined ? {} : { retryDelayMs }),
            ...(onShortage ? { onShortage } : {}),
            ...(file.sha256 === undefined ? {} : { sha256: file.sha256 }),
            onProgress: (progress) => {
                if (progress.state !== 'ready') report(progress.state, progress);
            },
        };
        if (!(await this.begun(file))) await checkBeginning(file, { ...open.http, ...(signal ? { signal } : {}) });
        for (let again = false; ; again = true) {
            try {
                const source = await this.cache.open(file.url, open);
                const { size } = source;
                await source.close();
                if (file.bytes !== undefined && size !== file.bytes) {
                    throw new LapidaryError('bad_file', `${file.name} has ${size} bytes where ${file.bytes} were announced`);
                }
                return size;
            } catch (error) {
                // One digest for the whole file does not tell which piece is wrong.
                if (!(error instanceof WrongBytesError) || again) throw error;
                report('again');
            }
        }
    }

    private async begun(file: ModelFile): Promise<boolean> {
        const hash = idHash(file);
        return (await this.cache.list()).some(({ key, bytes }) => hashOfKey(key) === hash && bytes > 0);
    }

    private async openFiles(model: KeptModel, role: ModelFile['role'], options: CacheOpenOptions): Promise<ByteSource[]> {
        const files = model.files.filter((file) => file.role === role);
        const missing = files.find(({ complete }) => !complete);
        if (missing) {
            const how = `'lapidary pull ${model.name}' goes on with it`;
            throw new LapidaryError('truncated', `'${model.name}' is not complete: ${missing.name} is only partly here; ${how}`);
        }
        return await openAll(files, async ({ url, sha256 }) =>
            await this.cache.open(url, { ...options, update: 'keep', ...(sha256 === undefined ? {} : { sha256 }) }));
    }

    /** Removes the bytes of a model that none of the others needs. */
    private async clearAway(model: Manifest, others: readonly Manifest[]): Promise<void> {
        const needed = new Set(others.flatMap(({ files }) => files.map(idHash)));
        for (const { key } of await this.cache.list()) {
            const hash = hashOfKey(key);
            if (!needed.has(hash) && model.files.some((file) => idHash(file) === hash)) await this.cache.remove(key);
        }
    }
}

/** A page of a web site, or a model of another kind, is known by its first bytes: better than after some gigabytes. */
async function checkBeginning(file: ModelFile, http: CacheOpenOptions['http'] & { signal?: AbortSignal }): Promise<void> {
    const source = await HttpSource.open(file.url, http);
    try {
        const magic = source.size < 4 ? new Uint8Array(0) : await source.read(0, 4);
        if (new TextDecoder().decode(magic) === 'GGUF') return;
        throw new LapidaryError('bad_file', `${source.address} is not a GGUF file: it does not begin like one`);
    } finally {
        await source.close();
    }
}

function describe(manifest: Manifest, cached: readonly CachedFile[]): KeptModel {
    const { files, created, ...rest } = manifest;
    const found = files.map((file): KeptFile => {
        const hash = idHash(file);
        const versions = cached.filter(({ key }) => hashOfKey(key) === hash);
        const best = versions.find(({ state }) => state === 'complete') ?? versions[0];
        const { role, name, url, bytes, sha256, validator } = file;
        return {
            role,
            name,
            url,
            bytes: bytes ?? (best?.state === 'damaged' ? undefined : best?.size),
            sha256,
            validator,
            key: best?.key,
            have: Math.min(best?.bytes ?? 0, bytes ?? Infinity),
            complete: best?.state === 'complete',
        };
    });
    const sum = (values: readonly (number | undefined)[]) =>
        values.reduce<number | undefined>((total, value) => (total === undefined || value === undefined ? undefined : total + value), 0);
    return {
        ...rest,
        created: new Date(created),
        files: found,
        state: found.every(({ complete }) => complete) ? 'complete' : 'partial',
        have: sum(found.map(({ have }) => have)) ?? 0,
        bytes: sum(found.map(({ bytes }) => bytes)),
        checked: found.every(({ sha256 }) => sha256 !== undefined),
    };
}

/** How the cache knows these bytes. */
function idHash({ url, sha256 }: Pick<ModelFile, 'url' | 'sha256'>): string {
    return shortName(wanted(url, sha256).id);
}

function hashOfKey(key: string): string {
    return key.split('.').at(-2) ?? '';
}
