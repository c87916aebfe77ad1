// The bridge to the engine: numbered calls with JSON and bytes go in, events and results come out, and in between
// the engine asks us to read, to write or to wait. The engine never blocks; we never call it from inside itself.
import type { CpuInfo, CpuKernels, CpuOptions } from './cpu/kernels.js';
import { LapidaryError, cancelledError, isErrorCode, messageOf } from './error.js';
import { GpuHost, type GpuOption } from './gpu/host.js';
import type { GpuLedger } from './gpu/ledger.js';
import { parseObject, type JsonObject } from './json.js';
import type { Method, Methods } from './messages.js';
import { readExactly, type ByteSink, type ByteSource } from './sources/source.js';
import { ProcessExit, fillMissing, wasiImports, type Log, type LogLevel } from './wasi.js';

/** What the module exports: the engine's C ABI. */
export interface EngineExports {
    memory: WebAssembly.Memory;
    _initialize?: () => void;
    lapidary_alloc(bytes: number): number;
    lapidary_free(pointer: number): void;
    lapidary_call(
        call: number,
        method: number,
        methodLength: number,
        json: number,
        jsonLength: number,
        blob: number,
        blobLength: number,
    ): void;
    lapidary_cancel(call: number): void;
    lapidary_complete(operation: number, error: number, errorLength: number): void;
}

export interface EngineOptions {
    /** Where the engine's log lines go; nowhere unless told. */
    log?: Log;
    /**
     * `navigator.gpu`, or a function that finds WebGPU; it is asked when the engine first wants a GPU. Without it the
     * engine computes on the CPU.
     */
    gpu?: GpuOption | undefined;
    /** Loads the kernels of the CPU, when a model is first loaded for it. Without it the reference computes. */
    cpu?: ((options: CpuOptions) => Promise<CpuKernels>) | undefined;
}

export interface CallOptions<Event = JsonObject> {
    blob?: Uint8Array;
    onEvent?: (event: Event) => void;
    signal?: AbortSignal;
}

export interface CallResult<Result = JsonObject> {
    json: Result;
    blob: Uint8Array;
}

/** What a method takes, tells and gives; of one that is not known by name, anything. */
type ArgsOf<M extends string> = M extends Method ? Methods[M]['args'] : object;
type EventOf<M extends string> = M extends Method ? Methods[M]['event'] : JsonObject;
type ResultOf<M extends string> = M extends Method ? Methods[M]['result'] : JsonObject;

interface PendingCall {
    resolve(result: CallResult): void;
    reject(error: unknown): void;
    onEvent: ((event: JsonObject) => void) | undefined;
    /** The signal was followed: whatever the engine says now, the caller hears "cancelled". */
    cancelled: boolean;
}

interface OpenSource {
    source: ByteSource;
    /** The reads under way, so that they can be stopped. */
    reads: Set<AbortController>;
}

const logLevels: readonly LogLevel[] = ['debug', 'info', 'warning', 'error'];
const exportedFunctions = [
    'lapidary_alloc',
    'lapidary_free',
    'lapidary_call',
    'lapidary_cancel',
    'lapidary_complete',
] as const;

export class Engine {
    private exports: EngineExports | undefined;
    private readonly calls = new Map<number, PendingCall>();
    private readonly sources = new Map<number, OpenSource>();
    private readonly sinks = new Map<number, ByteSink>();
    private lastNumber = 0;
    private failure: LapidaryError | undefined;
    private readonly log: Log;
    private readonly decoder = new TextDecoder();
    private readonly encoder = new TextEncoder();
    private readonly afterwards = macrotasks();
    private readonly gpu: GpuHost;
    private cpu: CpuKernels | undefined;

    private constructor(private readonly options: EngineOptions) {
        this.log = (level, text) => {
            try {
                options.log?.(level, text);
            } catch {
                // An exception must not travel through the engine's frames: they would never be cleaned up.
            }
        };
        this.gpu = new GpuHost(options.gpu, {
            view: (pointer, length) => this.view(pointer, length),
            text: (pointer, length) => this.text(pointer, length),
            settle: (operation, work) => this.settle(operation, work),
            log: this.log,
        });
    }

