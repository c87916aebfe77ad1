// The one public door of the library. Everything behind it also runs in a browser; files on a disk are behind
// `lapidary/node`.
export { ModelCache } from './cache/cache.js';
export type { CacheOpenOptions, CacheParts, CacheUsage } from './cache/cache.js';
export type { CachedFile } from './cache/entries.js';
export { BusyError, StorageFullError } from './cache/fs.js';
export type { CacheStorageFs, FileEntry, ReadableFile, StorageRoom, WritableFile } from './cache/fs.js';
export { defaultCache, openCached, openCachedPieces, originCache } from './cache/open-cached.js';
export type { OpenCachedOptions } from './cache/open-cached.js';
export { OpfsFs } from './cache/opfs.js';
export type { CacheProgress, CacheStateName } from './cache/progress.js';
export { NotEnoughRoomError, formatBytes, requestPersistence } from './cache/quota.js';
export type { Shortage } from './cache/quota.js';
export type { RemoteSource } from './cache/remote.js';
export { LocalLocks } from './cache/share.js';
export type { LockOptions, Locks } from './cache/share.js';
export type { Verdict } from './cache/verify.js';
export { Engine } from './engine.js';
export type { CallOptions, CallResult, EngineExports, EngineOptions } from './engine.js';
export { LapidaryError, cancelledError, isErrorCode, messageOf, throwIfCancelled } from './error.js';
export type { ErrorCode } from './error.js';
export { checkGpu } from './gpu/check.js';
export type { CheckReport, CheckRequest, CheckedCase } from './gpu/check.js';
export type { GpuOption } from './gpu/host.js';
export type { TuningCache } from './gpu/tuning-cache.js';
export type { WebGpu } from './gpu/webgpu.js';
export type { GpuLedger } from './gpu/ledger.js';
export { isObject } from './json.js';
export type { JsonObject, JsonValue } from './json.js';
export { kvFormats, type KvFormat } from './kv-format.js';
export type { Method, Methods } from './messages.js';
export { asContent } from './media/parts.js';
export type { Detail, FileBytes, MediaInfo, MediaPart, Senses, VideoFrame } from './media/parts.js';
export { Model } from './model.js';
export type { Backend, CpuAccuracy, CpuWeights, LoadedWeights, Progress, SessionOptions, TablePlace, TokenizeOptions, WeightOptions, WorkOptions } from './model.js';
export { Session } from './session.js';
export type {
    AdapterUse,
    DiffusionSettings,
    GenerateEvent,
    GenerateRequest,
    GenerateResult,
    Logprob,
    Message,
    PerplexityResult,
    Sampling,
} from './session.js';
export { samplingRanges } from './dialects/sampling.js';
export type { AnswerOptions, AnswerTotals } from './answer/answer.js';
export { Fold } from './answer/events.js';
export type { AnswerEvent, Call, End, Ended, Score, Times } from './answer/events.js';
export { runCalls, toolDefinition, toolLoop } from './answer/tool-loop.js';
export type { LoopOptions, Tool, ToolResult } from './answer/tool-loop.js';
export { sha256 } from './cache/sha256.js';
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
export { ListedDirectory } from './ollama/listed.js';
export { PickedDirectory } from './ollama/picked.js';
export { listServedModels, openServedModel } from './ollama/server.js';
export type { ServedModel } from './ollama/server.js';
export { OllamaStore } from './ollama/store.js';
export type { ListedModel, ResolvedModel } from './ollama/store.js';
export { verifyLayer } from './ollama/verify.js';
export type { Log, LogLevel } from './wasi.js';
export { Lapidary, LoadedEngine } from './lapidary.js';
export { LoadedAdapter } from './adapter.js';
export { Adapters, type AdapterOptions, type AdapterSource } from './adapters.js';
export type { DataReadOptions, DataSet, DataSource, TrainOptions, TrainingSession } from './training.js';
export type {
    AdapterFiles,
    AdapterFormat,
    AdapterInfo,
    DataError,
    DataOptions,
    DataReport,
    ExportedFile,
    PreviewExample,
    TrainingEvent,
    TrainingPlan,
    TrainingStep,
} from './workshop/calls.js';
export type { Target, TrainSettings } from './workshop/settings.js';
export type { BenchRequest } from './lapidary.js';
export type { CheckOptions } from './core/check.js';
export { embedTexts } from './core/embed.js';
export { shortened } from './vectors.js';
export type { ChatCompletions, Completions, Embeddings, RequestOptions } from './endpoints.js';
export type { Stream } from './answer/stream.js';
export type { EngineInfo, KeptModelName, LoadOptions, LoadProgress, ModelSource, OllamaFolder, OllamaModel } from './options.js';
export type { ProbedModel } from './probe/family.js';
export type { Probe, ProbedGpu, ProbeOptions } from './probe/probe.js';
export type * from './openai.js';
