// What tabs say to each other about the one engine they share, and what a view can know about it.
import type { MediaInfo } from 'lapidary';
import type { FilePart } from '../store/parts.js';
import type { DataOptions, DataReport, EngineInfo, ExportedFile, Probe, TrainSettings, TrainingPlan } from 'lapidary';
import { decoded } from '../decoded.js';
import type { Run, StoredAdapter } from '../store/workshop.js';

/** A model someone picked. Everything in here can be posted to another tab. */
export type ModelChoice =
    | { kind: 'builtin' }
    | { kind: 'files'; files: File[] }
    /** Downloaded, and kept by the browser. */
    | { kind: 'kept'; name: string; title: string }
    | { kind: 'folder'; directory: FileSystemDirectoryHandle | readonly File[]; model: string }
    | { kind: 'ollama'; model: string }
    | { kind: 'url'; url: string };

export interface LoadWish {
    choice: ModelChoice;
    backend: 'auto' | 'gpu' | 'cpu';
    contextLength?: number | undefined;
    /** With which the model sees and hears, where it is a file of its own. */
    mmproj?: File;
    /** With everything it takes to use and train adapters, from the beginning. */
    workshop?: boolean;
    /**
     * `held`: a load on the GPU began and never ended, so the CPU computes instead. `waived`: somebody wants to try the GPU
     * all the same.
     */
    caution?: 'held' | 'waived';
    /** Somebody asked for it just now, so it is loaded although its last load never ended. */
    asked?: boolean;
}

export interface TransferProgress {
    /** Bytes. */
    done: number;
    /** 0 while it is not known. */
    total: number;
    /** Bytes a second, once there is something to tell. */
    rate?: number;
    secondsLeft?: number;
}

export type Stage = 'download' | 'open' | 'weights';

export interface EngineState {
    /** `idle`: nobody asked for a model yet. */
    phase: 'idle' | 'loading' | 'ready' | 'failed';
    wish?: LoadWish;
    /** For people. */
    name: string;
    stage?: Stage;
    progress?: TransferProgress;
    info?: EngineInfo;
    problem?: string;
    /** Tokens a second in the last answer that was long enough to tell. */
    measured?: number;
    /** Being fetched and looked at, while the one that is ready goes on answering. */
    coming?: { name: string; stage: Stage; progress: TransferProgress };
    /**
     * Was asked for last and cannot be used. `kept`: what answered before goes on answering; otherwise the built-in
     * model took its place. `again`: it may be fine, but somebody should decide that.
     */
    refused?: { name: string; problem: string; kept: boolean; again?: ModelChoice };
}

export interface BenchWish {
    prompt: number;
    decode: number;
    runs: number;
}

/** What a tab that watches is told: the run as it is now, or something it wants to know. */
export type RunEvent = { type: 'run'; run: Run } | { type: 'notice'; text: string };

export interface DataWish {
    file: Blob;
    options: DataOptions;
}

export interface SelfTest {
    name: string;
    passed: boolean;
    detail: string;
    ms: number;
}

export interface Diagnostics {
    probe: Probe | undefined;
    state: EngineState;
    log: string[];
}

/** The calls a tab can make, with what they take, tell meanwhile and give. */
export interface Calls {
    /** Tells the state and its changes, and never ends. */
    watch: { args: undefined; event: EngineState; result: never };
    /** Whether it answers now; if not, the state says why. */
    load: { args: LoadWish; event: never; result: boolean };
    cancel: { args: undefined; event: never; result: void };
    answer: {
        args: import('../chat/backend.js').ChatRequest;
        event: import('../chat/backend.js').ChatDelta;
        result: import('../chat/backend.js').ChatOutcome;
    };
    /** What a picture, a sound or a film costs. */
    measure: { args: FilePart; event: never; result: MediaInfo };
    /** Which frames of a film a model looks at. */
    sampleFrames: { args: { frames: number; fps: number }; event: never; result: { indices: number[]; seconds: number[] } };
    readData: { args: DataWish; event: never; result: DataReport };
    plan: { args: DataWish & { settings: TrainSettings }; event: never; result: TrainingPlan };
    /** Stopping the call pauses the training. */
    train: { args: string; event: RunEvent; result: Run };
    importAdapter: { args: { weights: Blob; config?: string; name: string }; event: never; result: StoredAdapter };
    exportAdapter: { args: { id: string; format: 'peft' | 'gguf' }; event: never; result: ExportedFile };
    bench: { args: BenchWish; event: { done: number; total: number }; result: Record<string, unknown> };
    selfTest: { args: undefined; event: never; result: SelfTest[] };
    diagnostics: { args: undefined; event: never; result: Diagnostics };
}
export type Method = keyof Calls;

/** On the BroadcastChannel, beside what tabs and the engine say to each other once they know each other. */
export type Control =
    /** A tab looks for the engine, or whether it is still there. */
    | { control: 'hello'; tab: string; version: string; term?: undefined }
    /** The answer, from the engine of this term. */
    | { control: 'welcome'; tab: string; term: number }
    | { control: 'other-version'; tab: string; term: number; version: string }
    /** The engine has moved: whoever uses it says hello. */
    | { control: 'here'; term: number };

/** Who is behind needs the last one only. */
export function mergeStates(_before: EngineState, after: EngineState): EngineState {
    return after;
}

export function choiceName(choice: ModelChoice): string {
    switch (choice.kind) {
        case 'builtin':
            return 'Storyteller';
        case 'files':
            return choice.files[0]?.name ?? 'a file';
        case 'kept':
            return choice.title;
        case 'folder':
        case 'ollama':
            return choice.model;
        case 'url':
            return decoded(choice.url.split(/[?#]/)[0]?.split('/').pop() || choice.url);
    }
}
