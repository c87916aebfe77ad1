// train.bench: how fast an adapter is trained on the GPU, and what that takes.
#include <algorithm>

#include "api/api.h"
#include "api/median.h"
#include "infer/gpu_runner.h"
#include "sample/random.h"
#include "train/gpu_backend.h"

namespace lapidary::api {
namespace {

constexpr int64_t kLongestSequence = 1 << 14;
constexpr int64_t kMostRank = 256;
constexpr int64_t kMostTrainRuns = 100;

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

// {model, tokens, rank, runs, checkpointing} → tokens per second of a step: forward, backward and AdamW
Task<Result<Reply>> Api::train_bench(Call& call) {
    const auto open = CO_TRY(model_of(call));
    const auto config = CO_TRY(open->config());
    const auto table = CO_TRY(open->weights());
    if (open->gpu_weights == nullptr) {
        co_return fail(Code::invalid_argument, "the model was not loaded for the backend 'gpu'");
    }
    const auto count = uint32_t(CO_TRY(call.args.integer_or("tokens", 2, kLongestSequence, 512)));
    const auto rank = uint32_t(CO_TRY(call.args.integer_or("rank", 1, kMostRank, 16)));
    const auto runs = uint32_t(CO_TRY(call.args.integer_or("runs", 1, kMostTrainRuns, 5)));
    const bool checkpointing = CO_TRY(call.args.boolean_or("checkpointing", true));
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
                                                  {.tokens = count, .checkpointing = checkpointing}, call.cancel));
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
    co_return Reply{.json = {{"tokens", count},
                             {"rank", rank},
                             {"runs", runs},
                             {"checkpointing", checkpointing},
                             {"train_tps", per_second(steps)},
                             {"accumulate_tps", per_second(passes)},
                             {"evaluate_tps", per_second(forward)},
                             {"prefill_tps", per_second(prefill)},
                             {"ratio", per_second(passes) / per_second(prefill)},
                             {"step_ms", median(steps)},
                             {"loss", loss / (count - 1)},
                             {"gpu_bytes", {{"weights", open->gpu_weights->bytes()}, {"training", backend->bytes()}}},
                             {"adapter", device_->info().adapter}}};
}

}  // namespace lapidary::api
