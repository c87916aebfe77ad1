#include "train/cpu_backend.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sample/random.h"
#include "testing/exact_gradients.h"
#include "testing/fixture_model.h"
#include "testing/fixture_names.h"
#include "testing/lora_fixture.h"
#include "testing/safetensors.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

using testing::relative_l2;

// What Hugging Face transformers and PyTorch compute in f32 on the same dequantised weights.
class Training : public testing::LoraFixtureTest {
  protected:
    void SetUp() override {
        LoraFixtureTest::SetUp();
        weight_ = train::weight_of(fixture_.sequence);
    }

    [[nodiscard]] std::unique_ptr<CpuBackend> backend(const lora::Adapter& adapter, CpuOptions options = {}) const {
        auto made = CpuBackend::create(model_->config, model_->table, model_->weights, adapter, options);
        return made ? std::move(*made) : nullptr;
    }

    double weight_ = 0;
};

double accumulated(Backend& backend, const Sequence& sequence, double divisor, Dropout dropout = {}) {
    return **backend.accumulate(sequence, divisor, dropout, nullptr).run_now();
}

std::vector<lora::Update> gradients(Backend& backend) {
    return **backend.gradients().run_now();
}

void expect_equal(const std::vector<lora::Update>& actual, const std::vector<lora::Update>& expected,
                  double tolerance) {
    ASSERT_EQ(actual.size(), expected.size());
    double worst = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
        const double a = relative_l2(actual[i].a, expected[i].a);
        const double b = relative_l2(actual[i].b, expected[i].b);
        EXPECT_LE(a, tolerance) << "A of " << lora::name_of(actual[i].target) << " in layer " << actual[i].layer;
        EXPECT_LE(b, tolerance) << "B of " << lora::name_of(actual[i].target) << " in layer " << actual[i].layer;
        worst = std::max({worst, a, b});
    }
    ::testing::Test::RecordProperty("worst_relative_error", std::to_string(worst));
}

TEST_P(Training, LossAndEveryGradientEqualTheExpectedOnes) {
    const auto training = backend(fixture_.adapter);
    const double loss = accumulated(*training, fixture_.sequence, weight_) / weight_;
    EXPECT_NEAR(loss / fixture_.loss, 1, 1e-5);
    expect_equal(gradients(*training), fixture_.gradients, 1e-4);
    const double again = **training->evaluate(fixture_.sequence, nullptr).run_now();
    EXPECT_NEAR(again / weight_ / fixture_.loss, 1, 1e-5);
    expect_equal(gradients(*training), fixture_.gradients, 1e-4);  // looking at the loss adds nothing
}

TEST_P(Training, GradientsAreAsNearToExactOnesAsThoseOfTheFixture) {
    const testing::ExactGradients* exact = testing::exact_gradients(GetParam());
    if (exact == nullptr) GTEST_SKIP() << "the exact gradients of " << GetParam() << " are not known";
    const auto training = backend(fixture_.adapter, {.checkpointing = false});
    const double loss = accumulated(*training, fixture_.sequence, weight_) / weight_;
    EXPECT_NEAR(loss / exact->loss, 1, 2e-7);
    const double others = testing::distance_from(*exact, fixture_.gradients);
    EXPECT_GE(others, 3e-6);  // theirs are rounded too
    EXPECT_LE(testing::distance_from(*exact, gradients(*training)), 2 * others);
}

// The first step of AdamW moves every number by the same amount, however small its gradient, so rounding decides the
// direction of some. With this learning rate two right runs differ by more than a per cent after three to nine steps: only
// the steps before that can be compared (train/gradcheck.h goes further).
TEST_P(Training, TheFirstStepsHaveTheExpectedLosses) {
    const auto training = backend(fixture_.adapter, {.checkpointing = false});
    const bool soon = std::string_view(GetParam()).ends_with("q4km") && !std::string_view(GetParam()).contains("moe");
    const size_t comparable = soon ? 3 : 4;
    for (size_t step = 0; step < comparable; ++step) {
        const double loss = accumulated(*training, fixture_.sequence, weight_) / weight_;
        ASSERT_NEAR(loss / double(fixture_.losses[step]), 1, soon ? 1e-2 : 1e-4) << "step " << step;
        ASSERT_GT(**training->step(fixture_.adamw).run_now(), 0);
    }
}

