// What can be asked around adapters and training, in shapes that can be posted to a worker. Types only.
import type { JsonObject } from '../json.js';
import type { AdapterExportArgs, DataError, DataReadArgs } from '../messages.js';
import type { TrainSettings } from './settings.js';

/** The files of an adapter. */
export interface AdapterFiles {
    /** PEFT's safetensors or a GGUF adapter. */
    weights: Uint8Array | Blob;
    /** The text of PEFT's `adapter_config.json`. */
    config?: string;
    /** For people; what the file calls itself unless told. */
    name?: string;
}

export interface AdapterInfo {
    /** For `adapters` of a request. */
    id: string;
    name: string;
    /** Numbers it is made of. */
    parameters: number;
    /** Everything the engine says about it. */
    description: JsonObject;
}

export interface ExportedFile {
    name: string;
    bytes: Uint8Array;
}

/** PEFT's two files, the same in one zip, or one file for llama.cpp and Ollama. */
export type AdapterFormat = AdapterExportArgs['format'];

export interface DataOptions {
    /** Recognised by itself unless told. */
    format?: NonNullable<DataReadArgs['format']>;
    /** How plain text becomes examples: at blank lines, unless told, or as one text cut into pieces. */
    split?: NonNullable<DataReadArgs['split']>;
    /** Tokens an example may have: 512 unless told. */
    seq?: number;
}

export type { DataError };

/** An example as the model will see it. */
export interface PreviewExample {
    line: number;
    /** Of the whole example; `shown` may be less. */
    tokens: number;
    shown: { text: string; /** How much it counts that the model predicts this: 0 for what is only read. */ weight: number }[];
}

export interface DataReport {
    id: string;
    format: string;
    examples: number;
    tokens: number;
    /** Tokens that are learnt: answers, or all of a text. */
    learntTokens: number;
    /** Tokens of the longest example. */
    longest: number;
    /** Some of what the model shall answer, to try it with. */
    questions: string[];
    /** The first of them. Lines without an error are used all the same. */
    errors: DataError[];
    errorCount: number;
    preview: PreviewExample[];
}

export interface TrainingPlan {
    /** Optimizer steps until the end. */
    steps: number;
    /** Numbers that are trained. */
    parameters: number;
    /** Bytes beside the model's weights. */
    memory: number;
    /** What fits, in the engine's own words. */
    description: JsonObject;
}

export interface TrainingStep {
    step: number;
    steps: number;
    epoch: number;
    /** Mean over the tokens of this step that are learnt. */
    loss: number;
    lr: number;
    tokensPerSecond: number;
    /** Before clipping. */
    gradNorm: number;
}

export type TrainingEvent =
    | ({ type: 'step' } & TrainingStep)
    | { type: 'validation'; step: number; loss: number }
    | { type: 'sample'; step: number; prompt: string; text: string }
    /** Should everything be lost now, this step is where it goes on. */
    | { type: 'checkpoint'; step: number }
    /** Something happened that a person wants to know, such as a lost GPU. */
    | { type: 'notice'; text: string };

export interface WorkshopCalls {
    addAdapter: { args: AdapterFiles; event: never; result: AdapterInfo };
    removeAdapter: { args: string; event: never; result: void };
    exportAdapter: {
        args: { id: string; format: AdapterFormat; type?: string };
        event: never;
        result: ExportedFile[];
    };
    readData: {
        args: { file: Uint8Array | Blob; options: DataOptions; preview: number };
        event: never;
        result: DataReport;
    };
    previewData: { args: { id: string; first: number; count: number }; event: never; result: PreviewExample[] };
    closeData: { args: string; event: never; result: void };
    createTraining: {
        args: { data: string; settings: TrainSettings; checkpoint?: Uint8Array | Blob };
        event: never;
        result: { id: string; step: number; plan: TrainingPlan };
    };
    /** True when it came to its end, false when it was stopped. */
    runTraining: { args: string; event: TrainingEvent; result: boolean };
    /** `last`: the one that was saved last, even if the training has got further since. */
    checkpoint: { args: { id: string; last?: boolean }; event: never; result: Uint8Array };
    trainedAdapter: { args: { id: string; name?: string }; event: never; result: AdapterInfo };
    closeTraining: { args: string; event: never; result: void };
}
export type WorkshopMethod = keyof WorkshopCalls;

export interface WorkshopContext<M extends WorkshopMethod> {
    signal?: AbortSignal | undefined;
    onEvent?: ((event: WorkshopCalls[M]['event']) => void) | undefined;
}

export type AskWorkshop = <M extends WorkshopMethod>(
    method: M,
    args: WorkshopCalls[M]['args'],
    context?: WorkshopContext<M>,
) => Promise<WorkshopCalls[M]['result']>;