    /** From the bytes of lapidary.wasm, a compiled module, or the URL to fetch it from. */
    static async load(
        wasm: BufferSource | WebAssembly.Module | URL | string,
        options: EngineOptions = {},
    ): Promise<Engine> {
        return await Engine.connect(async (imports) => {
            const module = await compile(wasm);
            const instance = await WebAssembly.instantiate(module, fillMissing(module, imports));
            return checkExports(instance.exports);
        }, options);
    }

    /** The same over anything that behaves like the module. Tests put a stand-in here. */
    static async connect(
        instantiate: (imports: WebAssembly.Imports) => Promise<EngineExports>,
        options: EngineOptions = {},
    ): Promise<Engine> {
        const engine = new Engine(options);
        engine.exports = await instantiate({
            host: engine.hostImports(),
            gpu: engine.gpu.imports(),
            cpu: engine.cpuImports(),
            wasi_snapshot_preview1: wasiImports(() => engine.memory, engine.log),
        });
        engine.enter((exports) => exports._initialize?.());
        if (engine.failure) throw engine.failure;
        return engine;
    }

    /** False after a trap or `close`: this engine will not answer any more. */
    get usable(): boolean {
        return this.failure === undefined;
    }

    /** Before a model is loaded for the CPU; only the first call decides. Without kernels the engine has slower ways. */
    async openCpu(options: CpuOptions = {}): Promise<CpuInfo | undefined> {
        try {
            this.cpu ??= await this.options.cpu?.({ log: this.log, ...options });
        } catch (error) {
            if (error instanceof LapidaryError && error.code === 'invalid_argument') throw error;
            this.log('warning', `the CPU computes slowly, without its kernels: ${messageOf(error)}`);
        }
        if (this.failure) this.cpu?.close();
        return this.cpu?.info;
    }

    /** The CPU's kernels, once they were opened. */
    get cpuInfo(): CpuInfo | undefined {
        return this.cpu?.info;
    }

    /** Bytes of WebAssembly memory in use; it never shrinks. */
    get memoryBytes(): number {
        return this.memory.buffer.byteLength;
    }

    /** What the engine holds on the GPU right now: whatever was made must be given back. */
    get gpuLedger(): GpuLedger {
        return this.gpu.ledger();
    }

    async call<M extends string>(
        method: M,
        args: ArgsOf<M>,
        options: CallOptions<EventOf<M>> = {},
    ): Promise<CallResult<ResultOf<M>>> {
        const { blob, signal } = options;
        // The engine keeps to the types: its side of them and ours come from the same tables.
        const onEvent = options.onEvent as ((event: JsonObject) => void) | undefined;
        return (await this.send(method, args, blob, onEvent, signal)) as CallResult<ResultOf<M>>;
    }

    private async send(
        method: string,
        args: object,
        blob: Uint8Array | undefined,
        onEvent: ((event: JsonObject) => void) | undefined,
        signal: AbortSignal | undefined,
    ): Promise<CallResult> {
        if (this.failure) throw this.failure;
        if (signal?.aborted) throw cancelledError();
        const number = ++this.lastNumber;
        let cancel: (() => void) | undefined;
        try {
            return await new Promise<CallResult>((resolve, reject) => {
                const pending: PendingCall = { resolve, reject, onEvent, cancelled: false };
                // Before the engine is entered: it may finish the call while it is in there.
                this.calls.set(number, pending);
                this.post(number, method, args, blob);
                cancel = () => {
                    pending.cancelled = true;
                    this.enter((exports) => exports.lapidary_cancel(number));
                    // Reads do not say for which call they are; when nobody waits any more, none is needed. Without
                    // this a stopped call could still wait for a slow server.
                    if ([...this.calls.values()].every((call) => call.cancelled)) this.stopReads();
                };
                signal?.addEventListener('abort', cancel);
            });
        } finally {
            this.calls.delete(number);
            if (cancel) signal?.removeEventListener('abort', cancel);
        }
    }