TEST_P(Training, AgreesWithTheDifferenceOfTwoLosses) {
    const auto training = backend(fixture_.adapter);
    accumulated(*training, fixture_.sequence, weight_);
    const auto slope = gradients(*training);
    const auto moments = **training->moments().run_now();
    for (const uint64_t seed : {1u, 2u}) {
        // A random direction, leaning towards the gradient: otherwise there is little to see beside the rounding.
        double norm = 0;
        for (const auto& update : slope) {
            for (const auto* part : {&update.a, &update.b}) {
                for (const float g : *part) norm += double(g) * double(g);
            }
        }
        norm = std::sqrt(norm);
        uint32_t drawn = 0;
        double expected = 0;
        std::vector<lora::Update> direction = slope;
        for (auto& update : direction) {
            for (auto* part : {&update.a, &update.b}) {
                for (float& v : *part) {
                    const double g = double(v);
                    v = float(g / norm + 0.001 * (2 * double(sample::uniform(seed, drawn++)) - 1));
                    expected += g * double(v);
                }
            }
        }
        // Small enough for the loss to be straight there, large enough for the difference not to be rounding.
        constexpr float kStep = 2e-4f;
        double loss[2];
        for (const int side : {0, 1}) {
            lora::Adapter moved = fixture_.adapter;
            for (size_t i = 0; i < moved.updates.size(); ++i) {
                const float by = side == 0 ? -kStep : kStep;
                for (size_t k = 0; k < moved.updates[i].a.size(); ++k) moved.updates[i].a[k] += by * direction[i].a[k];
                for (size_t k = 0; k < moved.updates[i].b.size(); ++k) moved.updates[i].b[k] += by * direction[i].b[k];
            }
            ASSERT_TRUE(*training->restore(moved, moments).run_now());
            loss[side] = **training->evaluate(fixture_.sequence, nullptr).run_now() / weight_;
        }
        EXPECT_NEAR((loss[1] - loss[0]) / (2 * double(kStep)) / expected, 1, 5e-3) << "direction " << seed;
    }
}

TEST_P(Training, ComputingLayersAgainChangesNoBit) {
    const auto keeps = backend(fixture_.adapter, {.checkpointing = false});
    const auto recomputes = backend(fixture_.adapter, {.checkpointing = true});
    const Dropout dropout{.probability = 0.2f, .seed = 5};
    EXPECT_EQ(accumulated(*keeps, fixture_.sequence, weight_, dropout),
              accumulated(*recomputes, fixture_.sequence, weight_, dropout));
    const auto a = gradients(*keeps);
    const auto b = gradients(*recomputes);
    for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(a[i].a, b[i].a);
        ASSERT_EQ(a[i].b, b[i].b);
    }
}

// Two examples behind each other do not see each other; two sequences add up.
TEST_P(Training, PackedExamplesGiveTheSumOfEachAlone) {
    const auto piece = [&](size_t from, size_t count) {
        Sequence out{.tokens = {fixture_.sequence.tokens.begin() + ptrdiff_t(from),
                                fixture_.sequence.tokens.begin() + ptrdiff_t(from + count)},
                     .weights = std::vector<float>(count, 1),
                     .starts = {0}};
        out.weights.back() = 0;
        out.weights[1] = 0.25f;
        return out;
    };
    const Sequence first = piece(0, 19);
    const Sequence second = piece(10, 14);
    Sequence both = first;
    both.tokens.insert(both.tokens.end(), second.tokens.begin(), second.tokens.end());
    both.weights.insert(both.weights.end(), second.weights.begin(), second.weights.end());
    both.starts.push_back(19);
    const auto alone = backend(fixture_.adapter);
    const auto packed = backend(fixture_.adapter);
    const double sum = accumulated(*alone, first, 3) + accumulated(*alone, second, 3);
    EXPECT_NEAR(accumulated(*packed, both, 3) / sum, 1, 1e-6);
    expect_equal(gradients(*packed), gradients(*alone), 1e-5);
}

