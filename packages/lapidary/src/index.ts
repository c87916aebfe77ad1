// The one public door of the library. Everything behind it also runs in a browser; files on a disk are behind
// `lapidary/node`.
export { Engine } from './engine.js';
export type { CallOptions, CallResult, EngineExports, EngineOptions } from './engine.js';
export { LapidaryError, cancelledError, isErrorCode, messageOf, throwIfCancelled } from './error.js';
export type { ErrorCode } from './error.js';
export { checkGpu } from './gpu/check.js';
export type { CheckReport, CheckRequest, CheckedCase } from './gpu/check.js';
export type { GpuOption } from './gpu/host.js';
export type { GpuLedger } from './gpu/resources.js';
export { isObject } from './json.js';
export type { JsonObject, JsonValue } from './json.js';
export { Model } from './model.js';
export type { Backend, Progress, SessionOptions, TokenizeOptions, WorkOptions } from './model.js';
export { Session } from './session.js';
export type {
    GenerateEvent,
    GenerateRequest,
    GenerateResult,
    Message,
    PerplexityResult,
    Sampling,
} from './session.js';
export { sha256 } from './sha256.js';
export { BlobSource } from './sources/blob.js';
export { HttpSource, openHttp } from './sources/http.js';
export type { HttpOptions } from './sources/http.js';
export { openAll, shardNames, shardUrls } from './sources/shards.js';
export { MemorySource, checkRange } from './sources/source.js';
export type { ByteSink, ByteSource } from './sources/source.js';
export { synthesize } from './synth.js';
export type { SynthRequest } from './synth.js';
export type { Directory, DirectoryEntry } from './ollama/directory.js';
export type { Layer, ModelConfig } from './ollama/manifest.js';
export { formatModelName, parseModelName, tryParseModelName } from './ollama/name.js';
export type { ModelName } from './ollama/name.js';
export { OllamaStore } from './ollama/store.js';
export type { ListedModel, ResolvedModel } from './ollama/store.js';
export type { Log, LogLevel } from './wasi.js';
