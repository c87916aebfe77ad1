// Why a model did not come, for programs that say it in their own words, and a sentence for those that do not.
import { StorageFullError } from '../cache/fs.js';
import { WrongBytesError } from '../cache/bring.js';
import { NotEnoughRoomError, formatBytes } from '../cache/quota.js';
import { LapidaryError, messageOf } from '../error.js';
import { Passing } from '../sources/http.js';
import { RefusedError } from '../sources/refused.js';

export type ProblemKind =
    /** It takes an account at the source, perhaps one that agreed to something there. */
    | 'account'
    | 'missing'
    /** The source asks to be left alone for a while. */
    | 'busy'
    /** No connection, or one that breaks off again and again. */
    | 'offline'
    | 'full'
    /** The bytes are not those that were promised, twice. */
    | 'wrong'
    /** There is no place to keep anything. */
    | 'nowhere'
    | 'stopped'
    | 'other';

export interface Problem {
    kind: ProblemKind;
    /** Of a `busy` source: how long it asks to wait, where it says so. */
    seconds?: number;
    /** Of a disk that is `full`, in bytes. */
    available?: number;
    needed?: number;
    /** What happened, what is safe, what to do; in English. */
    sentence: string;
    /** What was thrown, in its own words. */
    detail: string;
}

export function problemOf(error: unknown): Problem {
    const detail = messageOf(error);
    const say = (kind: ProblemKind, sentence: string, more: Partial<Problem> = {}): Problem => ({ kind, ...more, sentence, detail });
    const causes = [error, error instanceof Error ? error.cause : undefined];
    const refused = causes.find((cause) => cause instanceof RefusedError);
    if (refused?.status === 401 || refused?.status === 403) return say('account', 'This file needs an account at its source.');
    if (refused?.status === 404 || refused?.status === 410) return say('missing', 'The file is not there any more.');
    if (refused?.status === 429) return say('busy', busy(refused.waitSeconds), seconds(refused.waitSeconds));
    const passing = causes.find((cause) => cause instanceof Passing);
    if (passing?.waitSeconds !== undefined) return say('busy', busy(passing.waitSeconds), seconds(passing.waitSeconds));
    if (passing || refused) return say('offline', 'The connection is gone. What has arrived is checked and kept.');
    if (error instanceof NotEnoughRoomError) {
        const { available, needed } = error.shortage;
        const sentence = `There is room for ${formatBytes(available)} more, the model needs ${formatBytes(needed)}. Nothing was deleted.`;
        return say('full', sentence, { available, needed });
    }
    if (error instanceof StorageFullError) return say('full', 'There is no room left. Nothing was deleted.');
    if (error instanceof WrongBytesError) return say('wrong', 'It did not match its checksum, twice. Nothing of it was kept.');
    if (error instanceof LapidaryError && error.code === 'cancelled') return say('stopped', 'Stopped. What has arrived is kept.');
    return say('other', `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`);
}

function busy(wait: number | undefined): string {
    return wait === undefined ? 'The source is busy.' : `The source asks to wait ${wait} s.`;
}

function seconds(wait: number | undefined): Partial<Problem> {
    return wait === undefined ? {} : { seconds: wait };
}
