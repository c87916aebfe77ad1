// What was begun and did not end because the page ended with it: a driver that takes the browser along, a file that is too much
// for a tab. The next page looks here before it does the same again.
//
// In IndexedDB: Firefox writes localStorage to the disk seconds later, and a browser that ends at once has then forgotten.
import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { newId } from '../store/ids.js';

export interface Attempt {
    id: string;
    /** `gpu`: a load on the GPU; `url`: a model from this address. */
    kind: 'gpu' | 'url';
    what: string;
}

/** What is not loaded by itself, because the page ended when it was loaded the last time. */
export class HeldBack extends Error {
    constructor() {
        super('the page ended while it was loaded the last time, so it is not loaded again by itself');
    }
}

/** Where they are written down. All of it may fail: who cannot remember tries again. */
export interface AttemptStore {
    put(attempt: Attempt): Promise<void>;
    all(): Promise<Attempt[]>;
    remove(ids: readonly string[]): Promise<void>;
}

/** Written at once, as a page that is being left has no time for anything else: ids of attempts that were left, not lost. */
export interface LeftStore {
    get(): string | null;
    set(ids: string): void;
}

const mostLeft = 32;

export class Attempts {
    private readonly mine = new Set<string>();

    constructor(
        private readonly store: AttemptStore = indexed,
        private readonly left: LeftStore = localLeft,
    ) {}

    /** To be called when it is over, however it ended. */
    async begin(kind: Attempt['kind'], what: string): Promise<() => Promise<void>> {
        const id = newId();
        this.mine.add(id);
        await this.store.put({ id, kind, what }).catch(() => undefined);
        return async () => {
            this.mine.delete(id);
            await this.store.remove([id]).catch(() => undefined);
        };
    }

    /** What pages that are gone began and never ended. */
    async unended(kind: Attempt['kind']): Promise<Attempt[]> {
        try {
            const left = this.readLeft();
            const all = await this.store.all();
            const done = all.filter(({ id }) => left.includes(id) && !this.mine.has(id)).map(({ id }) => id);
            if (done.length > 0) await this.store.remove(done);
            return all.filter((attempt) => attempt.kind === kind && !this.mine.has(attempt.id) && !done.includes(attempt.id));
        } catch {
            return [];
        }
    }

    /** Somebody wants to try again. */
    async forget(kind: Attempt['kind'], what?: string): Promise<void> {
        const ids = (await this.unended(kind)).filter((one) => what === undefined || one.what === what).map(({ id }) => id);
        await this.store.remove(ids).catch(() => undefined);
    }

    /** The page is closed or loaded anew by a person: what is under way was left, and is not to blame for anything. */
    leave(): void {
        if (this.mine.size === 0) return;
        this.left.set(JSON.stringify([...this.mine, ...this.readLeft()].slice(0, mostLeft)));
    }

    private readLeft(): string[] {
        try {
            const ids: unknown = JSON.parse(this.left.get() ?? '[]');
            return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
        } catch {
            return [];
        }
    }
}

interface Schema extends DBSchema {
    attempts: { key: string; value: Attempt };
}

let place: Promise<IDBPDatabase<Schema>> | undefined;

async function db(): Promise<IDBPDatabase<Schema>> {
    place ??= openDB<Schema>('lapidary-attempts', 1, {
        upgrade: (created) => void created.createObjectStore('attempts', { keyPath: 'id' }),
    });
    return await place;
}

const indexed: AttemptStore = {
    put: async (attempt) => void (await (await db()).put('attempts', attempt)),
    all: async () => await (await db()).getAll('attempts'),
    remove: async (ids) => {
        const change = (await db()).transaction('attempts', 'readwrite');
        await Promise.all([...ids.map(async (id) => await change.store.delete(id)), change.done]);
    },
};

const leftKey = 'lapidary-left';
const localLeft: LeftStore = {
    get: () => localStorage.getItem(leftKey),
    set: (ids) => {
        try {
            localStorage.setItem(leftKey, ids);
        } catch {
            // Storage is forbidden; then nothing else was written down either.
        }
    },
};

/** Those of this page. */
export const attempts = new Attempts();
if (typeof document !== 'undefined') addEventListener('pagehide', () => attempts.leave());
