// The CPU backend against what Hugging Face transformers computes, and against the reference.
#include "cpu/runner.h"

#include <gtest/gtest.h>

#include "cpu/local_machine.h"
#include "testing/fixture_model.h"
#include "testing/fixture_names.h"
#include "testing/safetensors.h"

namespace lapidary::cpu {
namespace {

using testing::relative_l2;

// A machine with a model in it.
struct Loaded {
    explicit Loaded(const testing::FixtureModel& from, Digits digits = Digits::three_i8, ModelOptions options = {})
        : machine(digits), heap(machine) {
        auto loaded = Model::load(heap, from.file, from.config, from.table, options, nullptr, {}).run_now();
        EXPECT_TRUE(loaded && *loaded) << (*loaded).error().message;
        model = std::move(**loaded);
    }
    [[nodiscard]] std::unique_ptr<lapidary::Runner> runner(uint32_t context) const {
        auto made = Runner::create(model, context);
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }

    LocalMachine machine;
    Heap heap;
    std::shared_ptr<Model> model;
};

class CpuFixture : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string base = std::string("tests/data/fixtures/") + GetParam();
        auto loaded = testing::load_model(base + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        from_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
        if (!Model::can_run(*from_->config, *from_->table)) GTEST_SKIP() << "the reference runs this one";
        auto expected = testing::read_safetensors(base + ".safetensors");
        ASSERT_TRUE(expected);
        tokens_ = (*expected)["tokens"].integers;
        logits_ = (*expected)["logits"].floats;
    }

    static std::vector<float> last(lapidary::Runner& runner, std::span<const int32_t> tokens) {
        return **runner.run(tokens, LogitsWanted::last, nullptr).run_now();
    }

    std::unique_ptr<testing::FixtureModel> from_;
    std::vector<int32_t> tokens_;
    std::vector<float> logits_;
};

TEST_P(CpuFixture, LogitsEqualTheExpectedOnesWithEveryKindOfDigits) {
    for (const Digits digits : {Digits::three_i8, Digits::two_i16}) {
        const Loaded loaded(*from_, digits);
        const auto runner = loaded.runner(256);
        const auto logits = **runner->run(tokens_, LogitsWanted::all, nullptr).run_now();
        ASSERT_EQ(logits.size(), logits_.size());
        const double error = relative_l2(logits, logits_);
        RecordProperty(digits == Digits::three_i8 ? "three_i8" : "two_i16", std::to_string(error));
        EXPECT_LE(error, 1e-5) << int(digits);
    }
}

TEST_P(CpuFixture, APromptGivesTheSameBitsHoweverItIsCut) {
    const Loaded loaded(*from_);
    const auto together = loaded.runner(256);
    const std::vector<float> expected = last(*together, tokens_);
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{65}}) {
        const auto runner = loaded.runner(256);
        std::vector<float> logits;
        for (size_t at = 0; at < tokens_.size(); at += piece) {
            logits = last(*runner, std::span(tokens_).subspan(at, std::min(piece, tokens_.size() - at)));
        }
        EXPECT_EQ(logits, expected) << piece;
    }
    const auto all = loaded.runner(256);
    const auto rows = **all->run(tokens_, LogitsWanted::all, nullptr).run_now();
    EXPECT_TRUE(std::ranges::equal(std::span(rows).last(expected.size()), expected));
}

TEST_P(CpuFixture, EmbedsAsTheReference) {
    const Loaded loaded(*from_);
    const std::vector<std::vector<int32_t>> texts = {{tokens_.begin(), tokens_.begin() + 70}, {2, 9, 7}};
    const auto embedded = [&](lapidary::Runner& runner) {
        std::vector<float> all;
        EXPECT_TRUE(*runner
                         .embed(
                             texts,
                             [&](size_t, const std::vector<float>& vector) {
                                 all.insert(all.end(), vector.begin(), vector.end());
                             },
                             nullptr)
                         .run_now());
        return all;
    };
    EXPECT_LE(relative_l2(embedded(*loaded.runner(256)), embedded(*from_->runner(256))), 1e-4);
}

