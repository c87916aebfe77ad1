// train.*: arguments, events and results.
#pragma once

#include "api/messages/adapter.h"
#include "train/data.h"

namespace lapidary::api {

struct TrainArgs {
    Id train = 0;
};
ARGUMENTS(TrainArgs, MEMBER(train, "its number"));

// What is left out is as train::Settings has it.
struct TrainCreateArgs {
    Id model = 0;
    Id data = 0;
    std::string backend;
    std::string name;
    std::optional<int64_t> rank;
    std::optional<double> alpha;
    std::vector<std::string> targets;
    std::vector<int64_t> layers;
    std::optional<int64_t> batch;
    std::optional<int64_t> accumulate;
    std::optional<int64_t> seq;
    bool cut = true;
    std::optional<double> validation;
    std::optional<int64_t> epochs;
    int64_t steps = 0;
    std::optional<double> lr;
    std::optional<double> weight_decay;
    std::optional<double> clip_norm;
    std::optional<double> beta1;
    std::optional<double> beta2;
    std::string schedule;
    std::optional<double> warmup;
    std::optional<double> dropout;
    int64_t seed = 0;
    int64_t every = 0;
    bool checkpointing = true;
    std::vector<std::string> samples;
};
ARGUMENTS(
    TrainCreateArgs, MEMBER(model, "its number"), MEMBER(data, "what it shall learn"),
    MEMBER(backend, "one the model was loaded for; the GPU if it was").maybe().as(kBackend),
    MEMBER(name, "of the adapter").maybe(),
    MEMBER(rank, "of the updates: 16 unless told. More can learn more, and takes more memory")
        .between(1, lora::kMaxRank),
    MEMBER(alpha, "the updates are multiplied by alpha / rank: twice the rank unless told"),
    MEMBER(targets, "the matrices that are updated: all seven of a layer unless told; q is short for q_proj")
        .at_most(32),
    MEMBER(layers, "all of them unless told"), MEMBER(batch, "examples that make one step").between(1, 1 << 20),
    MEMBER(accumulate, "batches that make one step").between(1, 1 << 20),
    MEMBER(seq, "tokens of a sequence: examples may have as many, and short ones share one")
        .between(2, train::kMaxExampleTokens),
    MEMBER(cut, "an example that is too long loses its end; otherwise it is refused"),
    MEMBER(validation, "share of the examples that are kept back"),
    MEMBER(epochs, "how often every example is seen: 1 unless told").between(1, 1 << 20),
    MEMBER(steps, "ends earlier, after so many").between(0, UINT32_MAX),
    MEMBER(lr, "the highest learning rate: 2e-4 unless told"), MEMBER(weight_decay, "of AdamW"),
    MEMBER(clip_norm, "of all gradients together: larger ones are made this large; 0 leaves them"),
    MEMBER(beta1, "of AdamW"), MEMBER(beta2, "of AdamW"),
    MEMBER(schedule, "of the learning rate: cosine unless told").maybe().as("'constant' | 'linear' | 'cosine'"),
    MEMBER(warmup, "share of the steps in which the learning rate grows from nothing"),
    MEMBER(dropout, "share of an adapter's inputs that are left out at random"),
    MEMBER(seed, "the same gives the same adapter on the same device").between(0, int64_t{1} << 53),
    MEMBER(every, "steps between two validations and rounds of samples; 0: a tenth of all").between(0, UINT32_MAX),
    MEMBER(checkpointing,
           "computes activations a second time instead of keeping them: slower, with much less memory; true"),
    MEMBER(samples, "texts a person may say: what the model answers is told now and then").at_most(16));

struct TrainPlan {
    std::optional<int64_t> memory;
    std::optional<int64_t> memory_with_checkpointing;
    std::optional<int64_t> memory_without_checkpointing;
    std::optional<int64_t> room;
    std::optional<int64_t> longest_with_checkpointing;
    std::optional<int64_t> longest_without_checkpointing;
    int64_t steps = 0;
    int64_t steps_of_epoch = 0;
    int64_t parameters = 0;
    int64_t examples = 0;
    int64_t validation_examples = 0;
    int64_t cut_examples = 0;
    int64_t longest = 0;
};
MESSAGE(TrainPlan, MEMBER(memory, "bytes beside the model's weights"),
        MEMBER(memory_with_checkpointing, "the same, with"), MEMBER(memory_without_checkpointing, "and without"),
        MEMBER(room, "on the CPU: bytes there are"),
        MEMBER(longest_with_checkpointing, "on the CPU: the longest sequence that fits"),
        MEMBER(longest_without_checkpointing, "likewise"), MEMBER(steps, "until the end"),
        MEMBER(steps_of_epoch, "that see every example once"), MEMBER(parameters, "numbers that are trained"),
        MEMBER(examples, "to learn from"), MEMBER(validation_examples, "that are kept back"),
        MEMBER(cut_examples, "that lost their end"), MEMBER(longest, "tokens of the longest sequence"));

struct TrainCreateResult {
    Id train = 0;
    TrainPlan plan;
};
MESSAGE(TrainCreateResult, MEMBER(train, "the number by which other methods know it"), MEMBER(plan, ""));

struct TrainRunArgs {
    Id train = 0;
    std::optional<int64_t> data;
    int64_t at_most = UINT32_MAX;
};
ARGUMENTS(TrainRunArgs, MEMBER(train, "its number"),
          MEMBER(data, "the data set it was made for, to be sure").between(0, UINT32_MAX),
          MEMBER(at_most, "steps").between(1, UINT32_MAX));

// JSON has no infinity, which is where a training may go.
inline constexpr char kMaybeNoNumber[] = "number | null";

struct TrainStepEvent {
    std::string type = "step";
    int64_t step = 0;
    int64_t steps = 0;
    int64_t epoch = 0;
    double loss = 0;
    double lr = 0;
    double grad_norm = 0;
    int64_t tokens = 0;
    double tokens_per_second = 0;
};
MESSAGE(TrainStepEvent, MEMBER(type, "").as("'step'"), MEMBER(step, "from 1"), MEMBER(steps, "until the end"),
        MEMBER(epoch, "the time through the examples, from 1"),
        MEMBER(loss, "the mean over the tokens of this step that are learnt").as(kMaybeNoNumber),
        MEMBER(lr, "the learning rate"), MEMBER(grad_norm, "before clipping").as(kMaybeNoNumber),
        MEMBER(tokens, "of this step"), MEMBER(tokens_per_second, ""));

struct TrainValidationEvent {
    std::string type = "validation";
    int64_t step = 0;
    double loss = 0;
};
MESSAGE(TrainValidationEvent, MEMBER(type, "").as("'validation'"), MEMBER(step, "after which"),
        MEMBER(loss, "of the examples that are kept back").as(kMaybeNoNumber));

struct TrainSampleEvent {
    std::string type = "sample";
    int64_t step = 0;
    std::string prompt;
    std::string text;
};
MESSAGE(TrainSampleEvent, MEMBER(type, "").as("'sample'"), MEMBER(step, "after which"),
        MEMBER(prompt, "one of the samples"), MEMBER(text, "the answer"));

struct TrainRunResult {
    int64_t step = 0;
    bool finished = false;
};
MESSAGE(TrainRunResult, MEMBER(step, "where it is"), MEMBER(finished, "it came to its end"));

struct TrainStepResult {
    int64_t step = 0;
};
MESSAGE(TrainStepResult, MEMBER(step, "where it is"));

struct TrainAdapterArgs {
    Id train = 0;
    std::string name;
};
ARGUMENTS(TrainAdapterArgs, MEMBER(train, "its number"), MEMBER(name, "of the adapter").maybe());

struct TrainGradcheckArgs {
    Id model = 0;
    std::string backend;
    bool checkpointing = true;
    std::optional<int64_t> steps;
    int64_t runs = 4;
};
ARGUMENTS(
    TrainGradcheckArgs, MEMBER(model, "its number"),
    MEMBER(backend, "one the model was loaded for; the GPU if it was").maybe().as(kBackend),
    MEMBER(checkpointing, "as for train.create"), MEMBER(steps, "of AdamW: those of the fixture unless told"),
    MEMBER(runs, "that show how far rounding leads, beside the one that is compared: 4 unless told").between(2, 64));

struct GradientError {
    std::string label;
    double a = 0;
    double b = 0;
};
MESSAGE(GradientError, MEMBER(label, "which update"), MEMBER(a, "of the first matrix"), MEMBER(b, "of the second"));

struct TrainGradcheckResult {
    bool passed = false;
    double loss = 0;
    double worst_gradient = 0;
    std::vector<GradientError> gradients;
    std::vector<double> alone;
    std::vector<double> guided;
    std::vector<double> spread;
    std::vector<double> distance;
    double worst_distance = 0;
    int64_t determined = 0;
    double worst_step = 0;
    double loss_tolerance = 0;
    double gradient_tolerance = 0;
    double step_tolerance = 0;
    double distance_tolerance = 0;
};
MESSAGE(TrainGradcheckResult, MEMBER(passed, ""), MEMBER(loss, "relative error"),
        MEMBER(worst_gradient, "the largest of all below"), MEMBER(gradients, "relative errors"),
        MEMBER(alone, "errors of the loss after each step of AdamW from the starting values alone"),
        MEMBER(guided, "the same after a first step with the expected gradients"),
        MEMBER(spread, "how far rounding leads such runs apart"),
        MEMBER(distance, "how many of those the expected loss is away"), MEMBER(worst_distance, ""),
        MEMBER(determined, "first steps that rounding leaves alone"), MEMBER(worst_step, "error among those"),
        MEMBER(loss_tolerance, ""), MEMBER(gradient_tolerance, ""), MEMBER(step_tolerance, ""),
        MEMBER(distance_tolerance, ""));

struct TrainBenchArgs {
    Id model = 0;
    int64_t tokens = 512;
    int64_t rank = 16;
    int64_t runs = 5;
    bool checkpointing = true;
};
ARGUMENTS(TrainBenchArgs, MEMBER(model, "one on the GPU"),
          MEMBER(tokens, "of a step: 512 unless told").between(2, 1 << 14),
          MEMBER(rank, "of the updates: 16 unless told").between(1, 256),
          MEMBER(runs, "measurements, of which the median counts: 5 unless told").between(1, 100),
          MEMBER(checkpointing, "as for train.create"));

struct TrainBenchBytes {
    int64_t weights = 0;
    int64_t training = 0;
};
MESSAGE(TrainBenchBytes, MEMBER(weights, ""), MEMBER(training, ""));

struct TrainBenchResult {
    int64_t tokens = 0;
    int64_t rank = 0;
    int64_t runs = 0;
    bool checkpointing = true;
    double train_tps = 0;
    double accumulate_tps = 0;
    double evaluate_tps = 0;
    double prefill_tps = 0;
    double ratio = 0;
    double step_ms = 0;
    double loss = 0;
    TrainBenchBytes gpu_bytes;
    std::string adapter;
};
MESSAGE(TrainBenchResult, MEMBER(tokens, "of a step"), MEMBER(rank, ""), MEMBER(runs, ""), MEMBER(checkpointing, ""),
        MEMBER(train_tps, "tokens a second of a step: forward, backward and AdamW"),
        MEMBER(accumulate_tps, "without AdamW"), MEMBER(evaluate_tps, "of the forward pass alone"),
        MEMBER(prefill_tps, "of reading a prompt"), MEMBER(ratio, "of accumulating to reading"), MEMBER(step_ms, ""),
        MEMBER(loss, "of the last step"), MEMBER(gpu_bytes, ""), MEMBER(adapter, "the GPU in words"));

}  // namespace lapidary::api
