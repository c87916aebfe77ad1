// What crosses the door to the engine as JSON. Made by `build/native/api_schema --ts` from the tables in
// engine/api/messages, which are the truth; `make test` compares.
import type { JsonObject, JsonValue } from './json.js';

export type TokenLogprob = {
    /** Its id. */
    token: number;
    /** What it writes by itself: of a part of a character, U+FFFD. */
    text: string;
    /** The same as bytes. */
    bytes: number[];
    /** Natural logarithm of its probability. */
    logprob: number;
};

export type Logprob = {
    /** Its id. */
    token: number;
    /** What it writes by itself: of a part of a character, U+FFFD. */
    text: string;
    /** The same as bytes. */
    bytes: number[];
    /** Natural logarithm of its probability. */
    logprob: number;
    /** The most likely at its place, best first. */
    top: TokenLogprob[];
};

export type CalledFunction = {
    /** Of the tool. */
    name: string;
    /** A JSON object, as text. */
    arguments: string;
};

export type MessageToolCall = {
    id: string;
    type: 'function';
    function: CalledFunction;
};

export type CanvasMarginsMessage = {
    /** The most likely token's logit above the next one's. */
    argmax?: number;
    /** A random number from either end of its token's interval. */
    draw?: number;
    /** A sum of entropies from the bound, in nats. */
    acceptance?: number;
    /** The mean entropy from its threshold, in nats. */
    confidence?: number;
};

export type CanvasStats = {
    /** That were settled. */
    canvases: number;
    /** Of all of them. */
    steps: number;
    /**
     * How far the nearest decision was from being another: where an engine's error is smaller, it writes the same
     * text.
     */
    margins: CanvasMarginsMessage;
};

export type CanvasBench = {
    /** Tokens of a canvas. */
    length: number;
    /** Of one that is conditioned on another. */
    step_ms: number;
    /** By the GPU's clock, if it has one. */
    step_gpu_ms?: number;
    /** Where a canvas takes 8 steps, and is then read. */
    tokens_per_second_8: number;
    /** Likewise. */
    tokens_per_second_16: number;
    /** Likewise. */
    tokens_per_second_32: number;
    /** If every expert is chosen by some token. */
    weight_bytes_per_step: number;
    /** On the GPU. */
    dispatches_per_step?: number;
    /** On the GPU. */
    submits_per_step?: number;
};

export type SourceFile = {
    /** The host's number for it. */
    id: number;
    /** In bytes. */
    size?: number | undefined;
};

export type ModelOpenArgs = {
    /** The model's files, in order. */
    sources: readonly SourceFile[];
};

export type ModelOpenResult = {
    /** The number by which other methods know it. */
    model: number;
};

export type ModelDescribeArgs = {
    /** Its number. */
    model: number;
    /** How keys and values are kept, for what they need in memory: i16 unless told. */
    kv?: 'f32' | 'f16' | 'i16' | 'q8' | undefined;
};

export type ModelExperts = {
    /** In a layer. */
    count: number;
    /** By a token. */
    used: number;
    /** The width within. */
    feed_forward: number;
};

export type SamplingHints = {
    temperature?: number;
    top_k?: number;
    top_p?: number;
};

export type VisionTower = {
    kind: 'gemma4v' | 'gemma4uv';
    /** None in gemma4uv. */
    layers: number;
    /** Of what a patch becomes. */
    width: number;
    /** Of attention. */
    heads: number;
    /** Width within. */
    feed_forward: number;
    /** Pixels on each side of what becomes one token. */
    token_side: number;
    /** A picture that asks for more is refused. */
    most_tokens_per_side: number;
    /** Of tokens that media.image takes. */
    budgets: number[];
};

export type AudioTower = {
    kind: 'gemma4a' | 'gemma4ua';
    /** None in gemma4ua. */
    layers: number;
    /** Of the layers. */
    width: number;
    /** Of attention. */
    heads: number;
    /** Width within. */
    feed_forward: number;
    /** Of sound. */
    tokens_per_second: number;
    /** Longer sounds are cut into pieces of this length, each heard by itself. */
    piece_seconds?: number;
};

export type TowersDescription = {
    /** Of their weights. */
    bytes: number;
    /** If there is one. */
    vision?: VisionTower;
    /** If there is one. */
    audio?: AudioTower;
};

export type TensorShare = {
    /** Of the tensors, such as Q4_K. */
    type: string;
    /** How many. */
    tensors: number;
    /** They take. */
    bytes: number;
    /** Numbers in them. */
    parameters: number;
};

export type TokenizerSummary = {
    /** What the file calls it. */
    model: string;
    /** In the vocabulary. */
    tokens?: number;
    /** Of byte pair encoding. */
    merges?: number;
};

export type GpuVariant = {
    /** How threads add up what they have. */
    reduction: 'subgroup' | 'shared';
    /** What quantised weights are multiplied with. */
    activations: 'limbs' | 'floats';
};

export type GpuSelfTest = {
    /** That were run; 0: it was left out. */
    cases: number;
    /** How long it took. */
    ms: number;
    /** What had to be given up, and why. */
    wrong: string[];
};

export type GpuGemvMs = {
    /** With whole numbers. */
    limbs: number;
    /** With floats. */
    floats: number;
};

export type GpuKernels = {
    /** The kernels. */
    variant: GpuVariant;
    /** Of this load. */
    selftest: GpuSelfTest;
    /** That work side by side, if that is known. */
    compute_units?: number;
    /** An earlier load knew it all. */
    remembered?: boolean;
    /** A matrix times a vector, if that was measured. */
    gemv_ms?: GpuGemvMs;
};

export type CpuKernels = {
    /** Exact: as close as sums of floats; fast: as close as most engines; reference: slow and obvious. */
    accuracy: 'exact' | 'fast' | 'reference';
    /** What activations become where they meet weights of few bits. */
    digits?: 'two_i16' | 'three_i8' | 'one_i8';
    /** It is the reference. */
    why?: string;
};

