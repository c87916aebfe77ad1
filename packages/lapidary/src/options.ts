// What `Lapidary.load` takes and what it tells. Types only.
import type { WebGpu } from './gpu/webgpu.js';
import type { Senses } from './media/parts.js';
import type { JsonObject } from './json.js';
import type { KvFormat } from './kv-format.js';
import type { Backend, CpuAccuracy, CpuWeights, LoadedWeights, TablePlace } from './model.js';
import type { ByteSource } from './sources/source.js';
import type { Log } from './wasi.js';
import type { AdapterFiles } from './workshop/calls.js';

/** A model in a folder of Ollama's that the person picked. */
export interface OllamaFolder {
    /**
     * `.ollama`, its `models`, or whatever else has `manifests` and `blobs` in it: from `showDirectoryPicker`, or, where a
     * browser has none, the files of an `<input type="file" webkitdirectory>`.
     */
    directory: FileSystemDirectoryHandle | readonly File[];
    /** Such as `gemma4:e2b`. */
    model: string;
}

/** A model of the Ollama on this computer. */
export interface OllamaModel {
    /** Such as `gemma4:e2b`. */
    ollama: string;
    /**
     * Where `lapidary serve` runs, which reads the files for a page: the page's own origin unless told. Outside of
     * browsers the files are read directly unless a server is named.
     */
    server?: string | URL;
}

/** A model that was downloaded before (`lapidary/hub`): in a page to its private files, elsewhere to the models folder. */
export interface KeptModelName {
    /** Its name, or another name of the same in the catalogue. */
    kept: string;
}

/**
 * Where a model's bytes come from.
 * - `'builtin'`: the small model that comes with Lapidary.
 * - Any other text, or a URL: an address. A server that answers Range requests sends no more than is needed. Outside of browsers also the path of a
 *   file or the name of an Ollama model, as on the command line.
 * - A File or another Blob, a file handle, or the pieces of a split model in order.
 * - A model that was downloaded before.
 * - A folder of Ollama's, or a model of the Ollama on this computer.
 * - Sources that are open already: they are closed with the engine.
 */
export type ModelSource =
    | string
    | URL
    | Blob
    | readonly Blob[]
    | FileSystemFileHandle
    | readonly FileSystemFileHandle[]
    | KeptModelName
    | OllamaFolder
    | OllamaModel
    | ByteSource
    | readonly ByteSource[];

export interface LoadProgress {
    /**
     * `open` finds the model and reads its header, `download` brings it into the cache, `weights` moves it to where it
     * computes.
     */
    stage: 'open' | 'download' | 'weights';
    /** Bytes. */
    done: number;
    /** 0 while it is not known. */
    total: number;
    /** Why it takes longer than usual, in a sentence: the server sends the file only as a whole. */
    note?: string | undefined;
}

