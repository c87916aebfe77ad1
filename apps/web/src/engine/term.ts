// Who has the engine is told apart by its term, a number that grows with every change. What a tab says or stores that had the
// engine, was asleep and has lost it meanwhile is of an older term and counts for nothing.
import { openDB, type DBSchema } from 'idb';

interface Schema extends DBSchema {
    term: { key: string; value: number };
}

/** Larger than every one before. Where nothing can be stored the clock must do. */
export async function nextTerm(): Promise<number> {
    const now = Date.now();
    try {
        const db = await openDB<Schema>('lapidary-term', 1, { upgrade: (created) => void created.createObjectStore('term') });
        try {
            const change = db.transaction('term', 'readwrite');
            const term = Math.max(now, ((await change.store.get('latest')) ?? 0) + 1);
            await change.store.put(term, 'latest');
            await change.done;
            return term;
        } finally {
            db.close();
        }
    } catch {
        return now;
    }
}