export type ModelDescription = {
    /** 'gemma4', or what it cannot run. */
    architecture: string;
    /** What the file calls itself. */
    name?: string;
    /** Such as GGUF v3. */
    format: string;
    /** Whose names the weights have. */
    dialect: 'llama.cpp' | 'ollama';
    /** All files together. */
    file_bytes: number;
    /** If there are several. */
    files?: number;
    /** How many. */
    tensors: number;
    /** The member of the family, such as e2b. */
    variant?: string;
    layers?: number;
    /** That look back no further than a window. */
    sliding_layers?: number;
    /** Of the hidden state. */
    width?: number;
    /** One number where all layers agree. */
    heads?: number | number[];
    /** Likewise. */
    kv_heads?: number | number[];
    /** Likewise. */
    head_dim?: number | number[];
    /** Likewise. */
    feed_forward?: number | number[];
    /** Tokens. */
    vocabulary?: number;
    /** The longest. */
    context_length?: number;
    /** In tokens. */
    sliding_window?: number;
    /** Their width, if there are any. */
    per_layer_embedding?: number;
    /** Layers that use the keys and values of others, if there are any. */
    shared_kv_layers?: number;
    /** Of a mixture of experts. */
    experts?: ModelExperts;
    /** Of a model that writes by canvases: their length, and what its file recommends. */
    diffusion?: JsonObject;
    /** Numbers in a vector, of a model of embeddings, which writes no text. */
    embedding_size?: number;
    /** What the file recommends, if it does. */
    sampling?: SamplingHints;
    /** What a program may expect, in Ollama's words. */
    capabilities?: ('completion' | 'tools' | 'thinking' | 'embedding' | 'vision' | 'audio')[];
    /** In the file, for images and sounds. */
    towers?: TowersDescription;
    /** Numbers in the weights that are used. */
    parameters?: number;
    /**
     * Bytes of weights, of weights_on_cpu, kv_format, kv_cache_at_N and total_at_N for 4,096 tokens and for the
     * longest context, and of the table of per_layer_embeddings, which may stay in the file.
     */
    memory?: { weights: number; kv_format: string; [at: string]: number | string };
    /** Whether it can be run. */
    supported: boolean;
    /** Why not. */
    reason?: string;
    /** Types in the order of the bytes they take. */
    quantization: TensorShare[];
    /** If the file has one. */
    tokenizer?: TokenizerSummary;
    /** Once loaded there. */
    gpu?: GpuKernels;
    /** Once loaded there. */
    cpu?: CpuKernels;
};

export type ModelLoadArgs = {
    /** Its number. */
    model: number;
    /** 'cpu' unless told. */
    backend?: 'cpu' | 'gpu' | undefined;
    /** Of the GPU, to do without; only its first use decides. */
    without_features?: readonly string[] | undefined;
    /** False: the GPU gets the kernels it says it can run, without being tried. */
    selftest?: boolean | undefined;
    /** What earlier loads gave back, a line each. */
    gpu_choice?: string | undefined;
    /** How many the GPU has, whatever was found out. */
    processors?: number | undefined;
    /** Where that table goes: auto is with the other weights if there is room. */
    per_layer_embeddings?: 'auto' | 'gpu' | 'source' | undefined;
    /** Of the CPU: exact unless told; only the first load for it decides. */
    accuracy?: 'exact' | 'fast' | 'reference' | undefined;
};

export type Progress = {
    type: 'progress';
    /** Bytes, tokens or cases. */
    done: number;
    /** Of so many. */
    total: number;
};

export type ModelLoadResult = {
    /** Of the weights in memory. */
    bytes: number;
    /** The GPU in words. */
    adapter?: string;
    /** The kernels it got. */
    gpu?: GpuKernels;
    /** How it computes there. */
    cpu?: CpuKernels;
    /** Where that table is, if the model has one. */
    per_layer_embeddings?: 'gpu' | 'memory' | 'source';
    /** A line to keep for the next load. */
    gpu_choice?: string;
};

export type ModelTokenizeArgs = {
    /** Its number. */
    model: number;
    /** Put the token first with which texts begin; true. */
    add_bos?: boolean | undefined;
    /** Recognise the names of special tokens; true. */
    parse_special?: boolean | undefined;
    /** Also tell the text of each token. */
    pieces?: boolean | undefined;
};

export type ModelTokenizeResult = {
    /** If they were asked for. */
    pieces: string[];
};

export type ModelEmbeddingInputArgs = {
    /** Its number. */
    model: number;
    /** Bytes of each text, which follow one another in the blob. */
    lengths?: readonly number[] | undefined;
    /**
     * What the vectors are for, such as query or document, of a model that was trained for tasks; the texts are read
     * as they are unless told.
     */
    task?: string | undefined;
    /** What the texts are called, where they are documents. */
    title?: string | undefined;
    /** Tokens of each, at most; what is longer is cut before the token that ends it. */
    most?: number | undefined;
};

export type ModelEmbeddingInputResult = {
    /** Tokens of each text, which follow one another in the blob. */
    lengths: number[];
    /** Tokens that each would have if nothing were cut. */
    whole: number[];
};

export type ModelDetokenizeArgs = {
    /** Its number. */
    model: number;
    /** Also write special tokens; true. */
    special?: boolean | undefined;
};

export type ModelDetokenizeResult = {
    /** With U+FFFD for bytes that are no character. */
    text: string;
};

export type ModelQuantizeArgs = {
    /** Its number. */
    model: number;
    /** Such as q4_k_m, in capitals or not. */
    type: string;
    /** Where the file goes. */
    sink: number;
};

export type WrittenTensor = {
    name: string;
    /** Its type before. */
    from: string;
    /** Its type now. */
    to: string;
};

export type WrittenModel = {
    /** Of the file. */
    bytes: number;
    /** In the file. */
    tensors: WrittenTensor[];
};

export type AdapterUse = {
    /** Its number. */
    adapter: number;
    /** How much of it: 1 unless told. */
    scale?: number | undefined;
};

export type ModelMergeArgs = {
    /** Its number. */
    model: number;
    /** What is worked into the weights. */
    adapters?: readonly AdapterUse[] | undefined;
    /** One of model.quantize's; the weights keep theirs unless told. */
    type?: string | undefined;
    /** Where the file goes. */
    sink: number;
};

export type ModelSynthArgs = {
    /** A member of the family, such as e2b; the refusal of another names them all. */
    variant: string;
    /** Of most weights, as for model.quantize. */
    type: string;
    /** The same gives the same file. */
    seed?: number | undefined;
    /** Where the file goes. */
    sink: number;
};

export type ModelSynthResult = {
    /** Of the file. */
    bytes: number;
    /** In the file. */
    tensors: number;
};

export type ModelArgs = {
    /** Its number. */
    model: number;
};

export type ModelStatesResult = {
    /** One before each layer, and what the head reads. */
    states: number;
    /** Numbers in a state. */
    width: number;
};

export type AdapterLoadArgs = {
    /** The number of the model it is for. */
    model: number;
    /** For people; what the file calls itself unless told. */
    name?: string | undefined;
    /** The text of PEFT's adapter_config.json. */
    config?: string | undefined;
};