TEST_P(CpuFixture, GoesOnAfterForgettingTheEndAndAfterAStop) {
    const Loaded loaded(*from_);
    const auto straight = loaded.runner(256);
    const auto detour = loaded.runner(256);
    const auto first = std::span<const int32_t>(tokens_).first(40);
    const auto rest = std::span<const int32_t>(tokens_).subspan(40, 20);
    ASSERT_TRUE(*straight->run(first, LogitsWanted::none, nullptr).run_now());
    ASSERT_TRUE(*detour->run(first, LogitsWanted::none, nullptr).run_now());
    ASSERT_TRUE(*detour->run(std::span(tokens_).last(30), LogitsWanted::none, nullptr).run_now());
    detour->truncate(40);
    const Breathe stop = []() -> Task<Status> { co_return fail(Code::cancelled, "enough"); };
    EXPECT_EQ((*detour->run(rest, LogitsWanted::last, stop).run_now()).error().code, Code::cancelled);
    EXPECT_EQ(detour->position(), 40u);
    EXPECT_EQ(last(*straight, rest), last(*detour, rest));
}

TEST_P(CpuFixture, GoesOnFromASavedState) {
    const Loaded loaded(*from_);
    const auto runner = loaded.runner(256);
    const auto first = std::span<const int32_t>(tokens_).first(60);
    const auto rest = std::span<const int32_t>(tokens_).subspan(60, 5);
    ASSERT_TRUE(*runner->run(first, LogitsWanted::none, nullptr).run_now());
    Bytes saved;
    ASSERT_TRUE(*runner
                     ->save_state([&](Bytes piece) -> Task<Status> {
                         saved.insert(saved.end(), piece.begin(), piece.end());
                         co_return Status{};
                     })
                     .run_now());
    EXPECT_EQ(saved.size(), runner->state_bytes(60));
    const auto other = loaded.runner(200);
    size_t at = 0;
    ASSERT_TRUE(*other
                     ->load_state(first,
                                  [&](uint64_t size) -> Task<Result<Bytes>> {
                                      const auto begin = saved.begin() + ptrdiff_t(at);
                                      at += size_t(size);
                                      co_return Bytes(begin, begin + ptrdiff_t(size));
                                  })
                     .run_now());
    EXPECT_EQ(last(*other, rest), last(*runner, rest));
}

TEST_P(CpuFixture, RefusesTokensThatDoNotExistOrDoNotFit) {
    const Loaded loaded(*from_);
    const auto runner = loaded.runner(8);
    const std::vector<int32_t> foreign = {2, int32_t(from_->config->vocabulary)};
    EXPECT_EQ(runner->run(foreign, LogitsWanted::last, nullptr).run_now()->error().code, Code::invalid_argument);
    EXPECT_EQ(runner->run(std::span(tokens_).first(9), LogitsWanted::last, nullptr).run_now()->error().code,
              Code::limit);
}

TEST_P(CpuFixture, RowsOfTheTableFromTheSourceGiveTheSameBits) {
    if (from_->config->per_layer_width == 0) GTEST_SKIP() << "there is no table";
    const Loaded here(*from_), away(*from_, Digits::three_i8, {.place = infer::TablePlace::source});
    EXPECT_LT(away.model->bytes(), here.model->bytes());
    EXPECT_EQ(last(*away.runner(256), tokens_), last(*here.runner(256), tokens_));
}

TEST_P(CpuFixture, GivesItsMemoryBack) {
    const Loaded loaded(*from_);
    EXPECT_NE(loaded.runner(256), nullptr);  // norms stay with the model
    const uint64_t before = loaded.heap.bytes();
    last(*loaded.runner(256), tokens_);
    EXPECT_EQ(loaded.heap.bytes(), before);
}

INSTANTIATE_TEST_SUITE_P(All, CpuFixture, ::testing::ValuesIn(testing::all_fixture_names()), testing::parameter_name);

}  // namespace
}  // namespace lapidary::cpu
