// train.bench: how fast an adapter is trained on the GPU, and what that takes.
#include <algorithm>

#include "api/api.h"
#include "api/median.h"
#include "api/messages/train.h"
#include "infer/gpu_runner.h"
#include "sample/random.h"
#include "train/gpu_backend.h"

namespace lapidary::api {
namespace {

// Small numbers everywhere, so that every gradient has something to do.
std::vector<float> noise(size_t count, uint32_t seed) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i) out[i] = 0.02f * (sample::uniform(seed, uint32_t(i)) - 0.5f);
    return out;
}

// Updates of q, k, v, o, gate, up and down in every layer that has them.
lora::Adapter whole_adapter(const model::Config& config, const model::WeightTable& table, uint32_t rank) {
    lora::Adapter out{.name = "bench", .alpha = float(rank)};
    for (uint32_t layer = 0; layer < config.layers.size(); ++layer) {
        for (uint8_t i = 0; i <= uint8_t(lora::Target::down); ++i) {
            const auto target = lora::Target(i);
            const model::Weight* weight = lora::weight_of(table, layer, target);
            if (weight == nullptr) continue;
            const auto in = uint32_t(weight->cols);
            const auto rows = uint32_t(weight->rows);
            out.updates.push_back({.layer = layer,
                                   .target = target,
                                   .rank = rank,
                                   .in = in,
                                   .out = rows,
                                   .scale = 1,
                                   .a = noise(size_t(rank) * in, 2 * layer),
                                   .b = noise(size_t(rank) * rows, 2 * layer + 1)});
        }
    }
    return out;
}

}  // namespace

Task<Result<Reply>> Api::train_bench(Call& call) {
    TrainBenchArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(model_of(args.model));
    const auto config = CO_TRY(open->config());
    CO_TRY(model::check_writes_text(*config));
    const auto table = CO_TRY(open->weights());
    if (open->gpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model was not loaded for the backend 'gpu'");
    }
    const auto count = uint32_t(args.tokens);
    const auto rank = uint32_t(args.rank);
    const auto runs = uint32_t(args.runs);
    train::Sequence sequence{
        .tokens = std::vector<int32_t>(count), .weights = std::vector<float>(count, 1.0f), .starts = {0}};
    sequence.weights.back() = 0;
    for (uint32_t i = 0; i < count; ++i) {
        sequence.tokens[i] = int32_t(sample::uniform(7, i) * float(config->vocabulary));
    }

    std::vector<double> prefill;
    {
        const auto runner = CO_TRY(co_await infer::GpuRunner::create(
            open->gpu_weights, {.context = count + 16, .kv = kDefaultKvFormat}, call.cancel));
        for (uint32_t i = 0; i <= runs; ++i) {  // the first one warms up
            runner->truncate(0);
            const double from = host_.now();
            CO_TRY(co_await runner->run(sequence.tokens, LogitsWanted::last, nullptr));
            if (i > 0) prefill.push_back(host_.now() - from);
        }
    }

    const auto backend =
        CO_TRY(co_await train::GpuBackend::create(open->gpu_weights, whole_adapter(*config, *table, rank),
                                                  {.tokens = count, .checkpointing = args.checkpointing}, call.cancel));
    const auto progress = progress_of(call);
    std::vector<double> passes;
    std::vector<double> steps;
    std::vector<double> forward;
    double loss = 0;
    for (uint32_t i = 0; i <= runs; ++i) {
        double from = host_.now();
        CO_TRY(co_await backend->evaluate(sequence, breathe_for(call)));
        if (i > 0) forward.push_back(host_.now() - from);
        from = host_.now();
        loss = CO_TRY(co_await backend->accumulate(sequence, count - 1, {}, breathe_for(call)));
        if (i > 0) passes.push_back(host_.now() - from);
        CO_TRY(co_await backend->step({}));
        if (i > 0) steps.push_back(host_.now() - from);
        progress(i, runs);
    }
    const auto per_second = [&](const std::vector<double>& ms) { return count * 1000.0 / median(ms); };
    co_return reply(TrainBenchResult{
        .tokens = count,
        .rank = rank,
        .runs = runs,
        .checkpointing = args.checkpointing,
        .train_tps = per_second(steps),
        .accumulate_tps = per_second(passes),
        .evaluate_tps = per_second(forward),
        .prefill_tps = per_second(prefill),
        .ratio = per_second(passes) / per_second(prefill),
        .step_ms = median(steps),
        .loss = loss / (count - 1),
        .gpu_bytes = {.weights = int64_t(open->gpu_weights->bytes()), .training = int64_t(backend->bytes())},
        .adapter = device_->info().adapter});
}

}  // namespace lapidary::api
