import { cancelledError, throwIfCancelled } from '../error.js';

/** Waits; less when the browser says that it is online again. */
export async function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    throwIfCancelled(signal);
    // Outside browsers there is no such event, and not always somebody to ask.
    const events: Partial<Pick<EventTarget, 'addEventListener' | 'removeEventListener'>> = globalThis;
    await new Promise<void>((resolve, reject) => {
        const finish = (settle: () => void) => {
            clearTimeout(timer);
            signal?.removeEventListener('abort', stop);
            events.removeEventListener?.('online', online);
            settle();
        };
        const stop = () => finish(() => reject(cancelledError()));
        const online = () => finish(resolve);
        const timer = setTimeout(online, milliseconds);
        signal?.addEventListener('abort', stop);
        events.addEventListener?.('online', online);
    });
}
