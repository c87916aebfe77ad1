// Where the engine runs: in a worker of its own in a page, in this thread elsewhere.
import { LapidaryError, messageOf, throwIfCancelled } from '../error.js';
import { isObject } from '../json.js';
import { kvFormats } from '../kv-format.js';
import type { LoadOptions, ModelSource } from '../options.js';
import { Fields, defined } from '../dialects/fields.js';
import { prepareSource, type PreparedSource, type Surroundings } from '../sources/prepared.js';
import { isNode } from '../surroundings.js';
import type { Log } from '../wasi.js';
import type { Core } from './core.js';
import type { CoreOptions } from './local.js';
import { EngineClient } from '../engine/client.js';
import { workerPort } from '../rpc/port.js';

export async function startCore(source: ModelSource, options: LoadOptions): Promise<Core> {
    const here = { hasDisk: isNode(), base: ownAddress() };
    const core = checkOptions(options, here);
    throwIfCancelled(options.signal);
    const prepared = prepareSource(source, options, here);
    if (prepared.kind === 'shelf' && !here.hasDisk) {
        const id = (await import('../catalogue/catalogue.js')).findEntry(prepared.name)?.id; // the engine's side has no catalogue
        if (id !== undefined) prepared.id = id;
    }
    const log: Log = options.log ?? (() => undefined);
    const worker = wantsWorker(options) ? await startWorker(options, log) : undefined;
    if (worker) return await startRemote(worker, prepared, core, options, log);
    // Not at the top: with a worker, the page itself never needs the engine's part of the library.
    const { startLocal } = await import('./in-process.js');
    return await startLocal(prepared, core, options, log);
}

/** What relative addresses are relative to. */
function ownAddress(): string | undefined {
    if (typeof document === 'object') return document.baseURI;
    return typeof location === 'object' ? location.href : undefined;
}

/** The engine's module, or an address of it that means the same in a worker; a URL cannot be posted. */
export function postable(wasm: LoadOptions['wasm']): Exclude<LoadOptions['wasm'], URL> {
    if (wasm instanceof URL) return wasm.href;
    if (typeof wasm !== 'string') return wasm;
    try {
        return new URL(wasm, ownAddress()).href;
    } catch {
        return wasm; // who fetches it will say what is wrong
    }
}

export function checkOptions(options: LoadOptions, here: Surroundings): CoreOptions {
    const fields = new Fields(options);
    const { wasm, adapters, mmproj, sha256: _, ...about } = options;
    const found = isObject(mmproj) && 'found' in mmproj ? (mmproj['found'] as ModelSource) : undefined;
    const wanted = found ?? (mmproj as ModelSource | undefined);
    const projector = wanted === undefined ? undefined : prepareSource(wanted, about, here);
    if (projector?.kind === 'open') throw new LapidaryError('invalid_argument', `'mmproj' must be an address, a file or a Blob`);
    return defined({
        accuracy: fields.oneOf('accuracy', ['exact', 'fast', 'reference']),
        backend: fields.oneOf('backend', ['gpu', 'cpu', 'auto']),
        contextLength: fields.integer('contextLength', 1, Number.MAX_SAFE_INTEGER),
        kv: fields.oneOf('kv', kvFormats),
        maxConversations: fields.integer('maxConversations', 1, 1000),
        memoryBudget: fields.number('memoryBudget', 0, Number.MAX_SAFE_INTEGER),
        perLayerEmbeddings: fields.oneOf('perLayerEmbeddings', ['auto', 'gpu', 'source']),
        roomy: fields.boolean('roomy'),
        rememberGpu: fields.boolean('rememberGpu'),
        threads: fields.integer('threads', 1, 32),
        workshop: fields.boolean('workshop'),
        fetchMedia: fields.boolean('fetchMedia'),
        adapters,
        mmproj: projector,
        mmprojFound: found === undefined ? undefined : true,
        wasm: postable(wasm),
    });
}

/** A page has better things to do than computing; a worker that loads a model is a worker already. */
export function wantsWorker({ worker, gpu }: Pick<LoadOptions, 'worker' | 'gpu'>): boolean {
    if (typeof worker === 'function') return true;
    if (gpu !== undefined) return false; // it cannot be posted
    return worker ?? (typeof document === 'object' && typeof Worker === 'function');
}

/** Undefined, with a line in the log, when there is no way to have one: the engine then runs in the page. */
export async function startWorker({ worker: make }: Pick<LoadOptions, 'worker'>, log: Log): Promise<Worker | undefined> {
    let worker: Worker | undefined;
    try {
        worker =
            typeof make === 'function'
                ? make()
                : new Worker(new URL('../worker.js', import.meta.url), { type: 'module', name: 'lapidary' });
        await greeting(worker);
        return worker;
    } catch (error) {
        worker?.terminate();
        const why = `a worker could not be started (${messageOf(error)})`;
        log('warning', `the engine runs in the page, which may stutter: ${why}`);
        return undefined;
    }
}

/** A worker says a word when it is there; a script that is missing or forbidden shows as an error. */
async function greeting(worker: Worker): Promise<void> {
    await new Promise<void>((resolve, reject) => {
        worker.addEventListener('message', () => resolve(), { once: true });
        worker.addEventListener('error', (event) => {
            reject(new LapidaryError('io', event.message || 'its script could not be loaded'));
        });
    });
}

async function startRemote(
    worker: Worker,
    prepared: PreparedSource,
    core: CoreOptions,
    { onProgress, onInfo, onOpened, signal }: LoadOptions,
    log: Log,
): Promise<Core> {
    // Ending a worker frees everything at once, also a GPU that is busy; nothing in it needs a last word.
    const context = { log, onProgress, onInfo, onOpened, signal, end: () => worker.terminate() };
    return await EngineClient.start(workerPort(worker), prepared, core, context, (fail) => {
        worker.addEventListener('error', (event) => {
            event.preventDefault();
            const why = event.message || 'no reason was given';
            fail(new LapidaryError('internal', `the engine's worker stopped: ${why}`));
        });
        worker.addEventListener('messageerror', () => {
            fail(new LapidaryError('internal', `the engine's worker said something that cannot be read`));
        });
    });
}
