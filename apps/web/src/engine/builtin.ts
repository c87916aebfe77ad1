// The model that comes with the app: downloaded once as a whole, checked, and kept in the cache from which the service
// worker answers too, so that the app works without a network from the second moment on.

declare const __MODEL_PATH__: string;
declare const __MODEL_BYTES__: number;
declare const __MODEL_DIGEST__: string;

export const builtinBytes = __MODEL_BYTES__;

interface Options {
    onProgress: (done: number, total: number) => void;
    signal: AbortSignal;
}

export async function openBuiltin({ onProgress, signal }: Options): Promise<File> {
    const url = new URL(__MODEL_PATH__, document.baseURI).href;
    const name = url.split('/').pop() ?? 'model.gguf';
    const cache = await openCache();
    const kept = await (await cache?.match(url))?.blob();
    if (kept && (await isGenuine(kept))) return new File([kept], name);
    if (kept) await cache?.delete(url); // damaged: get it again
    const blob = await download(url, onProgress, signal);
    if (!(await isGenuine(blob))) {
        throw new Error('the built-in model arrived damaged; reload the page to try again');
    }
    try {
        await cache?.put(url, new Response(blob, { headers: { 'content-type': 'application/octet-stream' } }));
    } catch {
        // No room: then it is downloaded again next time.
    }
    return new File([blob], name);
}

/** Undefined where the browser keeps nothing, as on pages that are not secure. */
async function openCache(): Promise<Cache | undefined> {
    try {
        return await caches.open(`lapidary-model-${__MODEL_DIGEST__.slice(0, 12)}`);
    } catch {
        return undefined;
    }
}

async function download(url: string, onProgress: Options['onProgress'], signal: AbortSignal): Promise<Blob> {
    const response = await fetch(url, { signal });
    if (!response.ok || !response.body) {
        throw new Error(`the built-in model could not be downloaded: the server answered ${response.status}`);
    }
    const reader = response.body.getReader();
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    let done = 0;
    for (;;) {
        const piece = await reader.read();
        if (piece.done) break;
        pieces.push(piece.value);
        done += piece.value.length;
        onProgress(done, builtinBytes);
    }
    return new Blob(pieces);
}

async function isGenuine(blob: Blob): Promise<boolean> {
    if (blob.size !== builtinBytes) return false;
    const subtle = crypto.subtle as SubtleCrypto | undefined;
    if (!subtle) return true; // not a secure page: the length must do
    const digest = new Uint8Array(await subtle.digest('SHA-256', await blob.arrayBuffer()));
    return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('') === __MODEL_DIGEST__;
}
