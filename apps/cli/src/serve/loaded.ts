// The models that are in memory. They are loaded when someone asks for them, and make room for each other.
import {
    LapidaryError,
    cancelledError,
    type AnswerTotals,
    type JsonObject,
    type LoadOptions,
    type LoadedEngine,
    type ModelSource,
} from 'lapidary';
import { keptPath } from 'lapidary/node';
import { readOwnAdapters, type AdapterFile } from '../adapters.js';
import type { ModelBytes } from '../model-argument.js';
import type { CatalogueEntry } from './catalogue.js';

export type Load = (source: ModelSource, options: LoadOptions) => Promise<LoadedEngine>;

export interface LoadedOptions {
    load: Load;
    options: LoadOptions;
    /** How many models may be in memory. */
    most: number;
    /** Those of the command line, for the model of the command line. */
    adapters?: { model: string; files: readonly AdapterFile[] } | undefined;
    /** Likewise. */
    mmproj?: { model: string; file: string } | undefined;
    /** One line for the person who runs the server. */
    log(text: string): void;
}

/** A model that is ready to answer. */
export interface Ready {
    entry: CatalogueEntry;
    engine: LoadedEngine;
    /** How long this request had to wait for it. */
    loadMs: number;
    /** What an Ollama model brings along: default options and a system message. */
    params: JsonObject;
    system: string | undefined;
}

interface Slot {
    entry: CatalogueEntry;
    stop: AbortController;
    /** Requests that use it or wait for it. */
    users: number;
    broken: boolean;
    ready: Promise<Omit<Ready, 'loadMs' | 'entry'>>;
    engine: LoadedEngine | undefined;
    lastUsed: number;
    expires: NodeJS.Timeout | undefined;
    expiresAt: Date | undefined;
}

/** Seconds until a model nobody uses is unloaded: 0 at once, undefined never. */
export type KeepAlive = number | undefined;

const brokenBy: ReadonlySet<string> = new Set(['internal', 'device_lost']);

export class LoadedModels {
    private readonly slots = new Map<string, Slot>();
    private readonly past = new Map<string, AnswerTotals>();
    private closed = false;
    private clock = 0;

    constructor(private readonly options: LoadedOptions) {}

    /** What is in memory now. */
    list(): { entry: CatalogueEntry; engine: LoadedEngine; expiresAt: Date | undefined }[] {
        return [...this.slots.values()].flatMap(({ entry, engine, expiresAt }) =>
            engine ? [{ entry, engine, expiresAt }] : [],
        );
    }

    /** Runs `work` with the model, which stays meanwhile. Those who wait for the same model share its loading. */
    async use<Result>(
        entry: CatalogueEntry,
        signal: AbortSignal,
        keepAlive: KeepAlive,
        work: (ready: Ready) => Promise<Result>,
    ): Promise<Result> {
        const started = performance.now();
        const slot = await this.slotFor(entry);
        slot.users++;
        clearTimeout(slot.expires);
        try {
            const ready = await unlessAborted(slot.ready, signal);
            const loadMs = performance.now() - started;
            return await work({ ...ready, entry, loadMs });
        } catch (error) {
            // An engine that has failed within itself is not asked again; the next request gets a fresh one.
            if (error instanceof LapidaryError && brokenBy.has(error.code)) slot.broken = true;
            throw error;
        } finally {
            slot.users--;
            slot.lastUsed = ++this.clock;
            if (slot.users === 0) await this.retire(slot, slot.broken ? 0 : keepAlive);
        }
    }

    /** Unloads a model if it is there and nobody uses it. */
    async unload(id: string): Promise<void> {
        const slot = this.slots.get(id);
        if (slot && slot.users === 0) await this.drop(slot);
    }

    /** What the answers of each model took, also of those that are not in memory any more. */
    totals(): Map<string, AnswerTotals> {
        const all = new Map(this.past);
        for (const { entry, engine } of this.slots.values()) {
            if (engine) all.set(entry.id, sumOf(all.get(entry.id), engine.totals));
        }
        return all;
    }

    async close(): Promise<void> {
        this.closed = true;
        await Promise.all([...this.slots.values()].map((slot) => this.drop(slot)));
    }

    private async slotFor(entry: CatalogueEntry): Promise<Slot> {
        const known = this.slots.get(entry.id);
        if (known && known.entry.digest === entry.digest) return known;
        if (known) await this.drop(known); // it was pulled again since
        while (this.slots.size >= this.options.most) {
            const unused = [...this.slots.values()].filter((slot) => slot.users === 0);
            const [oldest] = unused.sort((a, b) => a.lastUsed - b.lastUsed);
            if (!oldest) break; // all are in use: better one too many than a deadlock
            await this.drop(oldest);
        }
        if (this.closed) throw cancelledError();
        // Somebody else may have begun meanwhile.
        return this.slots.get(entry.id) ?? this.begin(entry);
    }