    /** The number by which the engine knows the source. The caller still owns the source and closes it. */
    addSource(source: ByteSource): number {
        const number = ++this.lastNumber;
        this.sources.set(number, { source, reads: new Set() });
        return number;
    }

    /** Reads under way from it are stopped. */
    removeSource(number: number): void {
        for (const read of this.sources.get(number)?.reads ?? []) read.abort();
        this.sources.delete(number);
    }

    addSink(sink: ByteSink): number {
        const number = ++this.lastNumber;
        this.sinks.set(number, sink);
        return number;
    }

    removeSink(number: number): void {
        this.sinks.delete(number);
    }

    /**
     * Ends this engine: who still waits is told, and the GPU is given back with all its memory, at once rather than
     * when someone collects garbage.
     */
    close(): void {
        this.end(new LapidaryError('cancelled', 'the engine was closed'));
    }

    private get memory(): WebAssembly.Memory {
        if (!this.exports) throw new LapidaryError('internal', 'the engine used its memory before it was ready');
        return this.exports.memory;
    }

    /** A fresh view each time: memory that grew has left its old buffer behind. */
    private view(pointer: number, length: number): Uint8Array<ArrayBuffer> {
        return new Uint8Array(this.memory.buffer, pointer >>> 0, length >>> 0);
    }

    private text(pointer: number, length: number): string {
        return this.decoder.decode(this.view(pointer, length));
    }

    private hostImports(): WebAssembly.ModuleImports {
        return {
            now: () => performance.now(),
            log: (level: number, pointer: number, length: number) => {
                this.log(logLevels[level] ?? 'info', this.text(pointer, length));
            },
            defer: (operation: number) => {
                this.afterwards(() => this.complete(operation));
            },
            read: (operation: number, source: number, offset: number, length: number, pointer: number) => {
                this.serve(operation, () => this.read(source, offset, length >>> 0, pointer));
            },
            write: (operation: number, number: number, offset: number, pointer: number, length: number) => {
                // Copied: the sink may take its time, and memory may move meanwhile.
                const bytes = this.view(pointer, length).slice();
                this.serve(operation, async () => {
                    const sink = this.sinks.get(number);
                    if (!sink) throw new LapidaryError('internal', `there is no sink ${number}`);
                    await sink.write(offset, bytes);
                });
            },
            emit: (number: number, pointer: number, length: number) => {
                const text = this.text(pointer, length);
                // Later, though before the call's result: a listener may call the engine again.
                queueMicrotask(() => this.deliver(number, text));
            },
            finish: (
                number: number,
                ok: number,
                json: number,
                jsonLength: number,
                blob: number,
                blobLength: number,
            ) => {
                this.finish(number, ok !== 0, this.text(json, jsonLength), this.view(blob, blobLength).slice());
            },
        };
    }

    private cpuImports(): WebAssembly.ModuleImports {
        const kernels = () => {
            if (!this.cpu) throw new LapidaryError('internal', 'the engine computed on the CPU before it was ready');
            return this.cpu;
        };
        return {
            digits: (fast: number) => this.cpu?.digits(fast !== 0) ?? 0,
            grow: (bytes: number) => Number(kernels().grow(bytes)),
            write: (to: number, pointer: number, length: number) => {
                kernels().bytes(to, length).set(this.view(pointer, length));
            },
            read: (from: number, pointer: number, length: number) => {
                this.view(pointer, length).set(kernels().bytes(from, length));
            },
            run: (step: number, ops: number, count: number) => Number(!kernels().run(step, ops, count)),
        };
    }

