// Keeps the app usable without a network. The shell (page, scripts, engine) is one versioned cache that is replaced as a
// whole; the built-in model is another that only changes when the model does, so that an update does not download it again.
import { answerRange } from './ranges.js';

declare const __MODEL_PATH__: string;
declare const __MODEL_DIGEST__: string;

const worker = globalThis as unknown as ServiceWorkerGlobalScope;

// The build puts the real values here.
const shellFiles = JSON.parse('__SHELL_FILES__') as string[];
const shellCache = 'lapidary-shell-__SHELL_VERSION__';
const modelCache = `lapidary-model-${__MODEL_DIGEST__.slice(0, 12)}`;

const scope = worker.registration.scope;
const modelUrl = new URL(__MODEL_PATH__, scope).href;
const shellUrls = new Set(shellFiles.map((file) => new URL(file, scope).href));

worker.addEventListener('install', (event) => {
    event.waitUntil(
        (async () => {
            const cache = await caches.open(shellCache);
            // Past the browser's own cache: the shell must be of one piece.
            await cache.addAll([...shellUrls].map((url) => new Request(url, { cache: 'no-cache' })));
            await worker.skipWaiting();
        })(),
    );
});

worker.addEventListener('activate', (event) => {
    event.waitUntil(
        (async () => {
            const names = await caches.keys();
            // Tabs that are open still are of the version before, and load parts of it when they are first used.
            const before = names.filter((name) => name.startsWith('lapidary-shell-') && name !== shellCache).at(-1);
            const kept = [shellCache, modelCache, before];
            for (const name of names) {
                const ours = name.startsWith('lapidary-shell-') || name.startsWith('lapidary-model-');
                if (ours && !kept.includes(name)) await caches.delete(name);
            }
            await worker.clients.claim();
        })(),
    );
});

worker.addEventListener('fetch', (event) => {
    const { request } = event;
    if (request.method !== 'GET') return;
    const url = new URL(request.url);
    if (url.origin !== worker.location.origin) return;
    if (url.href === modelUrl) {
        event.respondWith(fromModelCache(request));
    } else if (request.mode === 'navigate' && isPage(url)) {
        event.respondWith(fromShell(new URL('./', scope).href, request));
    } else if (shellUrls.has(url.href)) {
        event.respondWith(fromShell(url.href, request));
    } else if (/\/assets\/(codec|lapidary-workshop|pdf)[-.][^/]*$/.test(url.pathname)) {
        event.respondWith(keptOnceUsed(url.href, request));
    } else if (url.href.startsWith(new URL('./assets/', scope).href)) {
        event.respondWith(fromAnyShell(url.href, request));
    }
});

/** The page itself, with or without a query; not another page of the same server. */
function isPage(url: URL): boolean {
    const page = new URL('./', scope).pathname;
    return url.pathname === page || url.pathname === `${page}index.html`;
}

async function fromShell(url: string, request: Request): Promise<Response> {
    const cache = await caches.open(shellCache);
    return (await cache.match(url, { ignoreVary: true })) ?? (await fetch(request));
}

/** For a tab of the version before. */
async function fromAnyShell(url: string, request: Request): Promise<Response> {
    return (await caches.match(url, { ignoreVary: true })) ?? (await fetch(request));
}

/** What few visitors need, such as the decoders of pictures: there without a network too for those who did. */
async function keptOnceUsed(url: string, request: Request): Promise<Response> {
    const cache = await caches.open(shellCache);
    const kept = await cache.match(url, { ignoreVary: true });
    if (kept) return kept;
    const response = await fetch(request);
    if (response.status === 200) await cache.put(url, response.clone()).catch(() => undefined);
    return response;
}

/** The page stores the model when it first downloads it; from then on it is answered from here. */
async function fromModelCache(request: Request): Promise<Response> {
    const cache = await caches.open(modelCache);
    const whole = await cache.match(modelUrl, { ignoreVary: true });
    return whole ? await answerRange(whole, request.headers.get('range')) : await fetch(request);
}
