// What the composer says while the model is on its way.
import type { TransferProgress } from '../engine/protocol.js';
import { formatDuration, formatPart } from './format.js';

/** In the box: short, as it must fit on one line of a phone. */
export const writeAlready = 'Write already';

const promise = 'What you send now is answered as soon as it is here.';

/** Under the box. */
export function waiting(progress: TransferProgress | undefined): string {
    if (!progress || progress.total === 0) return promise;
    const { done, total, secondsLeft = 0 } = progress;
    const left = secondsLeft > 1 ? `, ${formatDuration(secondsLeft)} left` : '';
    return `${formatPart(done, total)}${left}. ${promise}`;
}
