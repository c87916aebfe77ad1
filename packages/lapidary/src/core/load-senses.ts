// Loads what most conversations do without.
import { LapidaryError, messageOf } from '../error.js';
import { codecAddresses, importFrom, sensesAddress } from '../media/addresses.js';
import type * as Senses from './senses.js';

export async function loadSenses(): Promise<typeof Senses> {
    try {
        const senses = (await importFrom(sensesAddress())) as typeof Senses;
        senses.useCodecs(codecAddresses());
        return senses;
    } catch (cause) {
        throw new LapidaryError('io', `what reads pictures and sounds could not be loaded: ${messageOf(cause)}`, { cause });
    }
}