    private begin(entry: CatalogueEntry): Slot {
        const stop = new AbortController();
        const slot: Slot = {
            entry,
            stop,
            users: 0,
            broken: false,
            ready: this.load(entry, stop.signal).then((ready) => {
                slot.engine = ready.engine;
                return ready;
            }),
            engine: undefined,
            lastUsed: ++this.clock,
            expires: undefined,
            expiresAt: undefined,
        };
        this.slots.set(entry.id, slot);
        // Who waits for it hears of the failure; the next one tries again.
        slot.ready.catch(() => {
            if (this.slots.get(entry.id) === slot) this.slots.delete(entry.id);
        });
        return slot;
    }

    private async load(entry: CatalogueEntry, signal: AbortSignal): Promise<Omit<Ready, 'loadMs' | 'entry'>> {
        const started = performance.now();
        const opened = await entry.open(signal);
        const { sources, params = {} } = opened;
        const context = params['num_ctx'];
        const adapters = await adaptersFor(entry, opened, this.options);
        const engine = await this.options.load(sources, {
            ...(typeof context === 'number' ? { contextLength: context } : {}),
            ...this.options.options,
            ...(adapters.length > 0 ? { adapters } : {}),
            ...(await projectorFor(entry, opened, this.options)),
            signal,
        });
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        const { backend, contextLength, maxConversations } = engine.info;
        const memory = `context ${contextLength}, up to ${maxConversations} conversations`;
        this.options.log(`loaded ${entry.id} in ${seconds} s (${backend}, ${memory})`);
        return { engine, params, system: opened.system };
    }

    private async retire(slot: Slot, keepAlive: KeepAlive): Promise<void> {
        slot.expiresAt = undefined;
        if (keepAlive === undefined || this.slots.get(slot.entry.id) !== slot) return;
        if (keepAlive <= 0) return await this.drop(slot);
        const milliseconds = Math.min(keepAlive * 1000, 2 ** 31 - 1);
        slot.expiresAt = new Date(Date.now() + milliseconds);
        slot.expires = setTimeout(() => void this.unload(slot.entry.id), milliseconds);
        slot.expires.unref();
    }

    private async drop(slot: Slot): Promise<void> {
        clearTimeout(slot.expires);
        if (this.slots.get(slot.entry.id) === slot) this.slots.delete(slot.entry.id);
        slot.stop.abort(); // if it is still being loaded
        const ready = await slot.ready.catch(() => undefined);
        if (!ready) return;
        this.past.set(slot.entry.id, sumOf(this.past.get(slot.entry.id), ready.engine.totals));
        await ready.engine.dispose();
        if (!this.closed) this.options.log(`unloaded ${slot.entry.id}`);
    }
}

function sumOf(before: AnswerTotals | undefined, more: AnswerTotals): AnswerTotals {
    if (!before) return { ...more };
    const sum = { ...before };
    for (const name of Object.keys(sum) as (keyof AnswerTotals)[]) sum[name] += more[name];
    return sum;
}

/** An Ollama model's own, then what was asked for at the start. */
async function adaptersFor(
    entry: CatalogueEntry,
    opened: ModelBytes,
    { adapters }: LoadedOptions,
): Promise<AdapterFile[]> {
    const own = await readOwnAdapters(opened);
    return adapters?.model === entry.id ? [...own, ...adapters.files] : own;
}

/** By its path, because the engine's thread opens it. */
async function projectorFor(entry: CatalogueEntry, opened: ModelBytes, { mmproj }: LoadedOptions): Promise<Pick<LoadOptions, 'mmproj'>> {
    if (mmproj?.model === entry.id) return { mmproj: mmproj.file };
    if (opened.kept) {
        const file = opened.kept.files.find(({ role }) => role === 'projector');
        return file?.key === undefined ? {} : { mmproj: { found: keptPath(file.key) } };
    }
    const sources = (await opened.openProjector?.()) ?? [];
    await Promise.allSettled(sources.map((source) => source.close()));
    const [found] = sources;
    return found?.path === undefined ? {} : { mmproj: { found: found.path } };
}

/** The wait ends with the signal, what was waited for goes on. */
async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
    let leave: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
        leave = () => reject(cancelledError());
        if (signal.aborted) leave();
        signal.addEventListener('abort', leave);
    });
    try {
        return await Promise.race([promise, aborted]);
    } catch (error) {
        // The loading itself was stopped, by another who needed the room.
        if (!signal.aborted && error instanceof LapidaryError && error.code === 'cancelled') {
            throw new LapidaryError('internal', 'the model was unloaded while it was being loaded; try again');
        }
        throw error;
    } finally {
        if (leave) signal.removeEventListener('abort', leave);
    }
}
