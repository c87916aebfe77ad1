// What a row of the catalogue shows and what its button does, from what is known of the model, the device and what has
// arrived. No words and no drawing: the same state stands in the list, in the offer and in a search.
import type { Prediction } from 'lapidary/hub';

/** Of a download that was begun in this tab or another. */
export type Transfer =
    | { is: 'queued' }
    | { is: 'downloading' | 'checking'; done: number; total: number; rate: number; secondsLeft?: number; again?: boolean }
    /** `problem`: it was not the person who paused it. */
    | { is: 'paused' | 'failed'; done: number; total: number; problem?: Trouble };

export interface Trouble {
    sentence: string;
    /** It goes on by itself. */
    automatic?: boolean;
}

/** What of it is on this device. */
export interface Presence {
    complete: boolean;
    have: number;
    bytes: number | undefined;
}

export type RowState =
    | { is: 'offered' }
    | { is: 'too large' }
    /** It fits, but this browser has no place for it. */
    | { is: 'no place' }
    | Transfer
    | { is: 'kept' }
    | { is: 'answering' };

export interface Known {
    prediction: Prediction | undefined;
    presence: Presence | undefined;
    transfer: Transfer | undefined;
    answering: boolean;
    /** Whether this browser keeps anything at all. */
    keeps: boolean;
}

export function rowState({ prediction, presence, transfer, answering, keeps }: Known): RowState {
    if (answering) return { is: 'answering' };
    if (transfer) return transfer;
    if (presence?.complete) return { is: 'kept' };
    if (presence) return { is: 'paused', done: presence.have, total: presence.bytes ?? 0 };
    if (prediction && !prediction.fits) return { is: 'too large' };
    return keeps ? { is: 'offered' } : { is: 'no place' };
}

/** From 0 to 1; undefined where nobody knows how much there is. */
export function shareOf(state: RowState): number | undefined {
    if (!('total' in state) || state.total <= 0) return undefined;
    return Math.min(1, state.done / state.total);
}

/** Which come first: what fits and is recommended, then by size. */
export function inOrder<Entry extends { id: string; bytes: { about: number } }>(
    entries: readonly Entry[],
    recommended: string | undefined,
): Entry[] {
    const rank = ({ id }: Entry) => (id === recommended ? 0 : 1);
    return [...entries].sort((a, b) => rank(a) - rank(b) || a.bytes.about - b.bytes.about);
}
