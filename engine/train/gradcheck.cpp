#include "train/gradcheck.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "chat/json.h"
#include "lora/safetensors.h"
#include "sample/random.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

constexpr uint32_t kMaxLayers = 1024;
constexpr float kNudge = 1e-5f;

Result<const lora::SafeTensor*> tensor_of(const lora::SafeTensors& file, const std::string& name) {
    const lora::SafeTensor* found = file.find(name);
    if (found == nullptr) return fail(Code::bad_file, "the file has no '{}': it is not a fixture for training", name);
    return found;
}

Result<std::vector<float>> floats(const lora::SafeTensors& file, const std::string& name) {
    return lora::floats_of(*TRY(tensor_of(file, name)));
}

double relative(std::span<const float> actual, std::span<const float> expected) {
    double difference = 0;
    double norm = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
        difference += std::pow(double(actual[i]) - double(expected[i]), 2);
        norm += std::pow(double(expected[i]), 2);
    }
    const double ratio = std::sqrt(difference / norm);
    // A gradient that is nothing must stay nothing; one that is no number is as wrong as can be.
    if (norm == 0) return difference == 0 ? 0 : INFINITY;
    return std::isnan(ratio) ? INFINITY : ratio;
}

double relative(double actual, double expected) {
    const double ratio = std::abs(actual - expected) / std::abs(expected);
    return std::isnan(ratio) ? INFINITY : ratio;
}

// Every number changed by up to `amount` of itself.
lora::Adapter nudged(lora::Adapter adapter, float amount, uint64_t seed) {
    uint32_t drawn = 0;
    for (lora::Update& update : adapter.updates) {
        for (auto* part : {&update.a, &update.b}) {
            for (float& v : *part) v *= 1 + amount * (2 * sample::uniform(seed, drawn++) - 1);
        }
    }
    return adapter;
}

Task<Result<std::vector<double>>> losses_of(Backend& backend, const Fixture& fixture, const Breathe& breathe) {
    const double weight = weight_of(fixture.sequence);
    std::vector<double> out;
    for (size_t step = 0; step < fixture.losses.size(); ++step) {
        out.push_back(CO_TRY(co_await backend.accumulate(fixture.sequence, weight, {}, breathe)) / weight);
        CO_TRY(co_await backend.step(fixture.adamw));
    }
    co_return out;
}

// The first of the runs is the one that is compared.
void compare_steps(GradcheckReport& out, const std::vector<std::vector<double>>& runs,
                   std::span<const float> expected) {
    double spread = 0;
    for (size_t step = 0; step < expected.size(); ++step) {
        double middle = 0;
        for (const auto& run : runs) middle += std::log(run[step]) / double(runs.size());
        double squares = 0;
        for (const auto& run : runs) squares += std::pow(std::log(run[step]) - middle, 2);
        // Runs that have parted do not find together again, though they may cross.
        spread = std::max(spread, std::sqrt(squares / double(runs.size() - 1)));
        const double off = std::abs(std::log(double(expected[step])) - middle) - GradcheckReport::kLossTolerance;
        const double distance = off <= 0 ? 0 : off / spread;
        out.steps.push_back(relative(runs[0][step], double(expected[step])));
        out.spread.push_back(spread);
        out.distance.push_back(std::isnan(distance) ? INFINITY : distance);
        out.worst_distance = std::max(out.worst_distance, out.distance.back());
        if (out.determined == step && spread <= GradcheckReport::kStepTolerance / 4) {
            out.determined = step + 1;
            out.worst_step = std::max(out.worst_step, out.steps.back());
        }
    }
}

}  // namespace