export interface LoadOptions {
    /** `auto`, unless told, is the GPU where there is one and the CPU elsewhere; `engine.info.why` says which and why. */
    backend?: Backend | 'auto';
    /** Threads that the CPU computes with: unless told as many as it has processors but one, 8 at most. In pages only where they are isolated. */
    threads?: number;
    /** How the CPU computes: `exact` unless told, within a hundred-thousandth; `fast` with activations of 8 bits. */
    accuracy?: CpuAccuracy;
    /** Tokens a conversation can hold: 4096 unless told, and never more than the model holds. */
    contextLength?: number;
    /**
     * Without `contextLength`: as long a context as a quarter of what the weights take pays for, up to 65,536 tokens. For
     * coding agents, which begin with tens of thousands.
     */
    roomy?: boolean;
    /** How the GPU keeps keys and values: i16 unless told. */
    kv?: KvFormat;
    /**
     * How many conversations are remembered at a time, so that they can go on without being read again: unless told 2 to
     * 8, as memory suggests.
     */
    maxConversations?: number;
    /**
     * Keep in the page's private files (in Node: in the user's cache folder) which kernels were found to be right and
     * fast on this GPU, so that only the first load has to find it out. True unless told.
     */
    rememberGpu?: boolean;
    /**
     * Bytes that weights and conversations may take together. A model that needs more is loaded without its table of
     * per-layer embeddings, if it has one and that helps, and is refused otherwise, before it is loaded.
     */
    memoryBudget?: number;
    /**
     * Where the table of per-layer embeddings is, which is about half of E2B and E4B and of which a token needs one row:
     * on the GPU, or in the model's source, from which rows are read as tokens come. That saves the memory and costs time:
     * answers are written one token at a time, each with a read. `auto`, unless told, is the GPU where it has room and
     * `memoryBudget` allows it.
     */
    perLayerEmbeddings?: TablePlace;
    /**
     * Adapters that take part in every answer, before those a request asks for: a GGUF adapter, or PEFT's safetensors
     * with the text of its `adapter_config.json`. An Ollama model's own adapters always take part.
     */
    adapters?: readonly (AdapterFiles & { scale?: number })[];
    /**
     * The model's projector (mmproj): with it, it sees and hears. Without one given, that which lies beside the model's file,
     * came with the model, or is in it. A source as for a model, but not one that is open already. One that was merely
     * found, `{ found }`, may not fit: then the model is loaded without.
     */
    mmproj?: ModelSource | { found: ModelSource };
    /**
     * Whether pictures and sounds of a request may be fetched from the http addresses that it names: who writes requests then
     * chooses what this computer asks others for. False unless told.
     */
    fetchMedia?: boolean;
    /** Where the built-in model is; `models/storyteller-q4_k_m.gguf` beside the page unless told. */
    builtinUrl?: string | URL;
    /**
     * What the model's file must hash to: 64 hexadecimal digits, with or without `sha256:` before them. Another file is
     * refused before anything of it is used. A model in several pieces has no one digest.
     */
    sha256?: string;
    /** Keep what a URL gives in the page's private files, where there are such: the next time it is there. True unless told. */
    cache?: boolean;
    /** For the requests to a URL. */
    headers?: Record<string, string>;
    onProgress?: (progress: LoadProgress) => void;
    /**
     * Called once, when the bytes are there and the header was read and found to be a model that can be run; its weights
     * come next, and wait for this. Who has another model frees it here: until now it was of use. `backend` is what will
     * compute: the GPU was found, but nothing was asked of it yet.
     */
    onOpened?: (description: JsonObject, backend: Backend) => void | Promise<void>;
    /** Stops loading; later it has no effect, `dispose` does that. */
    signal?: AbortSignal;
    /** What the engine has to say; nothing is printed unless told. */
    log?: Log;
    /**
     * In a page the engine runs in a worker of its own, made from `worker.js` beside this module. A function makes it
     * from elsewhere; `false` runs the engine where `load` was called.
     */
    worker?: boolean | (() => Worker);
    /**
     * The engine with everything in it, also what a conversation has no use for: checking every kernel, converting,
     * training. It is larger, so pages that only chat do without. False unless told.
     */
    workshop?: boolean;
    /** The engine was built anew after the GPU was lost, and `engine.info` may tell something else now. */
    onInfo?: (info: EngineInfo) => void;
    /** `lapidary.wasm` (or `lapidary-workshop.wasm`) or where it is; beside this module unless told. */
    wasm?: string | URL | BufferSource | WebAssembly.Module;
    /** WebGPU, or how to get it; `navigator.gpu` or, in Node, the package `webgpu` unless told. Not with a worker. */
    gpu?: WebGpu | (() => Promise<WebGpu | undefined>);
}

/** What was loaded and where it runs. */
export interface EngineInfo {
    /** The model's name for people. */
    model: string;
    backend: Backend;
    /** Why this backend, in a sentence. */
    why: string;
    /** The GPU in words; not with the CPU. */
    adapter?: string;
    /** Whether the engine has a worker of its own. */
    worker: boolean;
    /** Tokens a conversation can hold. */
    contextLength: number;
    maxConversations: number;
    /** Bytes of the weights where they compute. */
    weightBytes: number;
    /** Where the table of per-layer embeddings is; not for models that have none. */
    perLayerEmbeddings?: LoadedWeights['perLayerEmbeddings'];
    /** How the CPU computes, where it does. */
    cpu?: CpuWeights;
    /** What it can take of pictures; undefined when it cannot see. */
    vision?: Senses['vision'];
    /** What it can take of sounds; undefined when it cannot hear. */
    audio?: Senses['audio'];
    /** What the file says about itself: `architecture`, `variant`, `parameters`, `quantization`, `memory` … */
    description: JsonObject;
}
