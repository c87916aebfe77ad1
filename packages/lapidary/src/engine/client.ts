// The engine on the other side of a border, seen from here.
import type { CallContext, Core, EmbedRequest, Embedded, GenerateContext, RawContext, ScoreRequest } from '../core/core.js';
import type { CoreOptions } from '../core/local.js';
import type { CallResult } from '../engine.js';
import { LapidaryError, cancelledError } from '../error.js';
import type { MediaInfo, MediaPart } from '../media/parts.js';
import type { TokenizeOptions } from '../model.js';
import type { EngineInfo, LoadOptions, LoadProgress } from '../options.js';
import { Moved } from '../rpc/contract.js';
import type { Port } from '../rpc/port.js';
import { Rpc } from '../rpc/rpc.js';
import type { GenerateRequest, GenerateResult, Logprob } from '../session.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { ByteSource } from '../sources/source.js';
import type { Log } from '../wasi.js';
import type { AskWorkshop } from '../workshop/calls.js';
import type { ClientCalls, EngineCalls, PostedSource } from './contract.js';

export interface ClientContext {
    log: Log;
    onProgress?: ((progress: LoadProgress) => void) | undefined;
    onInfo?: ((info: EngineInfo) => void) | undefined;
    onOpened?: LoadOptions['onOpened'] | undefined;
    signal?: AbortSignal | undefined;
    /** Ends the other side. `close` asks it to give everything back, for one that must not be ended before. */
    end(close: () => Promise<void>): void | Promise<void>;
}

type EngineRpc = Rpc<EngineCalls, ClientCalls>;

export class EngineClient implements Core {
    private disposed = false;

    private constructor(
        private readonly rpc: EngineRpc,
        private readonly kept: readonly ByteSource[],
        private readonly end: ClientContext['end'],
        private current: EngineInfo,
    ) {}

    /** `onFailure` is given what to call with what may go wrong on the other side itself, at any time. */
    static async start(
        port: Port,
        source: PreparedSource,
        options: CoreOptions,
        { log, onProgress, onInfo, onOpened, signal, end }: ClientContext,
        onFailure: (fail: (error: LapidaryError) => void) => void,
    ): Promise<EngineClient> {
        const kept = source.kind === 'open' ? source.sources : [];
        let core: EngineClient | undefined;
        const rpc: EngineRpc = new Rpc<EngineCalls, ClientCalls>(port, {
            log: async ({ level, text }) => log(level, text),
            info: async (info) => {
                if (core) core.current = info;
                onInfo?.(info);
            },
            opened: async ({ description, backend }) => await onOpened?.(description, backend),
            read: async ({ source: number, offset, length }, { signal: stop }) => {
                const bytes = await kept[number]?.read(offset, length, stop);
                if (!bytes) throw new LapidaryError('internal', `there is no source ${number}`);
                // A source may give a part of something larger, which must not move away from it.
                const own = bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
                return new Moved(own, [own.buffer as ArrayBuffer]);
            },
        });
        onFailure((error) => rpc.close(error));
        const posted: PostedSource =
            source.kind === 'open'
                ? { ...source, kind: 'kept', sources: kept.map(({ size, name, path }) => ({ size, name, path })) }
                : source;
        try {
            const info = await rpc.call('load', { source: posted, options }, { signal, onEvent: onProgress });
            core = new EngineClient(rpc, kept, end, info);
            return core;
        } catch (error) {
            await Promise.allSettled(kept.map((one) => one.close()));
            await end(async () => await rpc.call('close', undefined).catch(() => undefined));
            throw signal?.aborted ? cancelledError() : error;
        }
    }

    get info(): EngineInfo {
        return this.current;
    }

    async generate(request: GenerateRequest, { signal, onEvent, onProgress }: GenerateContext): Promise<GenerateResult> {
        return await this.rpc.call('generate', request, {
            signal,
            onEvent: (message) => ('event' in message ? onEvent?.(message.event) : onProgress?.(message.progress)),
        });
    }

    async tokenize(text: string, options: Omit<TokenizeOptions, 'pieces'>): Promise<Int32Array> {
        return await this.rpc.call('tokenize', { text, options });
    }

    async detokenize(tokens: ArrayLike<number>, options: { special?: boolean }): Promise<string> {
        return await this.rpc.call('detokenize', { tokens: Int32Array.from(tokens), options });
    }

    async embed(request: EmbedRequest, { signal, onProgress }: CallContext): Promise<Embedded> {
        return await this.rpc.call('embed', request, { signal, onEvent: onProgress });
    }

    async score(request: ScoreRequest, { signal, onProgress }: CallContext): Promise<Logprob[]> {
        return await this.rpc.call('score', request, { signal, onEvent: onProgress });
    }

    async measure(part: MediaPart, { signal }: CallContext): Promise<MediaInfo> {
        return await this.rpc.call('measure', part, { signal });
    }

    readonly workshop: AskWorkshop = async (method, args, { signal, onEvent } = {}) =>
        (await this.rpc.call('workshop', { method, args: args as never }, { signal, onEvent })) as never; // as WorkshopCalls says

    async call(method: string, args: object, { blob, signal, onEvent }: RawContext): Promise<CallResult> {
        return await this.rpc.call('call', { method, args, blob }, { signal, onEvent });
    }

    /** Whether the other side still answers. */
    async ping(): Promise<void> {
        await this.rpc.call('ping', undefined);
    }

    async dispose(): Promise<void> {
        if (this.disposed) return;
        this.disposed = true;
        const over = new LapidaryError('cancelled', 'the engine was disposed of');
        await this.end(async () => {
            const closed = this.rpc.call('close', undefined).catch(() => undefined);
            await closed;
        });
        this.rpc.close(over);
        await Promise.allSettled(this.kept.map((source) => source.close()));
    }
}
