// How a file is wanted. Types only.
import type { HttpOptions } from '../sources/http.js';
import type { CacheProgress } from './progress.js';
import type { Shortage } from './quota.js';

export interface CacheOpenOptions {
    /** What the bytes must hash to: 64 hexadecimal digits, with or without `sha256:` before them. */
    sha256?: string;
    /**
     * Whether a complete file is compared with the server's version: `check` does when the server can be reached,
     * `keep` never asks. `check` unless the digest is known, as that cannot change.
     */
    update?: 'check' | 'keep';
    /** When chunks are compared with their checksums: as they are read, or all of them before `open` resolves. */
    check?: 'on-read' | 'at-open';
    signal?: AbortSignal;
    onProgress?: (progress: CacheProgress) => void;
    /** Called when there is not enough room; `retry` after something was removed. Without it: NotEnoughRoomError. */
    onShortage?: (shortage: Shortage) => 'retry' | 'stop' | Promise<'retry' | 'stop'>;
    /** How often in a row a connection may fail: 8 unless told. */
    retries?: number;
    retryDelayMs?: number;
    /** For the connection itself. */
    http?: Omit<HttpOptions, 'signal'>;
}
