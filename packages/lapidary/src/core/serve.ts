// The engine in a worker, seen from the worker: answers what core/remote.ts asks.
import { LapidaryError } from '../error.js';
import type { TokenizeOptions } from '../model.js';
import type { LoadProgress } from '../options.js';
import { runtimeFor } from '../runtime.js';
import type { GenerateRequest } from '../session.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { ByteSource } from '../sources/source.js';
import type { WorkshopMethod } from '../workshop/calls.js';
import type { Log } from '../wasi.js';
import type { CheckArgs } from './check.js';
import { checkHere } from './check-here.js';
import type { EmbedRequest, ScoreRequest } from './core.js';
import { LocalCore } from './local.js';
import { Moved, Peer, type Port } from './peer.js';
import type { GenerateMessage, LoadArgs, OpenedArgs, PostedSource, RawArgs, ReadArgs } from './remote.js';

export function serveCore(port: Port): void {
    let core: LocalCore | undefined;
    const loaded = () => {
        if (!core) throw new LapidaryError('internal', 'the engine was asked before it was loaded');
        return core;
    };
    /** Nothing here depends on what the page answers, or on whether it does. */
    const tellPage = (method: string, args: unknown) => void peer.call(method, args).catch(() => undefined);
    const peer: Peer = new Peer(port, {
        load: async ({ source, options }: LoadArgs, { signal, emit }) => {
            core = await LocalCore.start(prepared(source, peer), options, {
                runtime: await runtimeFor(options),
                log: (level, text) => tellPage('log', { level, text }),
                onProgress: (progress: LoadProgress) => emit(progress),
                onInfo: (info) => tellPage('info', info),
                onOpened: async (description, backend) => {
                    const args: OpenedArgs = { description, backend };
                    await peer.call('opened', args, { signal });
                },
                signal,
                worker: true,
            });
            return core.info;
        },
        generate: async (request: GenerateRequest, { signal, emit }) => {
            const tell = (message: GenerateMessage) => emit(message);
            return await loaded().generate(request, {
                signal,
                onEvent: (event) => tell({ event }),
                onProgress: (progress) => tell({ progress }),
            });
        },
        tokenize: async ({ text, options }: { text: string; options: TokenizeOptions }) =>
            await loaded().tokenize(text, options),
        detokenize: async ({ tokens, options }: { tokens: Int32Array; options: { special?: boolean } }) =>
            await loaded().detokenize(tokens, options),
        workshop: async ({ method, args }: { method: WorkshopMethod; args: never }, { signal, emit }) =>
            await loaded().workshop(method, args, { signal, onEvent: emit }),
        call: async ({ method, args, blob }: RawArgs, { signal, emit }) => {
            const result = await loaded().call(method, args, { blob, signal, onEvent: emit });
            return new Moved(result, [result.blob.buffer as ArrayBuffer]);
        },
        check: async ({ request, wasm }: CheckArgs, { signal, emit }) => {
            const runtime = await runtimeFor({ ...(wasm === undefined ? {} : { wasm }), workshop: true });
            const log: Log = (level, text) => tellPage('log', { level, text });
            return await checkHere(runtime, request, { log, signal, onProgress: emit });
        },
        embed: async (request: EmbedRequest, { signal, emit }) =>
            await loaded().embed(request, { signal, onProgress: emit }),
        score: async (request: ScoreRequest, { signal, emit }) =>
            await loaded().score(request, { signal, onProgress: emit }),
    });
}

function prepared(source: PostedSource, peer: Peer): PreparedSource {
    if (source.kind !== 'kept') return source;
    return {
        ...source,
        kind: 'open',
        sources: source.sources.map(({ size, name }, number): ByteSource => ({
            size,
            name,
            read: async (offset, length, signal) => {
                const args: ReadArgs = { source: number, offset, length };
                return await peer.call<Uint8Array>('read', args, { signal });
            },
            close: async () => undefined, // the page does
        })),
    };
}
