#include "train/gradcheck.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/lora_fixture.h"
#include "train/cpu_backend.h"

namespace lapidary::train {
namespace {

using Change = std::function<void(AdamW&)>;

// The right gradients, and an optimizer that was told something else than it should have been.
class WrongOptimizer final : public Backend {
  public:
    WrongOptimizer(std::unique_ptr<Backend> right, Change change)
        : right_(std::move(right)), change_(std::move(change)) {}
    Task<Result<double>> accumulate(const Sequence& sequence, double divisor, Dropout dropout,
                                    Breathe breathe) override {
        return right_->accumulate(sequence, divisor, dropout, std::move(breathe));
    }
    Task<Result<double>> evaluate(const Sequence& sequence, Breathe breathe) override {
        return right_->evaluate(sequence, std::move(breathe));
    }
    Task<Result<double>> step(const AdamW& adamw) override {
        AdamW changed = adamw;
        change_(changed);
        co_return co_await right_->step(changed);
    }
    void forget_gradients() override { right_->forget_gradients(); }
    Task<Result<lora::Adapter>> adapter() override { return right_->adapter(); }
    Task<Result<std::vector<lora::Update>>> gradients() override { return right_->gradients(); }
    Task<Result<Moments>> moments() override { return right_->moments(); }
    Task<Status> restore(const lora::Adapter& adapter, const Moments& moments) override {
        return right_->restore(adapter, moments);
    }

  private:
    std::unique_ptr<Backend> right_;
    Change change_;
};

class Gradcheck : public testing::LoraFixtureTest {
  protected:
    [[nodiscard]] GradcheckReport report(size_t steps, const Change& change) {
        const auto make = [&](const lora::Adapter& adapter) -> Task<Result<std::unique_ptr<Backend>>> {
            auto right = CO_TRY(
                CpuBackend::create(model_->config, model_->table, model_->weights, adapter, {.checkpointing = false}));
            co_return std::unique_ptr<Backend>(std::make_unique<WrongOptimizer>(std::move(right), change));
        };
        Fixture fixture = fixture_;
        fixture.losses.resize(steps);
        return **gradcheck(std::move(fixture), make, nullptr, 2).run_now();
    }
};

TEST_P(Gradcheck, FindsNothingWrongWithWhatIsRight) {
    const GradcheckReport found = report(4, [](AdamW&) {});
    EXPECT_TRUE(found.passed());
    EXPECT_EQ(found.determined, 4u);
    EXPECT_LE(found.alone[3], 1e-4);
    // After a first step with the same gradients there is little left for rounding to decide.
    EXPECT_LE(found.guided[3], 3e-6);
    EXPECT_EQ(found.distance.size(), 4u);
}

TEST_P(Gradcheck, SeesALearningRateThatIsOffByAThousandthAfterTwoSteps) {
    const GradcheckReport found = report(3, [](AdamW& adamw) { adamw.learning_rate *= 1.001f; });
    EXPECT_FALSE(found.passed());
    EXPECT_LE(found.worst_step, GradcheckReport::kStepTolerance) << "a per cent alone would not see it";
    EXPECT_GT(found.distance[2], 3 * GradcheckReport::kDistanceTolerance);
}

TEST_P(Gradcheck, SeesThatGradientsAreNotClippedAfterTwo) {
    const GradcheckReport found = report(3, [](AdamW& adamw) { adamw.clip_norm = 0; });
    EXPECT_FALSE(found.passed());
}

TEST_P(Gradcheck, SeesThatNothingDecaysAfterTwo) {
    const GradcheckReport found = report(3, [](AdamW& adamw) { adamw.weight_decay = 0; });
    EXPECT_FALSE(found.passed());
}

TEST_P(Gradcheck, SeesThatTheBackendsOwnFirstStepIsWrong) {
    size_t steps = 0;
    const GradcheckReport found = report(3, [&](AdamW& adamw) { adamw.learning_rate *= steps++ == 0 ? 1.5f : 1; });
    EXPECT_FALSE(found.passed());
    EXPECT_LE(found.worst_distance, GradcheckReport::kDistanceTolerance) << "the guided runs did not take it";
}

TEST_P(Gradcheck, FailsWhenTheLossIsNoNumber) {
    fixture_.losses[1] = NAN;
    const GradcheckReport found = report(2, [](AdamW&) {});
    EXPECT_FALSE(found.passed());
}

INSTANTIATE_TEST_SUITE_P(One, Gradcheck, ::testing::Values("tiny-moe-q4km"),
                         [](const auto&) { return "tiny_moe_q4km"; });

}  // namespace
}  // namespace lapidary::train
