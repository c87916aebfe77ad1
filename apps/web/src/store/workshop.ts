// Adapters and trainings in IndexedDB, in a database of their own: the chat does not need it, and what is large lies
// beside what is listed. Loaded when somebody opens the Fine-tune page or chats with an adapter.
import type { DataOptions, TrainSettings } from 'lapidary';
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { Observable } from './observable.js';

export interface StoredAdapter {
    id: string;
    name: string;
    /** The model it belongs to, by its name for people. */
    model: string;
    createdAt: number;
    bytes: number;
    parameters: number;
    /** In a few words, such as "60 steps on facts.jsonl". */
    origin: string;
    /** There was no room for it: it is gone when the tab that trained it is closed. */
    unstored?: true;
}

export interface AdapterBytes {
    id: string;
    weights: Uint8Array | Blob;
    config?: string;
}

export interface Sample {
    question: string;
    before?: string;
    after?: string;
}

export type RunState = 'running' | 'paused' | 'finished' | 'failed';

export interface Run {
    id: string;
    name: string;
    model: string;
    createdAt: number;
    settings: TrainSettings;
    dataOptions: DataOptions;
    state: RunState;
    problem?: string;
    step: number;
    steps: number;
    /** Where it would go on after a crash. */
    saved: number;
    losses: [step: number, loss: number][];
    validations: [step: number, loss: number][];
    samples: Sample[];
    seconds: number;
    tokensPerSecond: number;
    /** The adapter it became. */
    adapter?: string;
    /** Who computes it: the term of the engine (engine/term.ts). */
    term?: number;
}

/** Bytes, here and of adapters: private windows of WebKit refuse Blobs. Earlier versions kept Blobs, which are still read. */
interface RunFiles {
    id: string;
    data: Uint8Array<ArrayBuffer> | Blob;
    checkpoint?: Uint8Array;
}

interface Schema extends DBSchema {
    adapters: { key: string; value: StoredAdapter };
    adapterBytes: { key: string; value: AdapterBytes };
    runs: { key: string; value: Run };
    runFiles: { key: string; value: RunFiles };
}

type Place = IDBPDatabase<Schema>;

/** Newest first. They follow what other tabs do. */
export const adapters = new Observable<StoredAdapter[]>([]);
export const runs = new Observable<Run[]>([]);

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('lapidary-workshop');
let place: Promise<Place> | undefined;
/** By their id: adapters for which the disk has no room. */
const inMemory = new Map<string, StoredAdapter & AdapterBytes>();

async function db(): Promise<Place> {
    place ??= openDB<Schema>('lapidary-workshop', 1, {
        upgrade: (created) => {
            for (const name of ['adapters', 'adapterBytes', 'runs', 'runFiles'] as const) {
                created.createObjectStore(name, { keyPath: 'id' });
            }
        },
        // A newer version of the app in another tab wants to change the tables. It gets them now, and this tab has them
        // again with the next thing it wants; a training under way loses at most what came after its last checkpoint.
        blocking: (_current, _wanted, event) => {
            (event.target as IDBDatabase).close();
            place = undefined;
        },
        // The browser closed it: storage was cleared, or the disk has gone.
        terminated: () => (place = undefined),
    });
    // One that could not be opened is tried again.
    place.catch(() => (place = undefined));
    return await place;
}

export async function startWorkshop(): Promise<void> {
    if (channel && !channel.onmessage) channel.onmessage = () => void read();
    await read();
}

async function read(): Promise<void> {
    const open = await db();
    const newest = <Item extends { createdAt: number }>(items: Item[]) => items.sort((a, b) => b.createdAt - a.createdAt);
    adapters.set(newest([...inMemory.values(), ...(await open.getAll('adapters'))]));
    runs.set(newest(await open.getAll('runs')));
}

async function changed(): Promise<void> {
    channel?.postMessage('changed');
    await read();
}

