// The CPU's kernels: a WebAssembly module with a memory of its own, which one thread computes in or several share.
// Loaded only where the CPU computes. What the module's exports promise is in engine/cpu/kernels/module.cpp.
import { LapidaryError, messageOf } from '../error.js';
import { keep, recall, type TuningCache } from '../gpu/tuning-cache.js';
import type { Log } from '../wasi.js';

/** As in engine/cpu/op.h. */
const digitNumbers = { two_i16: 1, three_i8: 2, one_i8: 3 } as const;
export type Digits = keyof typeof digitNumbers;
export type KernelModule = 'cpu-relaxed' | 'cpu-base';

/** What the engine computes with. */
export interface CpuKernels {
    readonly info: CpuInfo;
    /** What activations become; 0: there are no kernels. */
    digits(fast: boolean): number;
    /** Makes the memory at least this large; false where there is no more. */
    grow(bytes: number): boolean;
    bytes(at: number, length: number): Uint8Array;
    /** False: a thread has ended in the middle. The next run does without it. */
    run(step: number, ops: number, count: number): boolean;
    close(): void;
}

export interface CpuInfo {
    /** Which kernels: those that need relaxed SIMD, or those that every browser runs. */
    kernels: KernelModule;
    digits: Digits;
    /** That compute together. */
    threads: number;
}

/** Another thread that helps; it ends when it is told to. */
export interface HelpingThread {
    end(): void;
    /** Called when it has ended before that. */
    onLost(listener: (why: string) => void): void;
}
export interface ThreadStart {
    module: WebAssembly.Module;
    memory: WebAssembly.Memory;
    stack: number;
}

/** What differs between pages and Node. */
export interface CpuSurroundings {
    read(name: KernelModule): Promise<Uint8Array<ArrayBuffer>>;
    /** Undefined where threads cannot share memory. */
    startThread: ((start: ThreadStart) => Promise<HelpingThread>) | undefined;
    processors(): number;
    /** Where it is kept what is fastest here, with the module that has this digest; undefined: it is measured every time. */
    choice?: ((digest: string) => TuningCache) | undefined;
}

export interface CpuOptions {
    /** That compute together: unless told as many as there are processors but one, 8 at most. */
    threads?: number | undefined;
    /** These kernels, without measuring. */
    kernels?: KernelModule | undefined;
    digits?: Digits | undefined;
    log?: Log;
}

interface Exports {
    run(step: number, ops: number, count: number, threads: number): number;
    stop(): void;
    trial(at: number, digits: number, tokens: number): number;
    check?(at: number): number;
    __stack_pointer: WebAssembly.Global<'i32'>;
}

export const mostThreads = 32;
const page = 65536;
/** 4 GiB; the module's own limit. */
const mostPages = 65536;
/** Where the engine's part begins (engine/cpu/machine.cpp). */
const firstFree = 4 * 2 ** 20;
/** Growing is slow, and engines leave old views behind. */
const growBy = 256;

export async function openKernels(at: CpuSurroundings, options: CpuOptions = {}): Promise<CpuKernels> {
    const { log = () => undefined } = options;
    const wanted = Math.max(1, Math.min(mostThreads, options.threads ?? Math.min(8, at.processors() - 1)));
    const { name, bytes } = await modules(at, options, log);
    const shared = wanted > 1 && at.startThread !== undefined ? sharedMemory() : undefined;
    const memory = shared ?? new WebAssembly.Memory({ initial: firstFree / page, maximum: mostPages });
    const module = await WebAssembly.compile(shared ? bytes : unshared(bytes));
    const exports = (await WebAssembly.instantiate(module, { env: { memory } })).exports as unknown as Exports;
    const sound = grown(memory, firstFree + page) && exports.check?.(firstFree) === 1;
    if (name === 'cpu-relaxed' && !sound) log('warning', 'relaxed dot products are wrong here: the CPU does without');
    const digits = sound ? (options.digits ?? (await chosen(at, bytes, () => fastest(memory, exports)))) : 'two_i16';
    const threads: HelpingThread[] = [];
    const fast = sound ? 'one_i8' : digits;
    const kernels = new Kernels(memory, exports, { kernels: name, digits, threads: 1 }, fast, threads, log);
    if (shared && at.startThread) {
        try {
            for (let i = 1; i < wanted; i++) {
                const thread = await at.startThread({ module, memory, stack: 2 * page * (i + 1) });
                thread.onLost((why) => kernels.lose(why));
                threads.push(thread);
            }
        } catch (error) {
            log('warning', `no more than ${threads.length + 1} threads could be had: ${messageOf(error)}`);
        }
        kernels.info.threads = threads.length + 1;
    }
    return kernels;
}

class Kernels implements CpuKernels {
    constructor(
        private readonly memory: WebAssembly.Memory,
        private readonly exports: Exports,
        readonly info: CpuInfo,
        private readonly fast: Digits,
        private readonly threads: HelpingThread[],
        private readonly log: Log,
    ) {}

    digits(fast: boolean): number {
        return digitNumbers[fast ? this.fast : this.info.digits];
    }

