// The engine's side of a border: answers what engine/contract.ts says.
import { checkHere } from '../core/check-here.js';
import { LocalCore } from '../core/local.js';
import { LapidaryError } from '../error.js';
import { Moved } from '../rpc/contract.js';
import type { Port } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import { runtimeFor, type Runtime } from '../runtime.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { ByteSource } from '../sources/source.js';
import type { Log } from '../wasi.js';
import { mergeGenerated, type ClientCalls, type EngineCalls, type KeptSource, type PostedSource } from './contract.js';

/** `onClosed`: everything was given back, and the last word said. */
export function serveEngine(port: Port, onClosed: () => void = () => undefined): void {
    let core: LocalCore | undefined;
    const loaded = () => {
        if (!core) throw new LapidaryError('internal', 'the engine was asked before it was loaded');
        return core;
    };
    // Nothing here depends on what the other side answers, or on whether it does.
    const log: Log = (level, text) => void rpc.call('log', { level, text }).catch(() => undefined);
    const rpc: Rpc<ClientCalls, EngineCalls> = new Rpc<ClientCalls, EngineCalls>(
        port,
        {
            load: async ({ source, options }, { signal, emit }) => {
                const runtime = await runtimeFor(options);
                core = await LocalCore.start(await prepared(source, rpc, runtime), options, {
                    runtime,
                    log,
                    onProgress: emit,
                    onInfo: (info) => void rpc.call('info', info).catch(() => undefined),
                    onOpened: async (description, backend) =>
                        await rpc.call('opened', { description, backend }, { signal }),
                    signal,
                    worker: true,
                });
                return core.info;
            },
            generate: async (request, { signal, emit }) =>
                await loaded().generate(request, {
                    signal,
                    onEvent: (event) => emit({ event }),
                    onProgress: (progress) => emit({ progress }),
                }),
            tokenize: async ({ text, options }) => await loaded().tokenize(text, options),
            detokenize: async ({ tokens, options }) => await loaded().detokenize(tokens, options),
            measure: async (part, { signal }) => await loaded().measure(part, { signal }),
            workshop: async ({ method, args }, { signal, emit }) =>
                await loaded().workshop(method, args, { signal, onEvent: emit }),
            call: async ({ method, args, blob }, { signal, emit }) => {
                const result = await loaded().call(method, args, { blob, signal, onEvent: emit });
                return new Moved(result, [result.blob.buffer as ArrayBuffer]);
            },
            check: async ({ request, wasm }, { signal, emit }) => {
                const runtime = await runtimeFor({ ...(wasm === undefined ? {} : { wasm }), workshop: true });
                return await checkHere(runtime, request, { log, signal, onProgress: emit });
            },
            embed: async (request, { signal, emit }) => await loaded().embed(request, { signal, onProgress: emit }),
            score: async (request, { signal, emit }) => await loaded().score(request, { signal, onProgress: emit }),
            close: async () => {
                await core?.dispose();
                setTimeout(onClosed); // behind the answer to this
            },
            ping: async () => undefined,
        },
        { generate: mergeGenerated },
    );
}

async function prepared(source: PostedSource, rpc: Rpc<ClientCalls, EngineCalls>, { openFile }: Runtime): Promise<PreparedSource> {
    if (source.kind !== 'kept') return source;
    const sources = source.sources.map(async (kept, number) => {
        const file = kept.path === undefined ? undefined : await openFile?.(kept.path).catch(() => undefined);
        if (file?.size === kept.size) return file;
        await file?.close(); // another one is there by now
        return asked(kept, number, rpc);
    });
    return { ...source, kind: 'open', sources: await Promise.all(sources) };
}

/** Its bytes are on the other side, which also closes it. */
function asked({ size, name }: KeptSource, number: number, rpc: Rpc<ClientCalls, EngineCalls>): ByteSource {
    return {
        size,
        name,
        read: async (offset, length, signal) => await rpc.call('read', { source: number, offset, length }, { signal }),
        close: async () => undefined,
    };
}
