#include "train/gradcheck.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "chat/json.h"
#include "lora/safetensors.h"
#include "sample/random.h"
#include "train/optimizer.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

constexpr uint32_t kMaxLayers = 1024;
constexpr float kNudge = 1e-5f;
// Losses in f32 that differ by this are equal.
constexpr double kEqual = 2e-6;

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

// What AdamW makes of the starting values with the expected gradients.
struct Start {
    lora::Adapter adapter;
    Moments moments;
};

Start after_expected_step(const Fixture& fixture) {
    Start out{.adapter = fixture.adapter};
    std::vector<float> numbers;
    std::vector<float> gradients;
    for (size_t i = 0; i < fixture.gradients.size(); ++i) {
        for (const auto part : {&lora::Update::a, &lora::Update::b}) {
            numbers.append_range(fixture.adapter.updates[i].*part);
            gradients.append_range(fixture.gradients[i].*part);
        }
    }
    out.moments = {.first = std::vector<float>(numbers.size()), .second = std::vector<float>(numbers.size())};
    adamw_step(fixture.adamw, gradients, out.moments, numbers);
    auto from = numbers.begin();
    for (lora::Update& update : out.adapter.updates) {
        for (auto* part : {&update.a, &update.b}) {
            for (float& v : *part) v = *from++;
        }
    }
    return out;
}

// The losses before this many steps.
Task<Result<std::vector<double>>> losses_of(Backend& backend, const Fixture& fixture, size_t steps,
                                            const Breathe& breathe) {
    const double weight = weight_of(fixture.sequence);
    std::vector<double> out;
    for (size_t step = 0; step < steps; ++step) {
        out.push_back(CO_TRY(co_await backend.accumulate(fixture.sequence, weight, {}, breathe)) / weight);
        CO_TRY(co_await backend.step(fixture.adamw));
    }
    co_return out;
}

// `alone` has every step, the guided runs all but the first. The first of those is the one that is compared.
void compare_steps(GradcheckReport& out, std::span<const double> alone, const std::vector<std::vector<double>>& guided,
                   std::span<const float> expected) {
    double spread = 0;
    for (size_t step = 0; step < expected.size(); ++step) {
        const auto wanted = double(expected[step]);
        out.alone.push_back(relative(alone[step], wanted));
        if (step <= 1) out.worst_step = std::max(out.worst_step, out.alone.back());
        double distance = 0;
        if (step == 0) {
            out.guided.push_back(out.alone.back());
        } else {
            double middle = 0;
            for (const auto& run : guided) middle += std::log(run[step - 1]) / double(guided.size());
            double squares = 0;
            for (const auto& run : guided) squares += std::pow(std::log(run[step - 1]) - middle, 2);
            // Runs that have parted do not find together again, though they may cross.
            spread = std::max(spread, std::sqrt(squares / double(guided.size() - 1)));
            const double off = std::abs(std::log(wanted) - middle) - kEqual;
            distance = off <= 0 ? 0 : off / spread;
            out.guided.push_back(relative(guided[0][step - 1], wanted));
        }
        out.spread.push_back(spread);
        out.distance.push_back(std::isnan(distance) ? INFINITY : distance);
        out.worst_distance = std::max(out.worst_distance, out.distance.back());
        if (out.determined == step && spread <= GradcheckReport::kStepTolerance / 4) {
            out.determined = step + 1;
            out.worst_step = std::max(out.worst_step, out.guided.back());
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

    const size_t steps = fixture.losses.size();
    const auto alone = CO_TRY(co_await losses_of(*backend, fixture, steps, breathe));
    const Start start = after_expected_step(fixture);
    std::vector<std::vector<double>> guided;
    for (uint32_t seed = 0; seed <= others && steps > 1; ++seed) {
        const float nudge = seed == 0 ? 0 : kNudge;
        CO_TRY(co_await backend->restore(nudged(start.adapter, nudge, seed), start.moments));
        guided.push_back(CO_TRY(co_await losses_of(*backend, fixture, steps - 1, breathe)));
    }
    compare_steps(out, alone, guided, fixture.losses);
    co_return out;
}

}  // namespace lapidary::train
