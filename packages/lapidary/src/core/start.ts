// Where the engine runs: in a worker of its own in a page, in this thread elsewhere.
import { LapidaryError } from '../error.js';
import type { LoadOptions, ModelSource } from '../options.js';
import type { Core } from './core.js';

export async function startCore(_source: ModelSource, _options: LoadOptions): Promise<Core> {
    throw new LapidaryError('unsupported', 'not there yet');
}