export type AdapterUpdate = {
    layer: number;
    target: string;
    rank: number;
    scale: number;
};

export type AdapterDescription = {
    name: string;
    /** What it was trained for, as it says. */
    base_model: string;
    alpha: number;
    /** Numbers it is made of. */
    parameters: number;
    /** Of its updates. */
    ranks: number[];
    /** That it updates. */
    layers: number[];
    /** The matrices that it updates. */
    targets: string[];
    /** Each of them. */
    updates: AdapterUpdate[];
    /** Of the file it was read from. */
    format?: string;
    /** Tensors of that file that are not used. */
    ignored?: string[];
};

export type LoadedAdapter = {
    /** The number by which other methods know it. */
    adapter: number;
    description: AdapterDescription;
};

export type AdapterArgs = {
    /** Its number. */
    adapter: number;
};

export type AdapterExportArgs = {
    /** Its number. */
    adapter: number;
    /** PEFT's two files, the same in one zip, or one file for llama.cpp and Ollama. */
    format: 'peft' | 'zip' | 'gguf';
    /** Of its numbers, in capitals or not: f32 unless told, f16, bf16 or, in gguf, q8_0. */
    type?: string | undefined;
};

export type ExportedPart = {
    /** Of the file. */
    name: string;
    /** In the bytes beside this. */
    offset: number;
    /** In bytes. */
    size: number;
};

export type AdapterExportResult = {
    /** Their bytes come one after the other. */
    files: ExportedPart[];
};

export type DataReadArgs = {
    /** Whose tokens the examples are in. */
    model: number;
    /** Recognised by itself unless told. */
    format?: 'auto' | 'jsonl' | 'json' | 'csv' | 'text' | undefined;
    /** How plain text becomes examples: at blank lines, unless told, or as one text cut into pieces. */
    split?: 'paragraphs' | 'stream' | undefined;
    /** Tokens an example may have: 512 unless told. */
    longest?: number | undefined;
    /** How many examples to show. */
    preview?: number | undefined;
};

export type DataError = {
    /** From 1. */
    line: number;
    /** What is wrong there. */
    message: string;
};

export type ShownExample = {
    /** Where it begins in the file. */
    line: number;
    /** Of the whole example; shown may be less. */
    tokens: number;
    /** The texts of its tokens. */
    shown: string[];
    /** How much each counts that the model predicts it: 0 for what is only read. */
    weights: number[];
};

export type DataReadResult = {
    /** The number by which other methods know it. */
    data: number;
    /** That it has. */
    format: 'jsonl' | 'json' | 'csv' | 'text';
    /** How many. */
    examples: number;
    /** Of all examples. */
    tokens: number;
    /** Those whose prediction counts: answers, or all of a text. */
    learnt_tokens: number;
    /** Tokens of the longest example. */
    longest: number;
    /** Some of what the model shall answer, to try it with. */
    questions: string[];
    /** The first of them; lines without an error are used all the same. */
    errors: DataError[];
    /** Of all. */
    error_count: number;
    /** As many examples as were asked for. */
    preview: ShownExample[];
};

export type DataPreviewArgs = {
    /** Its number. */
    data: number;
    /** Example, from 0. */
    first?: number | undefined;
    /** Of examples: 5 unless told. */
    count?: number | undefined;
    /** Of each, at most. */
    tokens?: number | undefined;
};

export type DataPreviewResult = {
    /** The examples. */
    preview: ShownExample[];
};

export type DataArgs = {
    /** Its number. */
    data: number;
};

export type TrainCreateArgs = {
    /** Its number. */
    model: number;
    /** What it shall learn. */
    data: number;
    /** One the model was loaded for; the GPU if it was. */
    backend?: 'cpu' | 'gpu' | undefined;
    /** Of the adapter. */
    name?: string | undefined;
    /** Of the updates: 16 unless told. More can learn more, and takes more memory. */
    rank?: number | undefined;
    /** The updates are multiplied by alpha / rank: twice the rank unless told. */
    alpha?: number | undefined;
    /** The matrices that are updated: all seven of a layer unless told; q is short for q_proj. */
    targets?: readonly string[] | undefined;
    /** All of them unless told. */
    layers?: readonly number[] | undefined;
    /** Examples that make one step. */
    batch?: number | undefined;
    /** Batches that make one step. */
    accumulate?: number | undefined;
    /** Tokens of a sequence: examples may have as many, and short ones share one. */
    seq?: number | undefined;
    /** An example that is too long loses its end; otherwise it is refused. */
    cut?: boolean | undefined;
    /** Share of the examples that are kept back. */
    validation?: number | undefined;
    /** How often every example is seen: 1 unless told. */
    epochs?: number | undefined;
    /** Ends earlier, after so many. */
    steps?: number | undefined;
    /** The highest learning rate: 2e-4 unless told. */
    lr?: number | undefined;
    /** Of AdamW. */
    weight_decay?: number | undefined;
    /** Of all gradients together: larger ones are made this large; 0 leaves them. */
    clip_norm?: number | undefined;
    /** Of AdamW. */
    beta1?: number | undefined;
    /** Of AdamW. */
    beta2?: number | undefined;
    /** Of the learning rate: cosine unless told. */
    schedule?: 'constant' | 'linear' | 'cosine' | undefined;
    /** Share of the steps in which the learning rate grows from nothing. */
    warmup?: number | undefined;
    /** Share of an adapter's inputs that are left out at random. */
    dropout?: number | undefined;
    /** The same gives the same adapter on the same device. */
    seed?: number | undefined;
    /** Steps between two validations and rounds of samples; 0: a tenth of all. */
    every?: number | undefined;
    /** Computes activations a second time instead of keeping them: slower, with much less memory; true. */
    checkpointing?: boolean | undefined;
    /** Texts a person may say: what the model answers is told now and then. */
    samples?: readonly string[] | undefined;
};

export type TrainPlan = {
    /** Bytes beside the model's weights. */
    memory?: number;
    /** The same, with. */
    memory_with_checkpointing?: number;
    /** And without. */
    memory_without_checkpointing?: number;
    /** On the CPU: bytes there are. */
    room?: number;
    /** On the CPU: the longest sequence that fits. */
    longest_with_checkpointing?: number;
    /** Likewise. */
    longest_without_checkpointing?: number;
    /** Until the end. */
    steps: number;
    /** That see every example once. */
    steps_of_epoch: number;
    /** Numbers that are trained. */
    parameters: number;
    /** To learn from. */
    examples: number;
    /** That are kept back. */
    validation_examples: number;
    /** That lost their end. */
    cut_examples: number;
    /** Tokens of the longest sequence. */
    longest: number;
};

