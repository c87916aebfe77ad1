#include "train/settings.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "sample/random.h"

namespace lapidary::train {

Result<Schedule> schedule_from(std::string_view name) {
    if (name == "constant") return Schedule::constant;
    if (name == "linear") return Schedule::linear;
    if (name == "cosine") return Schedule::cosine;
    return fail(Code::invalid_argument, "there is no schedule '{}': constant, linear and cosine there are",
                printable(name));
}

Status check(const Settings& settings) {
    const auto within = [](float value, float low, float high) { return value >= low && value <= high; };
    if (settings.rank == 0 || settings.rank > lora::kMaxRank) {
        return fail(Code::invalid_argument, "the rank is {}: it must be between 1 and {}", settings.rank,
                    lora::kMaxRank);
    }
    if (!within(settings.alpha, 1e-6f, 1e6f)) return fail(Code::invalid_argument, "alpha must be more than 0");
    if (settings.targets.empty()) return fail(Code::invalid_argument, "there is nothing to train: no targets");
    if (settings.batch == 0 || settings.accumulate == 0 || settings.sequence < 2 || settings.epochs == 0) {
        return fail(Code::invalid_argument,
                    "a step needs an example, a sequence two tokens, and a training an epoch at least");
    }
    if (!within(settings.validation, 0, 0.9f)) {
        return fail(Code::invalid_argument, "the share of examples for validation must be between 0 and 0.9");
    }
    if (!within(settings.dropout, 0, 0.9f)) {
        return fail(Code::invalid_argument, "dropout must be between 0 and 0.9");
    }
    if (!within(settings.warmup, 0, 1)) return fail(Code::invalid_argument, "warm-up must be between 0 and 1");
    const AdamW& adamw = settings.adamw;
    if (!within(adamw.learning_rate, 0, 10) || !within(adamw.beta1, 0, 0.99999f) ||
        !within(adamw.beta2, 0, 0.999999f) || !within(adamw.epsilon, 1e-20f, 1) ||
        !within(adamw.weight_decay, 0, 100) || !within(adamw.clip_norm, 0, 1e9f)) {
        return fail(Code::invalid_argument, "the optimizer cannot work with these numbers");
    }
    return {};
}

float learning_rate(const Settings& settings, uint64_t step, uint64_t steps) {
    const double highest = double(settings.adamw.learning_rate);
    const double warmup = std::floor(double(settings.warmup) * double(steps));
    if (double(step) < warmup) return float(highest * double(step + 1) / (warmup + 1));
    if (settings.schedule == Schedule::constant) return float(highest);
    // The last step still learns something: 0 would be reached one after it.
    const double done = (double(step) - warmup) / std::max(1.0, double(steps) - warmup);
    if (settings.schedule == Schedule::linear) return float(highest * (1 - done));
    return float(highest * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

Result<lora::Adapter> initial_adapter(const model::WeightTable& table, const Settings& settings) {
    std::vector<uint32_t> layers = settings.layers;
    if (layers.empty()) {
        layers.resize(table.layers.size());
        std::iota(layers.begin(), layers.end(), 0u);
    }
    std::vector<lora::Target> targets = settings.targets;
    for (auto* list : {&layers}) std::ranges::sort(*list);
    std::ranges::sort(targets);
    layers.erase(std::ranges::unique(layers).begin(), layers.end());
    targets.erase(std::ranges::unique(targets).begin(), targets.end());
    lora::Adapter out{.alpha = settings.alpha};
    for (const uint32_t layer : layers) {
        if (layer >= table.layers.size()) {
            return fail(Code::invalid_argument, "there is no layer {}: the model has {}", layer, table.layers.size());
        }
        for (const lora::Target target : targets) {
            if (!lora::in_layer(target)) {
                return fail(Code::unsupported, "'{}' cannot be trained: only matrices of the layers can",
                            lora::name_of(target));
            }
            const auto shape = lora::shape_of(table, layer, target);
            if (!shape) continue;
            lora::Update update{.layer = layer,
                                .target = target,
                                .rank = settings.rank,
                                .in = shape->in,
                                .out = shape->out,
                                .scale = settings.alpha / float(settings.rank)};
            const sample::Mixed key =
                sample::mix(uint32_t(settings.seed), uint32_t(settings.seed >> 32), uint32_t(out.updates.size()));
            const uint64_t seed = uint64_t(key.x) << 32 | key.y;
            const float bound = 1.0f / std::sqrt(float(update.in));
            update.a.resize(size_t(update.rank) * update.in);
            for (size_t i = 0; i < update.a.size(); ++i) {
                update.a[i] = bound * (2 * sample::uniform(seed, uint32_t(i)) - 1);
            }
            update.b.resize(size_t(update.rank) * update.out);
            out.updates.push_back(std::move(update));
        }
    }
    if (out.updates.empty()) return fail(Code::invalid_argument, "the model has none of the targets in these layers");
    return out;
}

}  // namespace lapidary::train
