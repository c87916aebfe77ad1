// How often Dawn asks a software GPU for news.

/**
 * While anything is under way Dawn comes back at every turn of the event loop, which keeps a core busy. To a real GPU
 * that is no matter and brings its answers sooner; a software GPU wants that core for itself. From here on functions
 * that are not JavaScript's, Dawn's among them, wait a millisecond where they asked to be called at once.
 */
export function makeDawnPatient(): void {
    const immediately = globalThis.setImmediate;
    const patiently = (callback: (...args: unknown[]) => void, ...args: unknown[]) =>
        isNative(callback) ? setTimeout(callback, 1, ...args) : immediately(callback, ...args);
    // Node hangs another function on it, for promises.
    globalThis.setImmediate = Object.assign(patiently, immediately) as unknown as typeof setImmediate;
}

function isNative(callback: unknown): boolean {
    return typeof callback === 'function' && /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(callback));
}
