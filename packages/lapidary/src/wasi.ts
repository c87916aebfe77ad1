// The little of WASI that libc keeps asking for. The engine itself does no file or console I/O through it:
// there are no files, the environment is empty, and what libc prints becomes a log line.

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
export type Log = (level: LogLevel, text: string) => void;

const success = 0;
const badDescriptor = 8;
const notSupported = 52;
const seekOnPipe = 70;

/** Thrown through the engine when libc wants to end the process, which a library must not do to its page. */
export class ProcessExit extends Error {
    override readonly name = 'ProcessExit';
    constructor(readonly exitCode: number) {
        super(`the engine asked to exit with status ${exitCode}`);
    }
}

/** `memory` is asked for at every call: a WebAssembly memory that grows gets a new buffer. */
export function wasiImports(memory: () => WebAssembly.Memory, log: Log): WebAssembly.ModuleImports {
    const view = () => new DataView(memory().buffer);
    const bytes = (pointer: number, length: number) =>
        new Uint8Array(memory().buffer, pointer >>> 0, length >>> 0);
    const decoder = new TextDecoder();

    // "count" and "total bytes" of an empty list, for both arguments and environment.
    const emptySizes = (count: number, size: number) => {
        view().setUint32(count >>> 0, 0, true);
        view().setUint32(size >>> 0, 0, true);
        return success;
    };

    return {
        args_get: () => success,
        args_sizes_get: emptySizes,
        environ_get: () => success,
        environ_sizes_get: emptySizes,
        clock_res_get: (_clock: number, result: number) => {
            view().setBigUint64(result >>> 0, 1_000_000n, true);
            return success;
        },
        clock_time_get: (clock: number, _precision: bigint, result: number) => {
            const milliseconds = clock === 0 ? Date.now() : performance.now();
            view().setBigUint64(result >>> 0, BigInt(Math.round(milliseconds * 1e6)), true);
            return success;
        },
        random_get: (pointer: number, length: number) => {
            // getRandomValues refuses more than 64 KiB at once, and shared memory: fill pieces of our own.
            for (let done = 0; done < length >>> 0; done += 65536) {
                const piece = new Uint8Array(Math.min(65536, (length >>> 0) - done));
                fillRandom(piece);
                bytes((pointer >>> 0) + done, piece.length).set(piece);
            }
            return success;
        },
        sched_yield: () => success,
        fd_close: () => success,
        fd_fdstat_get: (descriptor: number, result: number) => {
            if (descriptor > 2) return badDescriptor;
            bytes(result, 24).fill(0);
            view().setUint8(result >>> 0, 2); // a character device, so that libc does not try to seek
            return success;
        },
        fd_fdstat_set_flags: () => success,
        fd_prestat_get: () => badDescriptor, // no folders are open
        fd_prestat_dir_name: () => badDescriptor,
        fd_read: (_descriptor: number, _vectors: number, _count: number, result: number) => {
            view().setUint32(result >>> 0, 0, true);
            return success;
        },
        fd_seek: () => seekOnPipe,
        fd_write: (descriptor: number, vectors: number, count: number, result: number) => {
            if (descriptor !== 1 && descriptor !== 2) return badDescriptor;
            let text = '';
            let written = 0;
            for (let i = 0; i < count; i++) {
                const entry = (vectors >>> 0) + i * 8;
                const length = view().getUint32(entry + 4, true);
                text += decoder.decode(bytes(view().getUint32(entry, true), length).slice());
                written += length;
            }
            view().setUint32(result >>> 0, written, true);
            if (text.trim() !== '') log(descriptor === 2 ? 'error' : 'info', text.trimEnd());
            return success;
        },
        proc_exit: (exitCode: number) => {
            throw new ProcessExit(exitCode);
        },
    };
}

/** Node 18 has no global `crypto`. What libc wants is variety, not secrecy. */
function fillRandom(piece: Uint8Array<ArrayBuffer>): void {
    const source = globalThis.crypto as Crypto | undefined;
    if (source) source.getRandomValues(piece);
    else for (let i = 0; i < piece.length; i++) piece[i] = Math.floor(Math.random() * 256);
}

/** Functions of newer libcs that we have no use for say "not supported" instead of stopping the module from loading. */
export function fillMissing(module: WebAssembly.Module, imports: WebAssembly.Imports): WebAssembly.Imports {
    const wasi: WebAssembly.ModuleImports = { ...imports['wasi_snapshot_preview1'] };
    for (const wanted of WebAssembly.Module.imports(module)) {
        if (wanted.module !== 'wasi_snapshot_preview1' || wanted.kind !== 'function') continue;
        wasi[wanted.name] ??= () => notSupported;
    }
    return { ...imports, wasi_snapshot_preview1: wasi };
}
