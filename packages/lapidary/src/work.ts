// What long calls of the engine have in common: progress, the wish to stop, and how tokens cross the border.
import { LapidaryError } from './error.js';
import type * as messages from './messages.js';

export interface Progress extends Omit<messages.Progress, 'type'> {
    /** Why it takes longer than usual, in a sentence. */
    note?: string | undefined;
}

export interface WorkOptions {
    onProgress?: (progress: Progress) => void;
    signal?: AbortSignal;
}

/** The part of every long call: progress and the wish to stop. */
export function callOptions<Other extends { type?: unknown } = never>(options: WorkOptions, onOther?: (event: Other) => void) {
    const { onProgress, signal } = options;
    return {
        // Any event: which others there are, the method decides.
        onEvent: (event: { type?: unknown }) => {
            if (isProgress(event)) onProgress?.({ done: event.done, total: event.total });
            else onOther?.(event as Other);
        },
        ...(signal ? { signal } : {}),
    };
}

function isProgress(event: { type?: unknown }): event is messages.Progress {
    return event.type === 'progress';
}

/** One behind the other. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
    const out = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}

// Token ids cross the border as little-endian int32, whatever the machine's own order is.
export function tokensToBytes(tokens: ArrayLike<number>): Uint8Array {
    const bytes = new Uint8Array(tokens.length * 4);
    const view = new DataView(bytes.buffer);
    for (let i = 0; i < tokens.length; i++) view.setInt32(i * 4, tokens[i] ?? 0, true);
    return bytes;
}

export function tokensFromBytes(bytes: Uint8Array): Int32Array {
    if (bytes.length % 4 !== 0) throw new LapidaryError('internal', 'the engine returned a part of a token');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Int32Array.from({ length: bytes.length / 4 }, (_, i) => view.getInt32(i * 4, true));
}