export type TrainCreateResult = {
    /** The number by which other methods know it. */
    train: number;
    plan: TrainPlan;
};

export type TrainRunArgs = {
    /** Its number. */
    train: number;
    /** The data set it was made for, to be sure. */
    data?: number | undefined;
    /** Steps. */
    at_most?: number | undefined;
};

export type TrainStepEvent = {
    type: 'step';
    /** From 1. */
    step: number;
    /** Until the end. */
    steps: number;
    /** The time through the examples, from 1. */
    epoch: number;
    /** The mean over the tokens of this step that are learnt. */
    loss: number | null;
    /** The learning rate. */
    lr: number;
    /** Before clipping. */
    grad_norm: number | null;
    /** Of this step. */
    tokens: number;
    tokens_per_second: number;
};

export type TrainValidationEvent = {
    type: 'validation';
    /** After which. */
    step: number;
    /** Of the examples that are kept back. */
    loss: number | null;
};

export type TrainSampleEvent = {
    type: 'sample';
    /** After which. */
    step: number;
    /** One of the samples. */
    prompt: string;
    /** The answer. */
    text: string;
};

export type TrainRunResult = {
    /** Where it is. */
    step: number;
    /** It came to its end. */
    finished: boolean;
};

export type TrainArgs = {
    /** Its number. */
    train: number;
};

export type TrainStepResult = {
    /** Where it is. */
    step: number;
};

export type TrainAdapterArgs = {
    /** Its number. */
    train: number;
    /** Of the adapter. */
    name?: string | undefined;
};

export type TrainGradcheckArgs = {
    /** Its number. */
    model: number;
    /** One the model was loaded for; the GPU if it was. */
    backend?: 'cpu' | 'gpu' | undefined;
    /** As for train.create. */
    checkpointing?: boolean | undefined;
    /** Of AdamW: those of the fixture unless told. */
    steps?: number | undefined;
    /** That show how far rounding leads, beside the one that is compared: 4 unless told. */
    runs?: number | undefined;
};

export type GradientError = {
    /** Which update. */
    label: string;
    /** Of the first matrix. */
    a: number;
    /** Of the second. */
    b: number;
};

export type TrainGradcheckResult = {
    passed: boolean;
    /** Relative error. */
    loss: number;
    /** The largest of all below. */
    worst_gradient: number;
    /** Relative errors. */
    gradients: GradientError[];
    /** Errors of the loss after each step of AdamW from the starting values alone. */
    alone: number[];
    /** The same after a first step with the expected gradients. */
    guided: number[];
    /** How far rounding leads such runs apart. */
    spread: number[];
    /** How many of those the expected loss is away. */
    distance: number[];
    worst_distance: number;
    /** First steps that rounding leaves alone. */
    determined: number;
    /** Error among those. */
    worst_step: number;
    loss_tolerance: number;
    gradient_tolerance: number;
    step_tolerance: number;
    distance_tolerance: number;
};

export type TrainBenchArgs = {
    /** One on the GPU. */
    model: number;
    /** Of a step: 512 unless told. */
    tokens?: number | undefined;
    /** Of the updates: 16 unless told. */
    rank?: number | undefined;
    /** Measurements, of which the median counts: 5 unless told. */
    runs?: number | undefined;
    /** As for train.create. */
    checkpointing?: boolean | undefined;
};

export type TrainBenchBytes = {
    weights: number;
    training: number;
};

export type TrainBenchResult = {
    /** Of a step. */
    tokens: number;
    rank: number;
    runs: number;
    checkpointing: boolean;
    /** Tokens a second of a step: forward, backward and AdamW. */
    train_tps: number;
    /** Without AdamW. */
    accumulate_tps: number;
    /** Of the forward pass alone. */
    evaluate_tps: number;
    /** Of reading a prompt. */
    prefill_tps: number;
    /** Of accumulating to reading. */
    ratio: number;
    step_ms: number;
    /** Of the last step. */
    loss: number;
    gpu_bytes: TrainBenchBytes;
    /** The GPU in words. */
    adapter: string;
};

export type GpuCheckArgs = {
    /** Features to do without, such as subgroups; only the GPU's first use decides. */
    without?: readonly string[] | undefined;
    /** Names; all of them unless told. */
    kernels?: readonly string[] | undefined;
    /** Of weights, such as q4_k; all of them unless told. */
    formats?: readonly string[] | undefined;
    /** One case for each kernel, variant and format: what a model's first load can afford. */
    quick?: boolean | undefined;
};

export type CheckedCase = {
    kernel: string;
    /** Empty for kernels that read no weights. */
    format: string;
    /** How threads add up: shared or subgroup; empty where there is no choice. */
    variant: string;
    shape: string;
    /** Relative, L2. */
    error: number;
    /** The most it may be. */
    limit: number;
    /** The largest difference of a single number. */
    max_error: number;
    ok: boolean;
    /** What no tolerance covers, in words. */
    problem?: string;
};

export type GpuCheckResult = {
    /** The GPU in words. */
    adapter: string;
    /** Whether it has them. */
    subgroups: boolean;
    /** Threads in one, at least; 0: not known. */
    subgroup_min: number;
    /** Every kernel against its reference. */
    cases: CheckedCase[];
    /** How many. */
    failed: number;
    /** How long it took. */
    ms: number;
};

export type GpuBandwidthResult = {
    /** What a plain copy of a large buffer reads and writes, by the GPU's clock, if it has one. */
    bytes_per_second?: number;
};

export type DiffusionSettings = {
    /** Of a canvas, at most. */
    steps?: number | undefined;
    /** The temperature falls towards this … */
    t_min?: number | undefined;
    /** … from this at the first step. */
    t_max?: number | undefined;
    /**
     * A step accepts the surest tokens until their entropies sum to more than this, in nats: more is faster and less
     * careful.
     */
    entropy_bound?: number | undefined;
    /** A canvas is done early when so many steps before had the same most likely tokens … */
    stability_threshold?: number | undefined;
    /** … and the mean entropy is below this. */
    confidence_threshold?: number | undefined;
};

export type GpuSettleArgs = {
    /** Of the canvas. */
    length?: number | undefined;
    /** How many logits a place has. */
    vocabulary?: number | undefined;
    /** Those that are not the usual ones. */
    settings?: DiffusionSettings | undefined;
    /** Of each step. */
    temperatures?: readonly number[] | undefined;
    /** What the first step looks at. */
    canvas?: readonly number[] | undefined;
    /** Tokens for the places of each step that are not accepted. */
    noise?: readonly number[] | undefined;
    /** That draw the tokens of each step. */
    uniforms?: readonly number[] | undefined;
};

