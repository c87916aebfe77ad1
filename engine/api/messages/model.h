// model.*: arguments and results.
#pragma once

#include "api/messages/common.h"
#include "gguf/file.h"
#include "infer/autotune.h"

namespace lapidary::api {

struct ModelArgs {
    Id model = 0;
};
ARGUMENTS(ModelArgs, MEMBER(model, "its number"));

struct ModelOpenArgs {
    std::vector<SourceFile> sources;
};
ARGUMENTS(ModelOpenArgs, MEMBER(sources, "the model's files, in order").at_most(gguf::kMaxShards).required());

struct ModelOpenResult {
    Id model = 0;
};
MESSAGE(ModelOpenResult, MEMBER(model, "the number by which other methods know it"));

struct ModelDescribeArgs {
    Id model = 0;
    std::string kv;
};
ARGUMENTS(
    ModelDescribeArgs, MEMBER(model, "its number"),
    MEMBER(kv, "how keys and values are kept, for what they need in memory: i16 unless told").maybe().as(kKvType));

// Which kernels a GPU got, and what was found out about it.
struct GpuVariant {
    std::string reduction;
    std::string activations;
};
MESSAGE(GpuVariant, MEMBER(reduction, "how threads add up what they have").as("'subgroup' | 'shared'"),
        MEMBER(activations, "what quantised weights are multiplied with").as("'limbs' | 'floats'"));

struct GpuSelfTest {
    int64_t cases = 0;
    double ms = 0;
    std::vector<std::string> wrong;
};
MESSAGE(GpuSelfTest, MEMBER(cases, "that were run; 0: it was left out"), MEMBER(ms, "how long it took"),
        MEMBER(wrong, "what had to be given up, and why"));

struct GpuGemvMs {
    double limbs = 0;
    double floats = 0;
};
MESSAGE(GpuGemvMs, MEMBER(limbs, "with whole numbers"), MEMBER(floats, "with floats"));

struct GpuKernels {
    GpuVariant variant;
    GpuSelfTest selftest;
    std::optional<int64_t> compute_units;
    std::optional<bool> remembered;
    std::optional<GpuGemvMs> gemv_ms;
};
MESSAGE(GpuKernels, MEMBER(variant, "the kernels"), MEMBER(selftest, "of this load"),
        MEMBER(compute_units, "that work side by side, if that is known"),
        MEMBER(remembered, "an earlier load knew it all"),
        MEMBER(gemv_ms, "a matrix times a vector, if that was measured"));

// How the CPU computes.
struct CpuKernels {
    std::string accuracy;
    std::optional<std::string> digits;
    std::optional<std::string> why;
};
MESSAGE(CpuKernels,
        MEMBER(accuracy,
               "exact: as close as sums of floats; fast: as close as most engines; reference: slow and obvious")
            .as("'exact' | 'fast' | 'reference'"),
        MEMBER(digits, "what activations become where they meet weights of few bits")
            .as("'two_i16' | 'three_i8' | 'one_i8'"),
        MEMBER(why, "it is the reference"));

struct ModelExperts {
    int64_t count = 0;
    int64_t used = 0;
    int64_t feed_forward = 0;
};
MESSAGE(ModelExperts, MEMBER(count, "in a layer"), MEMBER(used, "by a token"),
        MEMBER(feed_forward, "the width within"));

struct SamplingHints {
    std::optional<double> temperature;
    std::optional<int64_t> top_k;
    std::optional<double> top_p;
};
MESSAGE(SamplingHints, MEMBER(temperature, ""), MEMBER(top_k, ""), MEMBER(top_p, ""));

struct TensorShare {
    std::string type;
    int64_t tensors = 0;
    int64_t bytes = 0;
    int64_t parameters = 0;
};
MESSAGE(TensorShare, MEMBER(type, "of the tensors, such as Q4_K"), MEMBER(tensors, "how many"),
        MEMBER(bytes, "they take"), MEMBER(parameters, "numbers in them"));

struct TokenizerSummary {
    std::string model;
    std::optional<int64_t> tokens;
    std::optional<int64_t> merges;
};
MESSAGE(TokenizerSummary, MEMBER(model, "what the file calls it"), MEMBER(tokens, "in the vocabulary"),
        MEMBER(merges, "of byte pair encoding"));

struct VisionTower {
    std::string kind;
    int64_t layers = 0;
    int64_t width = 0;
    int64_t heads = 0;
    int64_t feed_forward = 0;
    int64_t token_side = 0;
    int64_t most_tokens_per_side = 0;
    std::vector<int64_t> budgets;
};
MESSAGE(VisionTower, MEMBER(kind, "").as("'gemma4v' | 'gemma4uv'"), MEMBER(layers, "none in gemma4uv"),
        MEMBER(width, "of what a patch becomes"), MEMBER(heads, "of attention"), MEMBER(feed_forward, "width within"),
        MEMBER(token_side, "pixels on each side of what becomes one token"),
        MEMBER(most_tokens_per_side, "a picture that asks for more is refused"),
        MEMBER(budgets, "of tokens that media.image takes"));

struct AudioTower {
    std::string kind;
    int64_t layers = 0;
    int64_t width = 0;
    int64_t heads = 0;
    int64_t feed_forward = 0;
    double tokens_per_second = 25;
    std::optional<int64_t> piece_seconds;
};
MESSAGE(AudioTower, MEMBER(kind, "").as("'gemma4a' | 'gemma4ua'"), MEMBER(layers, "none in gemma4ua"),
        MEMBER(width, "of the layers"), MEMBER(heads, "of attention"), MEMBER(feed_forward, "width within"),
        MEMBER(tokens_per_second, "of sound"),
        MEMBER(piece_seconds, "longer sounds are cut into pieces of this length, each heard by itself"));

struct TowersDescription {
    int64_t bytes = 0;
    std::optional<VisionTower> vision;
    std::optional<AudioTower> audio;
};
MESSAGE(TowersDescription, MEMBER(bytes, "of their weights"), MEMBER(vision, "if there is one"),
        MEMBER(audio, "if there is one"));

// A file that cannot be run is described as far as it can be read.
struct ModelDescription {
    std::string architecture;
    std::optional<std::string> name;
    std::string format;
    std::string dialect;
    int64_t file_bytes = 0;
    std::optional<int64_t> files;
    int64_t tensors = 0;
    std::optional<std::string> variant;
    std::optional<int64_t> layers;
    std::optional<int64_t> sliding_layers;
    std::optional<int64_t> width;
    Json heads;
    Json kv_heads;
    Json head_dim;
    Json feed_forward;
    std::optional<int64_t> vocabulary;
    std::optional<int64_t> context_length;
    std::optional<int64_t> sliding_window;
    std::optional<int64_t> per_layer_embedding;
    std::optional<int64_t> shared_kv_layers;
    std::optional<ModelExperts> experts;
    std::optional<int64_t> embedding_size;
    Json diffusion;
    std::optional<SamplingHints> sampling;
    Json capabilities;
    std::optional<TowersDescription> towers;
    std::optional<int64_t> parameters;
    Json memory;
    bool supported = false;
    std::optional<std::string> reason;
    std::vector<TensorShare> quantization;
    std::optional<TokenizerSummary> tokenizer;
    std::optional<GpuKernels> gpu;
    std::optional<CpuKernels> cpu;
};
inline constexpr char kPerLayer[] = "number | number[]";
MESSAGE(ModelDescription, MEMBER(architecture, "'gemma4', or what it cannot run"),
        MEMBER(name, "what the file calls itself"), MEMBER(format, "such as GGUF v3"),
        MEMBER(dialect, "whose names the weights have").as("'llama.cpp' | 'ollama'"),
        MEMBER(file_bytes, "all files together"), MEMBER(files, "if there are several"), MEMBER(tensors, "how many"),
        MEMBER(variant, "the member of the family, such as e2b"), MEMBER(layers, ""),
        MEMBER(sliding_layers, "that look back no further than a window"), MEMBER(width, "of the hidden state"),
        MEMBER(heads, "one number where all layers agree").as(kPerLayer), MEMBER(kv_heads, "likewise").as(kPerLayer),
        MEMBER(head_dim, "likewise").as(kPerLayer), MEMBER(feed_forward, "likewise").as(kPerLayer),
        MEMBER(vocabulary, "tokens"), MEMBER(context_length, "the longest"), MEMBER(sliding_window, "in tokens"),
        MEMBER(per_layer_embedding, "their width, if there are any"),
        MEMBER(shared_kv_layers, "layers that use the keys and values of others, if there are any"),
        MEMBER(experts, "of a mixture of experts"),
        MEMBER(diffusion, "of a model that writes by canvases: their length, and what its file recommends")
            .as("JsonObject"),
        MEMBER(embedding_size, "numbers in a vector, of a model of embeddings, which writes no text"),
        MEMBER(sampling, "what the file recommends, if it does"),
        MEMBER(capabilities, "what a program may expect, in Ollama's words")
            .as("('completion' | 'tools' | 'thinking' | 'embedding' | 'vision' | 'audio')[]"),
        MEMBER(towers, "in the file, for images and sounds"),
        MEMBER(parameters, "numbers in the weights that are used"),
        MEMBER(memory,
               "bytes of weights, of weights_on_cpu, kv_format, kv_cache_at_N and total_at_N for 4,096 tokens and for "
               "the longest "
               "context, and of the table of per_layer_embeddings, which may stay in the file")
            .as("{ weights: number; kv_format: string; [at: string]: number | string }"),
        MEMBER(supported, "whether it can be run"), MEMBER(reason, "why not"),
        MEMBER(quantization, "types in the order of the bytes they take"), MEMBER(tokenizer, "if the file has one"),
        MEMBER(gpu, "once loaded there"), MEMBER(cpu, "once loaded there"));

struct ModelLoadArgs {
    Id model = 0;
    std::string backend = "cpu";
    std::vector<std::string> without_features;
    bool selftest = true;
    std::string gpu_choice;
    std::optional<int64_t> processors;
    std::string per_layer_embeddings = "auto";
    std::string accuracy = "exact";
};
inline constexpr int64_t kMaxFeatures = 32;
ARGUMENTS(ModelLoadArgs, MEMBER(model, "its number"), MEMBER(backend, "'cpu' unless told").maybe().as(kBackend),
          MEMBER(without_features, "of the GPU, to do without; only its first use decides").at_most(kMaxFeatures),
          MEMBER(selftest, "false: the GPU gets the kernels it says it can run, without being tried"),
          MEMBER(gpu_choice, "what earlier loads gave back, a line each").maybe(),
          MEMBER(processors, "how many the GPU has, whatever was found out").between(0, infer::kMaxComputeUnits),
          MEMBER(per_layer_embeddings, "where that table goes: auto is with the other weights if there is room")
              .maybe()
              .as("'auto' | 'gpu' | 'source'"),
          MEMBER(accuracy, "of the CPU: exact unless told; only the first load for it decides")
              .maybe()
              .as("'exact' | 'fast' | 'reference'"));

struct ModelLoadResult {
    int64_t bytes = 0;
    std::optional<std::string> adapter;
    std::optional<GpuKernels> gpu;
    std::optional<CpuKernels> cpu;
    std::optional<std::string> per_layer_embeddings;
    std::optional<std::string> gpu_choice;
};
MESSAGE(ModelLoadResult, MEMBER(bytes, "of the weights in memory"), MEMBER(adapter, "the GPU in words"),
        MEMBER(gpu, "the kernels it got"), MEMBER(cpu, "how it computes there"),
        MEMBER(per_layer_embeddings, "where that table is, if the model has one").as("'gpu' | 'memory' | 'source'"),
        MEMBER(gpu_choice, "a line to keep for the next load"));

struct ModelTokenizeArgs {
    Id model = 0;
    bool add_bos = true;
    bool parse_special = true;
    bool pieces = false;
};
ARGUMENTS(ModelTokenizeArgs, MEMBER(model, "its number"),
          MEMBER(add_bos, "put the token first with which texts begin; true"),
          MEMBER(parse_special, "recognise the names of special tokens; true"),
          MEMBER(pieces, "also tell the text of each token"));

struct ModelTokenizeResult {
    std::vector<std::string> pieces;
};
MESSAGE(ModelTokenizeResult, MEMBER(pieces, "if they were asked for"));

struct ModelEmbeddingInputArgs {
    Id model = 0;
    std::vector<int64_t> lengths;
    std::string task, title;
    std::optional<int64_t> most;
};
inline constexpr int64_t kMaxTokensOfAText = int64_t{1} << 31;
ARGUMENTS(ModelEmbeddingInputArgs, MEMBER(model, "its number"),
          MEMBER(lengths, "bytes of each text, which follow one another in the blob"),
          MEMBER(task,
                 "what the vectors are for, such as query or document, of a model that was trained for tasks; the "
                 "texts are read as they are unless told")
              .maybe(),
          MEMBER(title, "what the texts are called, where they are documents").maybe(),
          MEMBER(most, "tokens of each, at most; what is longer is cut before the token that ends it")
              .between(1, kMaxTokensOfAText));

struct ModelEmbeddingInputResult {
    std::vector<int64_t> lengths;
    std::vector<int64_t> whole;
};
MESSAGE(ModelEmbeddingInputResult, MEMBER(lengths, "tokens of each text, which follow one another in the blob"),
        MEMBER(whole, "tokens that each would have if nothing were cut"));

struct ModelStatesResult {
    int64_t states = 0;
    int64_t width = 0;
};
MESSAGE(ModelStatesResult, MEMBER(states, "one before each layer, and what the head reads"),
        MEMBER(width, "numbers in a state"));

struct ModelDetokenizeArgs {
    Id model = 0;
    bool special = true;
};
ARGUMENTS(ModelDetokenizeArgs, MEMBER(model, "its number"), MEMBER(special, "also write special tokens; true"));

struct ModelDetokenizeResult {
    std::string text;
};
MESSAGE(ModelDetokenizeResult, MEMBER(text, "with U+FFFD for bytes that are no character"));

struct ModelQuantizeArgs {
    Id model = 0;
    std::string type;
    Id sink = 0;
};
ARGUMENTS(ModelQuantizeArgs, MEMBER(model, "its number"), MEMBER(type, "such as q4_k_m, in capitals or not"),
          MEMBER(sink, "where the file goes"));

struct WrittenTensor {
    std::string name;
    std::string from;
    std::string to;
};
MESSAGE(WrittenTensor, MEMBER(name, ""), MEMBER(from, "its type before"), MEMBER(to, "its type now"));

struct WrittenModel {
    int64_t bytes = 0;
    std::vector<WrittenTensor> tensors;
};
MESSAGE(WrittenModel, MEMBER(bytes, "of the file"), MEMBER(tensors, "in the file"));

struct ModelMergeArgs {
    Id model = 0;
    std::vector<AdapterUse> adapters;
    std::string type = "same";
    Id sink = 0;
};
ARGUMENTS(ModelMergeArgs, MEMBER(model, "its number"),
          MEMBER(adapters, "what is worked into the weights").at_most(lora::kMaxActive),
          MEMBER(type, "one of model.quantize's; the weights keep theirs unless told").maybe(),
          MEMBER(sink, "where the file goes"));

struct ModelSynthArgs {
    std::string variant;
    std::string type;
    int64_t seed = 0;
    Id sink = 0;
};
ARGUMENTS(ModelSynthArgs, MEMBER(variant, "a member of the family, such as e2b; the refusal of another names them all"),
          MEMBER(type, "of most weights, as for model.quantize"), MEMBER(seed, "the same gives the same file"),
          MEMBER(sink, "where the file goes"));

struct ModelSynthResult {
    int64_t bytes = 0;
    int64_t tensors = 0;
};
MESSAGE(ModelSynthResult, MEMBER(bytes, "of the file"), MEMBER(tensors, "in the file"));

}  // namespace lapidary::api
