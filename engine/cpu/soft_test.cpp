// Rows that no token stands for on packed weights, against the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cpu/local_machine.h"
#include "cpu/runner.h"
#include "testing/fixture_model.h"
#include "testing/fixture_names.h"
#include "testing/safetensors.h"

namespace lapidary::cpu {
namespace {

class SoftOnTheCpu : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        auto loaded = testing::load_model(std::string("tests/data/fixtures/") + GetParam() + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        from_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
        if (!Model::can_run(*from_->config, *from_->table)) GTEST_SKIP() << "the reference runs this one";
        auto model = Model::load(heap_, from_->file, from_->config, from_->table, {}, nullptr, {}).run_now();
        ASSERT_TRUE(model && *model);
        model_ = **model;
    }
    [[nodiscard]] std::unique_ptr<lapidary::Runner> runner(uint32_t context) const {
        return std::move(*Runner::create(model_, context));
    }
    [[nodiscard]] std::vector<float> rows(size_t count) const {
        std::vector<float> out(count * from_->config->width);
        for (size_t i = 0; i < out.size(); ++i) out[i] = std::sin(float(i) * 1.7f) + 0.3f * std::sin(float(i % 1009));
        return out;
    }
    // A text, what stands for no token, and more text: the logits of all of them behind the first.
    static std::vector<float> story(lapidary::Runner& runner, SoftTokens soft) {
        const std::vector<int32_t> before = {2, 9, 7, 30, 4}, after = {5, 90, 3};
        EXPECT_TRUE(*runner.run(before, LogitsWanted::none, nullptr).run_now());
        auto out = *runner.run_soft(soft, LogitsWanted::all, nullptr).run_now();
        EXPECT_TRUE(out) << out.error().message;
        const auto rest = **runner.run(after, LogitsWanted::all, nullptr).run_now();
        out->insert(out->end(), rest.begin(), rest.end());
        return *out;
    }

    LocalMachine machine_{Digits::three_i8};
    Heap heap_{machine_};
    std::shared_ptr<Model> model_;
    std::unique_ptr<testing::FixtureModel> from_;
};

TEST_P(SoftOnTheCpu, EqualsTheReferenceWhoeverTheySee) {
    const std::vector<float> soft = rows(75);
    for (const Sight sight : {Sight::causal, Sight::sliding, Sight::both_ways}) {
        const auto expected = story(*from_->runner(96), {.rows = soft, .sight = sight});
        EXPECT_LE(testing::relative_l2(story(*runner(96), {.rows = soft, .sight = sight}), expected), 2e-5)
            << int(sight);
    }
}

TEST_P(SoftOnTheCpu, TheLastLogitsAreThoseOfTheLastRow) {
    const std::vector<float> soft = rows(66);
    for (const Sight sight : {Sight::causal, Sight::both_ways}) {
        const auto all = **runner(80)->run_soft({soft, sight}, LogitsWanted::all, nullptr).run_now();
        const auto last = **runner(80)->run_soft({soft, sight}, LogitsWanted::last, nullptr).run_now();
        EXPECT_TRUE(std::ranges::equal(last, std::span(all).last(last.size())));
    }
}

TEST_P(SoftOnTheCpu, RefusesWhatDoesNotFitAndGoesOn) {
    const auto some = runner(16);
    const std::vector<float> soft = rows(17);
    EXPECT_EQ(some->run_soft({.rows = soft}, LogitsWanted::none, nullptr).run_now()->error().code, Code::limit);
    EXPECT_EQ(some->run_soft({.rows = std::span(soft).first(5)}, LogitsWanted::none, nullptr).run_now()->error().code,
              Code::invalid_argument);
    const Breathe stops = []() -> Task<Status> { co_return fail(Code::cancelled, "stopped"); };
    const auto row = std::span(soft).first(from_->config->width);
    EXPECT_EQ(some->run_soft({.rows = row}, LogitsWanted::none, stops).run_now()->error().code, Code::cancelled);
    EXPECT_EQ(some->position(), 0u);
    EXPECT_TRUE(*some->run_soft({.rows = row}, LogitsWanted::last, nullptr).run_now());
    EXPECT_EQ(some->position(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, SoftOnTheCpu, ::testing::ValuesIn(testing::all_fixture_names()), testing::parameter_name);

}  // namespace
}  // namespace lapidary::cpu