export type DiffuseStep = {
    /** What the step looked at. */
    canvas_in: number[];
    /** 1 where the token drawn stays. */
    accept: number[];
    /** The most likely tokens. */
    argmax: number[];
    /** Of each place, in nats. */
    entropy: number[];
};

export type GpuSettleResult = {
    /** All that there are logits for. */
    steps: DiffuseStep[];
    /** Of each step: 1 where the canvas was done. */
    settled: number[];
    /** What a next step would look at. */
    canvas: number[];
};

export type ProjectorOpenArgs = {
    /** A projector file (mmproj); none: the towers that lie in the model's own file. */
    sources?: readonly SourceFile[] | undefined;
    /**
     * Whose soft tokens the towers are to make: others are refused. Left out, the towers can be described and run by
     * themselves.
     */
    model?: number | undefined;
    /** Where the towers compute: as the model was loaded, unless told. */
    backend?: 'cpu' | 'gpu' | undefined;
    /** Of the vision tower: 'gelu' as trained (default), 'quick-gelu' as llama.cpp computes. */
    activation?: 'gelu' | 'quick-gelu' | undefined;
};

export type ProjectorOpenResult = {
    /** The number by which other methods know it. */
    projector: number;
    /** Where it will compute. */
    backend: 'cpu' | 'gpu';
    /** Of a soft token. */
    width: number;
    /** Of all its weights, which are loaded when they are first needed. */
    bytes: number;
    /** If it sees. */
    vision?: VisionTower;
    /** If it hears. */
    audio?: AudioTower;
};

export type ProjectorArgs = {
    /** Its number. */
    projector: number;
};

export type MediaLookResult = {
    /** Told by the bytes, not by a name. */
    format: 'png' | 'jpeg' | 'webp' | 'gif' | 'wav' | 'unknown';
    /** Of a picture, as it is stored. */
    width?: number;
    /** Likewise. */
    height?: number;
    /** Of a picture, by EXIF: 1 is upright. */
    orientation?: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
};

export type MediaImageArgs = {
    /** Its number. */
    projector: number;
    /** In pixels, as they were stored. */
    width: number;
    /** Likewise. */
    height: number;
    /** Rows of pixels from the top; 16 bits are little-endian. Alpha is dropped, of 16 bits the high 8 count. */
    layout?: 'rgba8' | 'rgb8' | 'grey8' | 'rgba16' | 'grey16' | undefined;
    /** By EXIF, as media.look tells: 1 unless told. */
    orientation?: number | undefined;
    /** Tokens it may become: 280 unless told, 70 of a frame. */
    budget?: number | undefined;
    /** It is a frame of a video. */
    frame?: boolean | undefined;
};

export type MediaImageResult = {
    /** The number by which prompts know it. */
    media: number;
    /** It becomes, without the two around it. */
    tokens: number;
    /** In pixels, as the tower sees it. */
    width: number;
    /** Likewise. */
    height: number;
    /** The same for the same picture, budget and projector. */
    digest: string;
};

export type MediaSoundArgs = {
    /** Its number. */
    projector: number;
    /** Samples in a second, of one channel of float32; left out, the bytes are a WAV file. */
    rate?: number | undefined;
};

export type MediaSoundResult = {
    /** The number by which prompts know it. */
    media: number;
    /** It becomes, without the two around it. */
    tokens: number;
    /** How long it is. */
    seconds: number;
    /** That are heard by themselves: more than 1 should be told to people. */
    pieces: number;
    /** The same for the same sound and projector. */
    digest: string;
};

export type MediaFramesArgs = {
    /** That the video has. */
    frames: number;
    /** Frames in a second: 24 unless told. */
    fps?: number | undefined;
    /** To look at: 32 unless told. */
    most?: number | undefined;
};

export type MediaFramesResult = {
    /** Of the frames to look at, from 0. */
    indices: number[];
    /** When each is: for the part of the conversation. */
    seconds: number[];
};

export type MediaArgs = {
    /** Its number. */
    media: number;
};

export type MediaPreparedResult = {
    /** Of a picture its height, of a sound its frames. */
    rows: number;
    /** Of a picture its width, of a sound the numbers in a frame. */
    columns: number;
    /** 3 of a picture. */
    channels: number;
};

export type MediaEncodeResult = {
    /** Rows. */
    tokens: number;
    /** Numbers in a row. */
    width: number;
    /** That the tower took; 0: it was known already. */
    ms: number;
    /** Additions and multiplications that the tower has to do for it. */
    operations: number;
};

export type SessionCreateArgs = {
    /** Its number. */
    model: number;
    /** Tokens it can hold: 4,096 unless told, and at most the model's. */
    context?: number | undefined;
    /** One the model was loaded for; the GPU if it was. */
    backend?: 'cpu' | 'gpu' | undefined;
    /** How the GPU keeps keys and values: i16 unless told. */
    kv?: 'f32' | 'f16' | 'i16' | 'q8' | undefined;
    /**
     * Tokens that go through the GPU's layers together: 512 unless told, and fewer where a driver ends what takes
     * long.
     */
    block?: number | undefined;
    /**
     * For tests: without it the GPU's intermediate results have a buffer each, which takes more memory and changes no
     * bit.
     */
    share_scratch?: boolean | undefined;
    /**
     * How the tokens of an image see one another: 'reference' (default) as the model was trained, both ways on
     * sliding layers of 12B and larger; 'llama.cpp': both ways everywhere.
     */
    image_attention?: 'reference' | 'llama.cpp' | undefined;
};

export type SessionCreateResult = {
    /** The number by which other methods know it. */
    session: number;
    /** Tokens it can hold. */
    context: number;
};

export type Sampling = {
    /** 0: always the most likely token. */
    temperature?: number | undefined;
    /** Keep the so many most likely; 0: all. */
    top_k?: number | undefined;
    /** Keep the most likely until their probabilities reach this. */
    top_p?: number | undefined;
    /** Keep what is at least so many times as likely as the best. */
    min_p?: number | undefined;
    /** 1 changes nothing, more makes repetition less likely. */
    repeat_penalty?: number | undefined;
    /** Subtracted once from a token seen lately. */
    presence_penalty?: number | undefined;
    /** Subtracted as often as it was seen. */
    frequency_penalty?: number | undefined;
    /** How many of the latest tokens that looks at: 64 unless told. */
    repeat_last_n?: number | undefined;
    /** The same seed, request and device give the same answer. */
    seed?: number | undefined;
    /** What to add to the logits of tokens, by id. */
    logit_bias?: Record<string, number> | undefined;
};