Result<Fixture> read_fixture(std::span<const uint8_t> bytes) {
    const lora::SafeTensors file = TRY(lora::SafeTensors::parse(bytes));
    const chat::Json scale = TRY(chat::parse_json(std::string(file.metadata("scale")), "the fixture's scale"));
    if (!scale.is_number()) return fail(Code::bad_file, "the fixture has no scale");
    Fixture out;
    out.adamw = {.learning_rate = 1e-2f};
    out.sequence.tokens = TRY(lora::integers_of(*TRY(tensor_of(file, "tokens"))));
    out.sequence.weights = TRY(floats(file, "loss_mask"));
    out.sequence.weights.push_back(0);
    out.sequence.starts = {0};
    const std::vector<float> loss = TRY(floats(file, "loss"));
    out.losses = TRY(floats(file, "adamw_losses"));
    if (loss.size() != 1 || out.sequence.weights.size() != out.sequence.tokens.size()) {
        return fail(Code::bad_file, "the fixture's loss or mask has another size than it should");
    }
    out.loss = double(loss[0]);
    constexpr std::array kNames = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
    for (uint32_t layer = 0; layer < kMaxLayers; ++layer) {
        for (const char* name : kNames) {
            const std::string base = format("layers.{}.{}", layer, name);
            if (file.find(base + ".A") == nullptr) continue;
            const lora::SafeTensor& a = *TRY(tensor_of(file, base + ".A"));
            const lora::SafeTensor& b = *TRY(tensor_of(file, base + ".B"));
            if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[0] > lora::kMaxRank || b.shape[1] != a.shape[0] ||
                a.shape[1] > UINT32_MAX || b.shape[0] > UINT32_MAX) {
                return fail(Code::bad_file, "the fixture's '{}' has a shape that cannot be", base);
            }
            lora::Update update{.layer = layer,
                                .target = *lora::target_from(name),
                                .rank = uint32_t(a.shape[0]),
                                .in = uint32_t(a.shape[1]),
                                .out = uint32_t(b.shape[0]),
                                .scale = scale.get<float>(),
                                .a = TRY(lora::floats_of(a)),
                                .b = TRY(lora::floats_of(b))};
            lora::Update gradient = update;
            gradient.a = TRY(floats(file, base + ".dA"));
            gradient.b = TRY(floats(file, base + ".dB"));
            if (gradient.a.size() != update.a.size() || gradient.b.size() != update.b.size()) {
                return fail(Code::bad_file, "the fixture's gradients of '{}' have another size than it", base);
            }
            out.adapter.updates.push_back(std::move(update));
            out.gradients.push_back(std::move(gradient));
        }
    }
    if (out.adapter.updates.empty()) return fail(Code::bad_file, "the fixture has no updates");
    return out;
}

Task<Result<GradcheckReport>> gradcheck(Fixture fixture, MakeBackend make, Breathe breathe, uint32_t others) {
    GradcheckReport out;
    const double weight = weight_of(fixture.sequence);
    const auto backend = CO_TRY(co_await make(fixture.adapter));
    const double loss = CO_TRY(co_await backend->accumulate(fixture.sequence, weight, {}, breathe)) / weight;
    out.loss = relative(loss, fixture.loss);
    const std::vector<lora::Update> gradients = CO_TRY(co_await backend->gradients());
    for (size_t i = 0; i < gradients.size(); ++i) {
        const lora::Update& expected = fixture.gradients[i];
        out.gradients.push_back({.label = lora::label_of(expected),
                                 .a = relative(gradients[i].a, expected.a),
                                 .b = relative(gradients[i].b, expected.b)});
        out.worst_gradient = std::max({out.worst_gradient, out.gradients.back().a, out.gradients.back().b});
    }
    backend->forget_gradients();

    const Moments start = CO_TRY(co_await backend->moments());
    std::vector<std::vector<double>> runs;
    runs.push_back(CO_TRY(co_await losses_of(*backend, fixture, breathe)));
    for (uint32_t seed = 1; seed <= others && !fixture.losses.empty(); ++seed) {
        CO_TRY(co_await backend->restore(nudged(fixture.adapter, kNudge, seed), start));
        runs.push_back(CO_TRY(co_await losses_of(*backend, fixture, breathe)));
    }
    compare_steps(out, runs, fixture.losses);
    co_return out;
}

}  // namespace lapidary::train
