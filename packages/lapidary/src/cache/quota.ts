// Running out of room is an ordinary event with a few gigabytes at a time: it is told with everything needed to
// decide what to do. Nothing is ever evicted without being asked for.
import { LapidaryError } from '../error.js';
import type { CachedFile } from './entries.js';

export interface Shortage {
    /** The file there is no room for. */
    name: string;
    /** Bytes still to be stored. */
    needed: number;
    /** Bytes the browser would still take, as far as it tells. */
    available: number;
    /** What the cache holds besides, oldest first: candidates for `remove`. */
    evictable: CachedFile[];
}

/** A LapidaryError with the code `limit`. What was downloaded so far is kept. */
export class NotEnoughRoomError extends LapidaryError {
    constructor(
        readonly shortage: Shortage,
        options?: { cause?: unknown },
    ) {
        super('limit', sentence(shortage), options);
    }
}

function sentence({ name, needed, available, evictable }: Shortage): string {
    const freed = evictable.reduce((sum, file) => sum + file.bytes, 0);
    const advice =
        freed > 0
            ? `removing other cached models would free up to ${formatBytes(freed)}`
            : 'free some disk space, or allow this site to store more';
    return `'${name}' needs ${formatBytes(needed)}, but the browser has room for ${formatBytes(available)}; ${advice}`;
}

export function formatBytes(bytes: number): string {
    const units = ['bytes', 'KB', 'MB', 'GB', 'TB'];
    let value = Math.max(0, bytes);
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

/**
 * Asks the browser not to clear the cache when disk space becomes scarce. Only a page can ask, not a worker; true when
 * granted.
 */
export async function requestPersistence(): Promise<boolean> {
    const storage = typeof navigator === 'undefined' ? undefined : navigator.storage;
    if (typeof storage?.persist !== 'function') return false;
    try {
        return (await storage.persisted()) || (await storage.persist());
    } catch {
        return false;
    }
}