export async function saveAdapter(adapter: StoredAdapter, files: AdapterBytes): Promise<void> {
    const { weights } = files;
    const kept = { ...files, weights: weights instanceof Blob ? new Uint8Array(await weights.arrayBuffer()) : weights };
    const change = (await db()).transaction(['adapters', 'adapterBytes'], 'readwrite');
    await Promise.all([
        change.objectStore('adapters').put(adapter),
        change.objectStore('adapterBytes').put(kept),
        change.done,
    ]);
    await changed();
}

/** Until this tab is closed. */
export async function keepInMemory(adapter: StoredAdapter, files: AdapterBytes): Promise<void> {
    inMemory.set(adapter.id, { ...adapter, ...files, unstored: true });
    await read();
}

export async function renameAdapter(id: string, name: string): Promise<void> {
    const open = await db();
    const adapter = await open.get('adapters', id);
    if (adapter) await open.put('adapters', { ...adapter, name });
    await changed();
}

export async function adapterFiles(id: string): Promise<(StoredAdapter & AdapterBytes) | undefined> {
    const held = inMemory.get(id);
    if (held) return held;
    const open = await db();
    const [adapter, bytes] = await Promise.all([open.get('adapters', id), open.get('adapterBytes', id)]);
    return adapter && bytes ? { ...adapter, ...bytes } : undefined;
}

export async function removeAdapter(id: string): Promise<void> {
    inMemory.delete(id);
    const change = (await db()).transaction(['adapters', 'adapterBytes'], 'readwrite');
    await Promise.all([
        change.objectStore('adapters').delete(id),
        change.objectStore('adapterBytes').delete(id),
        change.done,
    ]);
    await changed();
}

export async function createRun(run: Run, file: Blob): Promise<void> {
    const data = new Uint8Array(await file.arrayBuffer());
    const change = (await db()).transaction(['runs', 'runFiles'], 'readwrite');
    await Promise.all([
        change.objectStore('runs').put(run),
        change.objectStore('runFiles').put({ id: run.id, data }),
        change.done,
    ]);
    await changed();
}

/** A tab that was asleep, and whose engine another has by now, knows less than what is stored. */
function isLate({ term }: Run, stored: Run | undefined): boolean {
    return (stored?.term ?? 0) > (term ?? Infinity);
}

export class TakenOver extends Error {
    constructor() {
        super('another tab has taken this training over');
    }
}

/** One that was removed meanwhile stays removed. */
export async function saveRun(run: Run): Promise<void> {
    const change = (await db()).transaction('runs', 'readwrite');
    const stored = await change.store.get(run.id);
    const late = isLate(run, stored);
    if (stored && !late) await change.store.put(run);
    await change.done;
    if (late) throw new TakenOver();
    await changed();
}

/** The run and its checkpoint belong together: both or neither. */
export async function saveCheckpoint(run: Run, checkpoint: Uint8Array): Promise<void> {
    const change = (await db()).transaction(['runs', 'runFiles'], 'readwrite');
    const files = change.objectStore('runFiles');
    const kept = await files.get(run.id);
    const late = isLate(run, await change.objectStore('runs').get(run.id));
    // One that was removed meanwhile stays removed.
    if (kept && !late) await Promise.all([change.objectStore('runs').put(run), files.put({ ...kept, checkpoint })]);
    await change.done;
    if (late) throw new TakenOver();
    await changed();
}

export async function openRun(id: string): Promise<{ run: Run; files: { data: Blob; checkpoint?: Uint8Array } } | undefined> {
    const open = await db();
    const [run, files] = await Promise.all([open.get('runs', id), open.get('runFiles', id)]);
    return run && files ? { run, files: { ...files, data: new Blob([files.data]) } } : undefined;
}

export async function removeRun(id: string): Promise<void> {
    const change = (await db()).transaction(['runs', 'runFiles'], 'readwrite');
    await Promise.all([change.objectStore('runs').delete(id), change.objectStore('runFiles').delete(id), change.done]);
    await changed();
}