export type SessionGenerateArgs = {
    /** Its number. */
    session: number;
    /** Text to continue … */
    prompt?: string | undefined;
    /** … or its ids, taken as they are … */
    prompt_tokens?: readonly number[] | undefined;
    /**
     * … or a conversation to answer. Parts of a message may be {type: 'image', media}, {type: 'audio', media} and
     * {type: 'video', frames: [{media, seconds}, …]} with the numbers that media.image and media.sound gave.
     */
    messages?: readonly JsonObject[] | undefined;
    /** That the answer may call, as OpenAI spells them. */
    tools?: readonly JsonObject[] | undefined;
    /**
     * 'auto' (default), 'none', 'required', or {function: {name}}. When a call is demanded there is nothing but
     * thoughts and calls, and the arguments follow the tool's schema as response_format would.
     */
    tool_choice?: JsonValue | undefined;
    /** Think before answering. */
    thinking?: boolean | undefined;
    /** As for model.tokenize. */
    add_bos?: boolean | undefined;
    /** As for model.tokenize. */
    parse_special?: boolean | undefined;
    /** 0: until the model ends or the context is full. */
    max_tokens?: number | undefined;
    /** How the next token is chosen. */
    sampling?: Sampling | undefined;
    /** Texts that end the answer. */
    stop?: readonly string[] | undefined;
    /**
     * {type: 'text'}, {type: 'json_object'} or {type: 'json_schema', json_schema: {name, schema, strict}}. The
     * content is then JSON of that form, or its beginning if finish_reason is length. Thoughts and tool calls are not
     * part of the content. strict changes nothing: a schema is always followed; keywords that cannot be are refused
     * by name.
     */
    response_format?: JsonObject | undefined;
    /**
     * Tell how likely each token was, and this many others at its place: with the events text and content, for the
     * tokens that made the text. They are the model's own: the log-softmax of its logits before bias, penalties,
     * format, filters and temperature.
     */
    logprobs?: number | undefined;
    /**
     * When the prompt leaves no room in the context: 'error' (default) refuses it, 'stop' gives an empty answer with
     * finish_reason length, 'slide' (messages only) leaves out the oldest turns and says how many messages in
     * dropped_messages. It makes room for max_tokens, or for a quarter of the context, but not for more than half of
     * it; system messages and the last turn stay, and if those do not fit the call is refused. An answer that reaches
     * the end of the context always ends with length.
     */
    overflow?: 'error' | 'stop' | 'slide' | undefined;
    /**
     * Ids of an answer that was broken off. They follow the prompt, no events are told for them, and what comes is
     * what would have come with the same seed. Text, message and completion_tokens of the result are those of the
     * whole answer, and max_tokens counts them.
     */
    continue_tokens?: readonly number[] | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
    /**
     * With messages: events tokens, every token of the answer but the one that ends it, for continue_tokens. Events
     * text always have them.
     */
    report_tokens?: boolean | undefined;
    /** Of a model that writes by canvases: the settings that are not its file's. */
    diffusion?: DiffusionSettings | undefined;
    /** Of such a model: events draft, of every step. */
    drafts?: boolean | undefined;
};

export type TextEvent = {
    type: 'text';
    /** That follows what was told before. */
    text: string;
    /** That it is made of. */
    tokens: number[];
    /** If they were asked for. */
    logprobs?: Logprob[];
};

export type ContentEvent = {
    type: 'content';
    /** Of the answer. */
    text: string;
    /** If they were asked for. */
    logprobs?: Logprob[];
};

export type ReasoningEvent = {
    type: 'reasoning';
    /** Of the thought. */
    text: string;
};

export type ToolCallEvent = {
    type: 'tool_call';
    /** Counts the calls of this answer from 0. */
    index: number;
    id: string;
    /** Of the tool. */
    name: string;
    /** The beginning of a JSON object, as text. */
    arguments: string;
};

export type ArgumentsEvent = {
    type: 'arguments';
    /** Of the call. */
    index: number;
    /** That follows what was told of its arguments. */
    text: string;
};

export type InvalidToolCallEvent = {
    type: 'invalid_tool_call';
    /** What the model wrote as a call, and nobody could read. */
    text: string;
    /** Why. */
    error: string;
};

export type TokensEvent = {
    type: 'tokens';
    /** Of the answer, with report_tokens. */
    tokens: number[];
};

export type DraftEvent = {
    type: 'draft';
    /** What may follow what was told before; the next draft, or what is told then, takes its place. */
    text: string;
    /** Where in the text accepted tokens are: start, end, start, end, … in UTF-16 units. */
    firm: number[];
    /** Tokens of the canvas that were accepted. */
    settled: number;
    /** Of a canvas. */
    tokens: number;
    /** From 1. */
    step: number;
    /** There can be. */
    steps: number;
};

export type AssistantMessage = {
    role: 'assistant';
    /** Empty when the answer is made of calls alone. */
    content: string;
    /** What it thought, if it did. */
    reasoning_content?: string;
    /** If there are any. */
    tool_calls?: MessageToolCall[];
};

export type SessionGenerateResult = {
    /** The whole answer, without thoughts. */
    text: string;
    finish_reason: 'stop' | 'length' | 'tool_calls';
    /** That the prompt had. */
    prompt_tokens: number;
    /** Of the prompt that were in memory from before. */
    cached_tokens: number;
    /** Of the answer. */
    completion_tokens: number;
    /** For reading the prompt. */
    prompt_ms: number;
    /** For writing the answer. */
    completion_ms: number;
    /** That was used. */
    seed: number;
    /** Of a conversation: what to add to it. */
    message?: AssistantMessage;
    /** How many old messages were left out, where overflow is slide. */
    dropped_messages?: number;
    /** Which of the texts in stop, counted from 0. */
    stopped_by?: number;
    /** Of a model that writes by canvases. */
    canvas?: CanvasStats;
};