TEST_P(Training, UpdatesOfOneUpperLayerHaveTheSameGradientsAsAmongOthers) {
    const uint32_t layer = uint32_t(model_->config->layers.size()) - 2;
    lora::Adapter few = fixture_.adapter;
    std::erase_if(few.updates, [&](const lora::Update& u) { return u.layer != layer || u.target == lora::Target::q; });
    for (auto& update :
         fixture_.adapter.updates) {  // updates that do nothing elsewhere: both adapters compute the same
        if (update.layer != layer || update.target == lora::Target::q) std::ranges::fill(update.b, 0.0f);
    }
    const auto all = backend(fixture_.adapter);
    const auto some = backend(few);
    EXPECT_EQ(accumulated(*all, fixture_.sequence, weight_), accumulated(*some, fixture_.sequence, weight_));
    auto expected = gradients(*all);
    std::erase_if(expected, [&](const lora::Update& u) { return u.layer != layer || u.target == lora::Target::q; });
    expect_equal(gradients(*some), expected, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(All, Training, ::testing::ValuesIn(testing::all_fixture_names()), testing::parameter_name);

class CpuTraining : public Training {};

TEST_P(CpuTraining, DropoutChangesTheLossAndIsTheSameForTheSameSeed) {
    const auto training = backend(fixture_.adapter);
    const double none = accumulated(*training, fixture_.sequence, weight_);
    const double once = accumulated(*training, fixture_.sequence, weight_, {.probability = 0.3f, .seed = 1});
    const double twice = accumulated(*training, fixture_.sequence, weight_, {.probability = 0.3f, .seed = 1});
    const double other = accumulated(*training, fixture_.sequence, weight_, {.probability = 0.3f, .seed = 2});
    EXPECT_EQ(once, twice);
    EXPECT_NE(once, none);
    EXPECT_NE(once, other);
}

TEST_P(CpuTraining, AnInfiniteGradientChangesNothing) {
    lora::Adapter broken = fixture_.adapter;
    broken.updates[3].b[0] = INFINITY;
    const auto training = backend(broken);
    accumulated(*training, fixture_.sequence, weight_);
    const double norm = **training->step({}).run_now();
    EXPECT_FALSE(std::isfinite(norm));
    EXPECT_EQ((**training->adapter().run_now()).updates[0].a, broken.updates[0].a);
    EXPECT_EQ((**training->moments().run_now()).step, 0u);
}

TEST_P(CpuTraining, RefusesWhatDoesNotFit) {
    lora::Adapter wrong = fixture_.adapter;
    wrong.updates[0].in += 1;
    const auto create = [&](const lora::Adapter& adapter) {
        auto made = CpuBackend::create(model_->config, model_->table, model_->weights, adapter, {});
        return made ? std::string() : made.error().message;
    };
    EXPECT_NE(create(wrong).find("attn_q"), std::string::npos);
    wrong = fixture_.adapter;
    wrong.updates[1] = wrong.updates[0];
    EXPECT_NE(create(wrong).find("twice"), std::string::npos);
    EXPECT_NE(create({}).find("nothing to train"), std::string::npos);
    wrong = fixture_.adapter;
    wrong.updates[0].target = lora::Target::output;
    EXPECT_NE(create(wrong).find("cannot be trained"), std::string::npos);

    const auto training = backend(fixture_.adapter);
    Sequence bad = fixture_.sequence;
    bad.tokens[3] = 1 << 20;
    EXPECT_EQ(training->evaluate(bad, nullptr).run_now()->error().code, Code::invalid_argument);
    bad = fixture_.sequence;
    bad.weights.back() = 1;
    EXPECT_FALSE(*training->evaluate(bad, nullptr).run_now());
    bad = fixture_.sequence;
    bad.starts = {0, 30, 20};
    EXPECT_FALSE(*training->evaluate(bad, nullptr).run_now());
}

TEST_P(CpuTraining, StopsBetweenLayers) {
    const auto training = backend(fixture_.adapter);
    int layers = 0;
    const Breathe stop = [&]() -> Task<Status> {
        if (++layers == 3) co_return fail(Code::cancelled, "enough");
        co_return Status{};
    };
    EXPECT_EQ(training->accumulate(fixture_.sequence, weight_, {}, stop).run_now()->error().code, Code::cancelled);
    EXPECT_EQ(layers, 3);
}

INSTANTIATE_TEST_SUITE_P(One, CpuTraining, ::testing::Values("tiny-e2b-q4_0"),
                         [](const auto&) { return "tiny_e2b_q4_0"; });

}  // namespace
}  // namespace lapidary::train