    private async read(number: number, offset: number, length: number, pointer: number): Promise<void> {
        const entry = this.sources.get(number);
        if (!entry) throw new LapidaryError('internal', `there is no source ${number}`);
        const stop = new AbortController();
        entry.reads.add(stop);
        try {
            const bytes = await readExactly(entry.source, offset, length, stop.signal);
            if (!this.failure) this.view(pointer, length).set(bytes);
        } finally {
            entry.reads.delete(stop);
        }
    }

    private stopReads(): void {
        for (const { reads } of this.sources.values()) for (const read of reads) read.abort();
    }

    /** Does what the engine asked for once the engine has been left, and tells it how that ended. */
    private serve(operation: number, work: () => Promise<void>): void {
        this.settle(operation, Promise.resolve().then(work));
    }

    /** The same for work that has begun already. */
    private settle(operation: number, work: Promise<void>): void {
        work.then(
            () => this.complete(operation),
            (error: unknown) => this.complete(operation, messageOf(error)),
        );
    }

    private complete(operation: number, error?: string): void {
        this.enter((exports) => {
            if (error === undefined) return exports.lapidary_complete(operation, 0, 0);
            const sentence = this.pass(this.encoder.encode(error));
            exports.lapidary_complete(operation, sentence.pointer, sentence.length);
            exports.lapidary_free(sentence.pointer);
        });
    }

    private post(number: number, method: string, args: object, blob: Uint8Array | undefined): void {
        this.enter((exports) => {
            const passed: Passed[] = [];
            try {
                const name = this.pass(this.encoder.encode(method), passed);
                const json = this.pass(this.encoder.encode(JSON.stringify(args)), passed);
                const bytes = this.pass(blob ?? new Uint8Array(), passed);
                exports.lapidary_call(
                    number,
                    name.pointer,
                    name.length,
                    json.pointer,
                    json.length,
                    bytes.pointer,
                    bytes.length,
                );
            } catch (error) {
                // Too large an input is the caller's problem; the engine itself is well.
                if (!(error instanceof LapidaryError)) throw error;
                this.calls.get(number)?.reject(error);
            }
            for (const { pointer } of passed) if (pointer !== 0) exports.lapidary_free(pointer);
        });
    }

    /** Copies bytes into the engine's memory; the caller frees them after use. */
    private pass(bytes: Uint8Array, list?: Passed[]): Passed {
        if (bytes.length === 0) return { pointer: 0, length: 0 };
        const pointer = this.exports?.lapidary_alloc(bytes.length) ?? 0;
        if (pointer === 0) {
            throw new LapidaryError('out_of_memory', `the engine has no room for ${bytes.length} more bytes`);
        }
        this.view(pointer, bytes.length).set(bytes);
        const passed = { pointer, length: bytes.length };
        list?.push(passed);
        return passed;
    }

    /**
     * Every step into the engine goes through here. Whatever comes out as an exception is a trap: its memory can no
     * longer be trusted, so this engine is over and everybody who waits for it is told.
     */
    private enter(step: (exports: EngineExports) => void): void {
        if (this.failure || !this.exports) return;
        try {
            step(this.exports);
        } catch (cause) {
            this.end(cause instanceof ProcessExit && cause.exitCode === exitOutOfMemory ? this.ranOut(cause) : trapped(cause));
        }
    }

    private ranOut(cause: ProcessExit): LapidaryError {
        const held = `${Math.round(this.memoryBytes / 2 ** 20)} MiB`;
        return new LapidaryError(
            'out_of_memory',
            `the engine has ${held} and got no more memory; ask for a shorter context or use a smaller model`,
            { cause },
        );
    }

    private end(failure: LapidaryError): void {
        if (this.failure) return;
        this.failure = failure;
        for (const pending of this.calls.values()) pending.reject(failure);
        this.calls.clear();
        this.stopReads();
        this.gpu.close();
        this.cpu?.close();
    }