export type SessionEmbedArgs = {
    /** Its number. */
    session: number;
    /** Tokens of each text, which follow one another in the blob; one text where there are none. */
    lengths?: readonly number[] | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionEmbedResult = {
    /** That were read. */
    tokens: number;
    /** And as many vectors. */
    texts: number;
    /** Numbers in a vector. */
    width: number;
};

export type SessionScoreArgs = {
    /** Its number. */
    session: number;
    /** Others to tell at each place. */
    top?: number | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionScoreResult = {
    /** Of every token but the first, after those before it. */
    scores: Logprob[];
};

export type MediaUse = {
    /** Its number. */
    media: number;
};

export type SessionLogitsArgs = {
    /** Its number. */
    session: number;
    /** Where the rows of float32 go. */
    sink: number;
    /** How many tokens go through the model together; 1 is how answers are made. */
    at_once?: number | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
    /**
     * What stands for the entries -1, -2, … of the tokens, each of which gives a row for each of its soft tokens.
     */
    media?: readonly MediaUse[] | undefined;
};

export type SessionLogitsResult = {
    /** Rows. */
    tokens: number;
    /** Numbers in a row. */
    vocabulary: number;
};

export type SessionCanvasLogitsArgs = {
    /** Its number. */
    session: number;
    /** Where the rows of float32 go. */
    sink: number;
    /** How many canvases stand behind the prompt. */
    canvases?: number | undefined;
    /** By which the logits of each canvas but the last are divided before the next one sees them. */
    temperatures?: readonly number[] | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionCanvasLogitsResult = {
    /** Canvases · tokens of one. */
    rows: number;
    /** Numbers in a row. */
    vocabulary: number;
};

export type SessionDiffuseArgs = {
    /** Its number. */
    session: number;
    /** Those that are not the file's. */
    settings?: DiffusionSettings | undefined;
    /** After one of them nothing more is written. */
    end_tokens?: readonly number[] | undefined;
    /** Of each canvas: where its start and its numbers begin in the lists. */
    first_step?: readonly number[] | undefined;
    /** What each step began with; only that of a canvas's first is looked at. */
    canvas_in?: readonly number[] | undefined;
    /** Tokens for the places of each step that are not accepted. */
    noise?: readonly number[] | undefined;
    /** That draw the tokens of each step. */
    uniforms?: readonly number[] | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionDiffuseResult = {
    /** Of all canvases, one after the other. */
    steps: DiffuseStep[];
    /** All canvases, and the token for padding after one that ends. */
    output: number[];
    /** As in CanvasStats. */
    margins: CanvasMarginsMessage;
};

export type SessionPerplexityArgs = {
    /** Its number. */
    session: number;
    /** Tokens that are seen together: 512 unless told. */
    window?: number | undefined;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionPerplexityResult = {
    perplexity: number;
    /** The mean of the negative logarithms. */
    nll: number;
    /** That were predicted. */
    tokens: number;
    /** Tokens that were seen together. */
    window: number;
};

export type SessionSaveArgs = {
    /** Its number. */
    session: number;
    /** Where it goes. */
    sink: number;
};

export type SessionSaveResult = {
    /** That it remembers. */
    tokens: number;
    /** In the sink. */
    bytes: number;
};

export type SessionRestoreArgs = {
    /** Of the same model, backend and kv as the one that was saved. */
    session: number;
    /** What was saved. */
    source: SourceFile;
    /** Those that take part; none when left out. A session holds on to its tokens only while they stay the same. */
    adapters?: readonly AdapterUse[] | undefined;
};

export type SessionRestoreResult = {
    /** That it remembers now. */
    tokens: number;
};

export type SessionBenchArgs = {
    /** Its number. */
    session: number;
    /** Tokens to read: 512 unless told. */
    prompt?: number | undefined;
    /** Tokens to write: 128 unless told. */
    decode?: number | undefined;
    /** Tokens already in the context. */
    depth?: number | undefined;
    /** Measurements, of which the median counts: 5 unless told. */
    runs?: number | undefined;
};

export type BenchBytes = {
    weights: number;
    session: number;
};

export type SessionBenchResult = {
    /** Tokens read in a second. */
    prefill_tps: number;
    /** Tokens written in a second. */
    decode_tps: number;
    /** That were read. */
    prompt_tokens: number;
    /** That were written. */
    decode_tokens: number;
    /** Tokens in the context before. */
    depth: number;
    /** That a written token reads. */
    weight_bytes_per_token: number;
    /** Of a written token, by the GPU's clock, if it has one. */
    decode_gpu_ms?: number;
    /** On the GPU. */
    dispatches_per_token?: number;
    /** On the GPU. */
    submits_per_token?: number;
    /** On the GPU. */
    gpu_bytes?: BenchBytes;
    /** The GPU in words. */
    adapter?: string;
    /** Of a model that writes by canvases, in place of decode_*. */
    canvas?: CanvasBench;
};

export type SessionProfileArgs = {
    /** One on the GPU. */
    session: number;
    /** Tokens already in the context. */
    depth?: number | undefined;
};

export type KernelTime = {
    /** And its size. */
    kernel: string;
    /** Of a token. */
    dispatches: number;
    /** All of them together. */
    ms: number;
};

export type SessionProfileResult = {
    /** Where the GPU's time of a written token goes. */
    profile: KernelTime[];
};

export type SessionArgs = {
    /** Its number. */
    session: number;
};

/** By name: what a method takes, tells while it runs, and gives. */
export interface Methods {
    /** Reads the header of a model's files. */
    'model.open': { args: ModelOpenArgs; event: never; result: ModelOpenResult };
    /** What inspect --json prints. A file that cannot be run is described as far as it can be read. */
    'model.describe': { args: ModelDescribeArgs; event: never; result: ModelDescription };
    /**
     * Brings the weights to where they are computed with. On the first load for a GPU a few cases decide which
     * kernels it gets, unless gpu_choice knows.
     */
    'model.load': { args: ModelLoadArgs; event: Progress; result: ModelLoadResult };
    /** A text in the model's tokens. */
    'model.tokenize': { args: ModelTokenizeArgs; event: never; result: ModelTokenizeResult };
    /** Texts in the model's tokens, as session.embed wants them. */
    'model.embedding_input': { args: ModelEmbeddingInputArgs; event: never; result: ModelEmbeddingInputResult };
    /** And back. */
    'model.detokenize': { args: ModelDetokenizeArgs; event: never; result: ModelDetokenizeResult };
    /** Writes the model with its weights in another type; nothing needs to be loaded for it. */
    'model.quantize': { args: ModelQuantizeArgs; event: Progress; result: WrittenModel };
    /** Writes the model with adapters worked into its weights. */
    'model.merge': { args: ModelMergeArgs; event: Progress; result: WrittenModel };
    /** Writes a model of noise, for measuring. */
    'model.synth': { args: ModelSynthArgs; event: Progress; result: ModelSynthResult };
    /**
     * What goes from layer to layer at the last of these tokens, on the GPU, to be compared with what others
     * computed.
     */
    'model.states': { args: ModelArgs; event: never; result: ModelStatesResult };
    /** Sessions of the model go on living. */
    'model.close': { args: ModelArgs; event: never; result: Record<string, never> };
    /** A LoRA adapter of a model. */
    'adapter.load': { args: AdapterLoadArgs; event: never; result: LoadedAdapter };
    /** What an adapter is. */
    'adapter.describe': { args: AdapterArgs; event: never; result: AdapterDescription };
    /** An adapter as files. */
    'adapter.export': { args: AdapterExportArgs; event: never; result: AdapterExportResult };
    /** Sessions that use it go on doing so until they are asked for something else. */
    'adapter.close': { args: AdapterArgs; event: never; result: Record<string, never> };
    /** A file of examples becomes a data set to train on. */
    'data.read': { args: DataReadArgs; event: never; result: DataReadResult };
    /** Examples as the model will see them. */
    'data.preview': { args: DataPreviewArgs; event: never; result: DataPreviewResult };
    /** A training that uses it goes on. */
    'data.close': { args: DataArgs; event: never; result: Record<string, never> };
    /** An adapter in the making: what it takes, and what would fit. */
    'train.create': { args: TrainCreateArgs; event: never; result: TrainCreateResult };
    /** Cancelled, it ends after the step it is at and can be run again. */
    'train.run': { args: TrainRunArgs; event: TrainStepEvent | TrainValidationEvent | TrainSampleEvent; result: TrainRunResult };
    /** A checkpoint. */
    'train.save': { args: TrainArgs; event: never; result: TrainStepResult };
    /** Goes on from a checkpoint. */
    'train.restore': { args: TrainArgs; event: never; result: TrainStepResult };
    /** The adapter as it is now; training goes on with one of its own. */
    'train.adapter': { args: TrainAdapterArgs; event: never; result: LoadedAdapter };
    /** Relative errors of the loss, of every gradient and of the steps of AdamW. */
    'train.gradcheck': { args: TrainGradcheckArgs; event: never; result: TrainGradcheckResult };
    /** How fast an adapter is trained on the GPU, and what that takes. */
    'train.bench': { args: TrainBenchArgs; event: Progress; result: TrainBenchResult };
    /** Gives its memory back. */
    'train.close': { args: TrainArgs; event: never; result: Record<string, never> };
    /** Every kernel against its reference. */
    'gpu.check': { args: GpuCheckArgs; event: Progress; result: GpuCheckResult };
    /** How fast the GPU moves memory. It must be open, as it is once a model was loaded. */
    'gpu.bandwidth': { args: Record<string, never>; event: never; result: GpuBandwidthResult };
    /** Settles a canvas without a model: its logits are given, and all numbers. */
    'gpu.settle': { args: GpuSettleArgs; event: never; result: GpuSettleResult };
    /** Reads what a file has of towers: nothing but its header, until something goes through them. */
    'projector.open': { args: ProjectorOpenArgs; event: never; result: ProjectorOpenResult };
    /** Media of the projector go on living. */
    'projector.close': { args: ProjectorArgs; event: never; result: Record<string, never> };
    /** What a file is, and how large its picture: before anybody makes room for it. */
    'media.look': { args: Record<string, never>; event: never; result: MediaLookResult };
    /** A decoded picture, turned and resized as the tower wants it. It is encoded when a prompt needs it. */
    'media.image': { args: MediaImageArgs; event: never; result: MediaImageResult };
    /** A sound. It is encoded when a prompt needs it. */
    'media.sound': { args: MediaSoundArgs; event: never; result: MediaSoundResult };
    /** Which frames of a video to look at. */
    'media.frames': { args: MediaFramesArgs; event: never; result: MediaFramesResult };
    /** What the tower gets: pixels from 0 to 255, log-mel features, or frames of the waveform. */
    'media.prepared': { args: MediaArgs; event: never; result: MediaPreparedResult };
    /** Soft tokens, now and not when a prompt needs them. */
    'media.encode': { args: MediaArgs; event: Progress; result: MediaEncodeResult };
    /** Prompts can use it no more; a session keeps what it has read. */
    'media.close': { args: MediaArgs; event: never; result: Record<string, never> };
    /** A context to run a model in. */
    'session.create': { args: SessionCreateArgs; event: never; result: SessionCreateResult };
    /** A prompt or a conversation in, an answer out, token by token. */
    'session.generate': { args: SessionGenerateArgs; event: TextEvent | ContentEvent | ReasoningEvent | ToolCallEvent | ArgumentsEvent | InvalidToolCallEvent | TokensEvent | DraftEvent | Progress; result: SessionGenerateResult };
    /**
     * Texts as vectors: what a model of embeddings makes of each, of any other model the mean over its positions of
     * the hidden state after the final norm. Not yet of length 1. Forgets what the session held.
     */
    'session.embed': { args: SessionEmbedArgs; event: Progress; result: SessionEmbedResult };
    /** How likely every token but the first was after those before it. */
    'session.score': { args: SessionScoreArgs; event: Progress; result: SessionScoreResult };
    /** The logits of every position, in the sink. */
    'session.logits': { args: SessionLogitsArgs; event: Progress; result: SessionLogitsResult };
    /** The logits of canvases behind a prompt, each but the first conditioned on the one before it, in the sink. */
    'session.canvas_logits': { args: SessionCanvasLogitsArgs; event: Progress; result: SessionCanvasLogitsResult };
    /** Settles canvases with numbers that are given, and tells every step. */
    'session.diffuse': { args: SessionDiffuseArgs; event: never; result: SessionDiffuseResult };
    /** How surprising a text is. */
    'session.perplexity': { args: SessionPerplexityArgs; event: Progress; result: SessionPerplexityResult };
    /** What the session remembers; it goes on as before. */
    'session.save': { args: SessionSaveArgs; event: Progress; result: SessionSaveResult };
    /** Remembers what another session has saved, instead of what it did. */
    'session.restore': { args: SessionRestoreArgs; event: Progress; result: SessionRestoreResult };
    /** How fast a session reads and writes. */
    'session.bench': { args: SessionBenchArgs; event: Progress; result: SessionBenchResult };
    /** Where the GPU time of a written token goes. */
    'session.profile': { args: SessionProfileArgs; event: never; result: SessionProfileResult };
    /** Gives its memory back. */
    'session.close': { args: SessionArgs; event: never; result: Record<string, never> };
}

export type Method = keyof Methods;