    grow(bytes: number): boolean {
        return grown(this.memory, bytes);
    }

    bytes(at: number, length: number): Uint8Array {
        return new Uint8Array(this.memory.buffer, at >>> 0, length >>> 0);
    }

    run(step: number, ops: number, count: number): boolean {
        try {
            if (this.exports.run(step, ops, count, this.info.threads) === 0) return true;
            this.lose('it did not come back');
        } catch (error) {
            this.lose(messageOf(error));
        }
        return false;
    }

    /** From now on one thread computes. */
    lose(why: string): void {
        if (this.threads.length === 0) return;
        this.log('warning', `a thread of the CPU backend has ended (${why}): one thread goes on`);
        this.close();
    }

    close(): void {
        this.info.threads = 1;
        if (this.threads.length > 0) this.exports.stop();
        for (const thread of this.threads.splice(0)) thread.end();
    }
}

/** The first that can be compiled here. */
async function modules(
    at: CpuSurroundings,
    { kernels }: CpuOptions,
    log: Log,
): Promise<{ name: KernelModule; bytes: Uint8Array<ArrayBuffer> }> {
    for (const name of kernels ? [kernels] : (['cpu-relaxed', 'cpu-base'] as const)) {
        if (name === 'cpu-relaxed' && !knowsRelaxed()) {
            log('info', 'relaxed SIMD is not known here: the CPU does without');
            continue;
        }
        return { name, bytes: await at.read(name) };
    }
    throw new LapidaryError('unsupported', `these kernels cannot run here: ${kernels}`);
}

/** (func (param v128) (result v128) local.get 0 local.get 0 local.get 0 i32x4.relaxed_dot_i8x16_i7x16_add_s) */
function knowsRelaxed(): boolean {
    return WebAssembly.validate(
        Uint8Array.of(
            ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
            ...[1, 6, 1, 0x60, 1, 0x7b, 1, 0x7b],
            ...[3, 2, 1, 0],
            ...[10, 13, 1, 11, 0, 0x20, 0, 0x20, 0, 0x20, 0, 0xfd, 0x93, 2, 0x0b],
        ),
    );
}

function grown(memory: WebAssembly.Memory, bytes: number): boolean {
    const missing = Math.ceil(bytes / page) - memory.buffer.byteLength / page;
    if (missing <= 0) return true;
    for (const pages of [Math.max(missing, growBy), missing]) {
        try {
            memory.grow(pages);
            return true;
        } catch {
            // A little more was asked for than is needed.
        }
    }
    return false;
}

function sharedMemory(): WebAssembly.Memory | undefined {
    try {
        return new WebAssembly.Memory({ initial: firstFree / page, maximum: mostPages, shared: true });
    } catch {
        return undefined; // no room for so large a one, or no such thing
    }
}

/** The same module for a memory that is not shared: a bit of its only import, behind (import "env" "memory" (memory …)). */
function unshared(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
    const name = [3, 0x65, 0x6e, 0x76, 6, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 2];
    const at = bytes.findIndex((_, i) => name.every((byte, k) => bytes[i + k] === byte)) + name.length;
    if (bytes[at] !== 3) throw new LapidaryError('bad_file', 'the kernels of the CPU are not what they should be');
    const out = bytes.slice();
    out[at] = 1;
    return out;
}

/** Measured once, so that a seed writes the same the next time: the two do not round alike. */
async function chosen({ choice }: CpuSurroundings, bytes: Uint8Array<ArrayBuffer>, measure: () => Digits): Promise<Digits> {
    if (!choice) return measure();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    const cache = choice([...digest.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join(''));
    const [known] = await recall(cache);
    if (known === 'three_i8' || known === 'two_i16') return known;
    const digits = measure();
    await keep(cache, [], digits);
    return digits;
}

/**
 * What this processor multiplies fastest with. Three digits of a byte are one instruction on some, and several on others, which
 * then are faster with two of 16 bits; no name tells.
 */
function fastest(memory: WebAssembly.Memory, exports: Exports): Digits {
    grown(memory, firstFree + exports.trial(firstFree, digitNumbers.two_i16, 0));
    const candidates = ['three_i8', 'two_i16'] as const;
    const time = { three_i8: [Infinity, Infinity], two_i16: [Infinity, Infinity] };
    // The first rounds run in code that the engine has not optimised yet.
    for (let round = 0; round < 10; round++) {
        for (const digits of candidates) {
            for (const [i, tokens] of [1, 16].entries()) {
                const start = performance.now();
                const times = tokens === 1 ? 12 : 1;
                for (let n = 0; n < times; n++) exports.trial(firstFree, digitNumbers[digits], tokens);
                time[digits][i] = Math.min(time[digits][i] ?? 0, performance.now() - start);
            }
        }
    }
    const [decode = 0, prompt = 0] = time.three_i8;
    const [decode16 = 0, prompt16 = 0] = time.two_i16;
    // Not by a hair: the same computer should choose the same every time.
    return decode16 / decode + prompt16 / prompt < 1.7 ? 'two_i16' : 'three_i8';
}
