// What the library and its engine ask of each other across a border: a worker, a thread, a process. Types only.
import type { CheckRequest, CheckReport } from '../gpu/check.js';
import type { EmbedRequest, Embedded, ScoreRequest } from '../core/core.js';
import type { CoreOptions } from '../core/local.js';
import type { CallResult } from '../engine.js';
import type { JsonObject } from '../json.js';
import type { MediaInfo, MediaPart } from '../media/parts.js';
import type { Backend, Progress, TokenizeOptions } from '../model.js';
import type { EngineInfo, LoadOptions, LoadProgress } from '../options.js';
import type { GenerateEvent, GenerateRequest, GenerateResult, Logprob } from '../session.js';
import type { PreparedSource } from '../sources/prepared.js';
import type { LogLevel } from '../wasi.js';
import type { TrainingEvent, WorkshopMethod } from '../workshop/calls.js';

/** A source that is open on the other side: bytes are asked for, unless it is a file that both sides see. */
export interface KeptSource {
    size: number;
    name: string;
    path?: string | undefined;
}

export type PostedSource =
    | Exclude<PreparedSource, { kind: 'open' }>
    | { kind: 'kept'; sources: KeptSource[]; sha256?: string };

/** `generate` tells both. */
export type GenerateMessage = { progress: Progress } | { event: GenerateEvent };

/** Asked of the engine's side. */
export interface EngineCalls {
    load: { args: { source: PostedSource; options: CoreOptions }; event: LoadProgress; result: EngineInfo };
    generate: { args: GenerateRequest; event: GenerateMessage; result: GenerateResult };
    tokenize: { args: { text: string; options: Omit<TokenizeOptions, 'pieces'> }; event: never; result: Int32Array };
    detokenize: { args: { tokens: Int32Array; options: { special?: boolean } }; event: never; result: string };
    embed: { args: EmbedRequest; event: Progress; result: Embedded };
    score: { args: ScoreRequest; event: Progress; result: Logprob[] };
    measure: { args: MediaPart; event: never; result: MediaInfo };
    workshop: { args: { method: WorkshopMethod; args: never }; event: TrainingEvent; result: unknown };
    call: { args: { method: string; args: object; blob: Uint8Array | undefined }; event: JsonObject; result: CallResult };
    check: { args: { request: CheckRequest; wasm?: LoadOptions['wasm'] }; event: Progress; result: CheckReport };
    /** Gives everything back. Who was asked to may be ended afterwards; nobody is with a GPU in it. */
    close: { args: undefined; event: never; result: void };
    ping: { args: undefined; event: never; result: void };
}

/** Asked of the library's side. */
export interface ClientCalls {
    log: { args: { level: LogLevel; text: string }; event: never; result: void };
    info: { args: EngineInfo; event: never; result: void };
    opened: { args: { description: JsonObject; backend: Backend }; event: never; result: void };
    read: { args: { source: number; offset: number; length: number }; event: never; result: Uint8Array };
}

/** Pieces of text for a reader who is behind become one. */
export function mergeGenerated(before: GenerateMessage, after: GenerateMessage): GenerateMessage | undefined {
    if ('progress' in before || 'progress' in after) return 'progress' in before && 'progress' in after ? after : undefined;
    const [a, b] = [before.event, after.event];
    if (a.type === 'reasoning' && b.type === 'reasoning') return { event: { ...b, text: a.text + b.text } };
    if (a.type !== 'content' || b.type !== 'content' || a.logprobs || b.logprobs) return undefined;
    return { event: { ...b, text: a.text + b.text } };
}
