// The engine in a worker, seen from the page.
import type { CallResult } from '../engine.js';
import { LapidaryError, cancelledError } from '../error.js';
import type { Backend, Progress, TokenizeOptions } from '../model.js';
import type { JsonObject } from '../json.js';
import type { EngineInfo, LoadOptions, LoadProgress } from '../options.js';
import type { GenerateEvent, GenerateRequest, GenerateResult, Logprob } from '../session.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { ByteSource } from '../sources/source.js';
import type { Log, LogLevel } from '../wasi.js';
import type { AskWorkshop } from '../workshop/calls.js';
import type { CallContext, Core, EmbedRequest, Embedded, GenerateContext, RawContext, ScoreRequest } from './core.js';
import type { CoreOptions } from './local.js';
import { Moved, Peer, type Port } from './peer.js';

/** Sources that are open in the page stay there; the worker asks for their bytes. */
export type PostedSource =
    | Exclude<PreparedSource, { kind: 'open' }>
    | { kind: 'kept'; sources: { size: number; name: string }[]; sha256?: string };

export interface ReadArgs {
    source: number;
    offset: number;
    length: number;
}

export interface LoadArgs {
    source: PostedSource;
    options: CoreOptions;
}

export interface OpenedArgs {
    description: JsonObject;
    backend: Backend;
}

export interface RawArgs {
    method: string;
    args: object;
    blob: Uint8Array | undefined;
}

export type GenerateMessage = { progress: Progress } | { event: GenerateEvent };

export interface RemoteContext {
    log: Log;
    onProgress?: ((progress: LoadProgress) => void) | undefined;
    onInfo?: ((info: EngineInfo) => void) | undefined;
    onOpened?: LoadOptions['onOpened'] | undefined;
    signal?: AbortSignal | undefined;
    /** Ends the worker. */
    terminate(): void;
}

export class RemoteCore implements Core {
    private disposed = false;

    private constructor(
        private readonly peer: Peer,
        private readonly kept: readonly ByteSource[],
        private readonly terminate: () => void,
        private current: EngineInfo,
    ) {}

    /** `failed` is called with what may go wrong in the worker itself, at any time. */
    static async start(
        port: Port,
        source: PreparedSource,
        options: CoreOptions,
        { log, onProgress, onInfo, onOpened, signal, terminate }: RemoteContext,
        onFailure: (fail: (error: LapidaryError) => void) => void,
    ): Promise<RemoteCore> {
        const kept = source.kind === 'open' ? source.sources : [];
        let core: RemoteCore | undefined;
        const peer: Peer = new Peer(port, {
            log: async ({ level, text }: { level: LogLevel; text: string }) => log(level, text),
            info: async (info: EngineInfo) => {
                if (core) core.current = info;
                onInfo?.(info);
            },
            opened: async ({ description, backend }: OpenedArgs) => await onOpened?.(description, backend),
            read: async ({ source: number, offset, length }: ReadArgs, { signal: stop }) => {
                const bytes = await kept[number]?.read(offset, length, stop);
                if (!bytes) throw new LapidaryError('internal', `there is no source ${number}`);
                // A source may give a part of something larger, which must not move away from it.
                const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
                return new Moved(own, [own.buffer as ArrayBuffer]);
            },
        });
        onFailure((error) => peer.close(error));
        const posted: PostedSource =
            source.kind === 'open'
                ? { ...source, kind: 'kept', sources: kept.map(({ size, name }) => ({ size, name })) }
                : source;
        try {
            const args: LoadArgs = { source: posted, options };
            const info = await peer.call<EngineInfo>('load', args, { signal, onEvent: onProgress });
            core = new RemoteCore(peer, kept, terminate, info);
            return core;
        } catch (error) {
            await Promise.allSettled(kept.map((one) => one.close()));
            throw signal?.aborted ? cancelledError() : error;
        }
    }

    get info(): EngineInfo {
        return this.current;
    }

    async generate(request: GenerateRequest, context: GenerateContext): Promise<GenerateResult> {
        return await this.peer.call('generate', request, {
            signal: context.signal,
            onEvent: (message: GenerateMessage) => {
                if ('event' in message) context.onEvent?.(message.event);
                else context.onProgress?.(message.progress);
            },
        });
    }

    async tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'>): Promise<Int32Array> {
        return await this.peer.call('tokenize', { text, options });
    }

    async detokenize(tokens: ArrayLike<number>, options: { special?: boolean }): Promise<string> {
        return await this.peer.call('detokenize', { tokens: Int32Array.from(tokens), options });
    }

    async embed(request: EmbedRequest, { signal, onProgress }: CallContext): Promise<Embedded> {
        return await this.peer.call('embed', request, { signal, onEvent: onProgress });
    }

    async score(request: ScoreRequest, { signal, onProgress }: CallContext): Promise<Logprob[]> {
        return await this.peer.call('score', request, { signal, onEvent: onProgress });
    }

    readonly workshop: AskWorkshop = async (method, args, { signal, onEvent } = {}) =>
        await this.peer.call('workshop', { method, args }, { signal, onEvent });

    async call(method: string, args: object, { blob, signal, onEvent }: RawContext): Promise<CallResult> {
        const sent: RawArgs = { method, args, blob };
        return await this.peer.call('call', sent, { signal, onEvent });
    }

    async dispose(): Promise<void> {
        if (this.disposed) return;
        this.disposed = true;
        // Ending the worker frees everything at once, also a GPU that is busy; nothing in it needs a last word.
        this.peer.close(new LapidaryError('cancelled', 'the engine was disposed of'));
        this.terminate();
        await Promise.allSettled(this.kept.map((source) => source.close()));
    }
}