    private deliver(number: number, text: string): void {
        const pending = this.calls.get(number);
        if (!pending?.onEvent) return;
        try {
            pending.onEvent(parseObject(text, 'an event of the engine'));
        } catch (error) {
            // The listener's own error is what the caller should see; the work behind it is of no use any more.
            pending.reject(error);
            this.enter((exports) => exports.lapidary_cancel(number));
        }
    }

    private finish(number: number, ok: boolean, text: string, blob: Uint8Array): void {
        const pending = this.calls.get(number);
        if (!pending) return;
        let json: JsonObject;
        try {
            json = text === '' ? {} : parseObject(text, 'the answer of the engine');
        } catch (error) {
            return pending.reject(error);
        }
        if (pending.cancelled) return pending.reject(cancelledError());
        if (ok) return pending.resolve({ json, blob });
        const error = errorFrom(json);
        const { lost } = this.gpu;
        // Whatever failed on a GPU that is gone failed because it is gone.
        const follows = error.code === 'internal' || error.code === 'io' || error.code === 'out_of_memory';
        if (lost === undefined || !follows) return pending.reject(error);
        pending.reject(new LapidaryError('device_lost', lost, { cause: error }));
    }
}

/** As engine/api/wasm_door.cpp says it. */
const exitOutOfMemory = 12;

function trapped(cause: unknown): LapidaryError {
    const message = `the engine stopped unexpectedly (${messageOf(cause)}) and has to be loaded again`;
    return new LapidaryError('internal', message, { cause });
}

interface Passed {
    pointer: number;
    length: number;
}

function errorFrom(json: JsonObject): LapidaryError {
    const code = isErrorCode(json['code']) ? json['code'] : 'internal';
    const message = json['message'];
    return new LapidaryError(code, typeof message === 'string' && message !== '' ? message : `the engine failed (${code})`);
}

/** From bytes or from where they are; a compiled module can become many engines. */
export async function compile(wasm: BufferSource | WebAssembly.Module | URL | string): Promise<WebAssembly.Module> {
    if (wasm instanceof WebAssembly.Module) return wasm;
    if (typeof wasm !== 'string' && !(wasm instanceof URL)) return await WebAssembly.compile(wasm);
    let response: Response;
    try {
        response = await fetch(wasm);
    } catch (cause) {
        throw new LapidaryError('io', `the engine could not be fetched from ${String(wasm)} (${messageOf(cause)})`, { cause });
    }
    // Where addresses are unknown some servers answer with a page.
    const isPage = /^text\/html\b/i.test(response.headers.get('content-type') ?? '');
    if (!response.ok || isPage) {
        const what = response.ok ? 'is a web page' : `HTTP ${response.status}`;
        throw new LapidaryError(
            'not_found',
            `the engine is not at ${String(wasm)} (${what}); where a bundler does not take the library's files along, ` +
                `place them and name them with the options 'wasm' and 'worker' (docs/api.md, Bundlers)`,
        );
    }
    return await WebAssembly.compile(await response.arrayBuffer());
}

function checkExports(exports: WebAssembly.Exports): EngineExports {
    const missing = exportedFunctions.filter((name) => typeof exports[name] !== 'function');
    if (!(exports['memory'] instanceof WebAssembly.Memory) || missing.length > 0) {
        throw new LapidaryError('bad_file', `this WebAssembly module is not the Lapidary engine`);
    }
    return exports as unknown as EngineExports; // just checked, which the type of WebAssembly.Exports cannot express
}

/**
 * Runs things in turns of their own, so that a long computation leaves room for input, timers and painting.
 * setTimeout would do, but browsers stretch nested ones to 4 ms.
 */
function macrotasks(): (task: () => void) => void {
    if (typeof setImmediate === 'function') return (task) => void setImmediate(task);
    const channel = new MessageChannel();
    const waiting: (() => void)[] = [];
    channel.port1.onmessage = () => waiting.shift()?.();
    return (task) => {
        waiting.push(task);
        channel.port2.postMessage(null);
    };
}

