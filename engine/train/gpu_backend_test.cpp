#include "train/gpu_backend.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"
#include "testing/fixture_names.h"
#include "testing/lora_fixture.h"

namespace lapidary::train {
namespace {

// On a device that takes notes: nothing is computed, but all that is allocated is counted there, too.
class GpuBackendMemory : public testing::LoraFixtureTest {
  protected:
    void SetUp() override {
        LoraFixtureTest::SetUp();
        const infer::Autotune choice{.variant = infer::wanted_variant(device_.info())};
        auto planned =
            infer::GpuModel::plan(device_, model_->file, model_->config, model_->table, choice, infer::TablePlace::gpu)
                .run_now();
        ASSERT_TRUE(planned && *planned);
        weights_ = **planned;
        allocated_ = device_.bytes();
    }
    void TearDown() override { weights_.reset(); }

    [[nodiscard]] uint64_t estimate(GpuPassOptions options, Dropout dropout = {}) const {
        const auto bytes = *GpuBackend::memory(weights_, fixture_.adapter, options, dropout).run_now();
        EXPECT_TRUE(bytes) << bytes.error().message;
        return bytes.value_or(0);
    }
    // What is there once a step has been made, its sequence as long as it may be, of two examples.
    [[nodiscard]] uint64_t really(GpuPassOptions options, Dropout dropout = {}) const {
        const auto backend = std::move(**GpuBackend::create(weights_, fixture_.adapter, options, {}).run_now());
        Sequence sequence{.starts = {0, options.tokens / 2}};
        for (uint32_t i = 0; i < options.tokens; ++i) {
            sequence.tokens.push_back(int32_t(i % 7));
            sequence.weights.push_back(i + 1 == options.tokens / 2 || i + 1 == options.tokens ? 0.0f : 1.0f);
        }
        EXPECT_TRUE(*backend->accumulate(sequence, 1, dropout, {}).run_now());
        EXPECT_TRUE(*backend->step({}).run_now());
        EXPECT_EQ(backend->bytes(), device_.bytes() - allocated_);
        return backend->bytes();
    }

    mutable gpu::PlanDevice device_{gpu::Info{}};
    std::shared_ptr<infer::GpuModel> weights_;
    uint64_t allocated_ = 0;
};

TEST_P(GpuBackendMemory, IsEstimatedToTheByte) {
    for (const bool checkpointing : {true, false}) {
        for (const float dropout : {0.0f, 0.1f}) {
            const GpuPassOptions options{.tokens = 70, .checkpointing = checkpointing};
            const uint64_t bytes = estimate(options, {.probability = dropout, .seed = 1});
            EXPECT_EQ(device_.bytes(), allocated_) << "the estimate took some";
            EXPECT_EQ(bytes, really(options, {.probability = dropout, .seed = 1}));
            EXPECT_EQ(device_.bytes(), allocated_) << "not all was given back";
        }
    }
}

TEST_P(GpuBackendMemory, GrowsWithTheSequenceAndWithWhatIsKept) {
    const uint64_t short_one = estimate({.tokens = 64});
    EXPECT_GT(estimate({.tokens = 65}), short_one);
    EXPECT_GT(estimate({.tokens = 64, .checkpointing = false}), short_one);
}

TEST_P(GpuBackendMemory, SaysThatASequenceIsTooLong) {
    const auto refused =
        *GpuBackend::memory(weights_, fixture_.adapter, {.tokens = 1u << 16, .score_bytes = 1}, {}).run_now();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::out_of_memory);
    EXPECT_EQ(device_.bytes(), allocated_);
}

INSTANTIATE_TEST_SUITE_P(Models, GpuBackendMemory, ::testing::ValuesIn(testing::fixture_names()),
                         testing::parameter_name);

}  // namespace
}  // namespace lapidary::train
