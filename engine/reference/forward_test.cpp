#include "reference/forward.h"

#include <gtest/gtest.h>

#include "testing/fixture_model.h"
#include "testing/fixture_names.h"
#include "testing/safetensors.h"

namespace lapidary::reference {
namespace {

using testing::relative_l2;

// What Hugging Face transformers computes in f32 on the same dequantised weights.
class Fixture : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string base = std::string("tests/data/fixtures/") + GetParam();
        auto loaded = testing::load_model(base + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        model_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
        auto expected = testing::read_safetensors(base + ".safetensors");
        ASSERT_TRUE(expected);
        expected_ = std::move(*expected);
        tokens_ = expected_["tokens"].integers;
        logits_ = expected_["logits"].floats;
    }

    std::unique_ptr<testing::FixtureModel> model_;
    testing::ExpectedTensors expected_;
    std::vector<int32_t> tokens_;
    std::vector<float> logits_;
};

constexpr double kTolerance = 2e-4;

TEST_P(Fixture, LogitsEqualTheExpectedOnes) {
    const auto runner = model_->runner(256);
    const auto logits = **runner->run(tokens_, LogitsWanted::all, nullptr).run_now();
    ASSERT_EQ(logits.size(), logits_.size());
    EXPECT_LE(relative_l2(logits, logits_), kTolerance);
}

TEST_P(Fixture, HiddenStatesEqualTheExpectedOnesLayerByLayer) {
    const auto runner = model_->runner(256);
    const size_t layers = model_->config->layers.size();
    std::vector<std::vector<float>> hidden(layers + 1);
    runner->set_trace([&](uint32_t layer, std::span<const float> h) { hidden[layer].assign(h.begin(), h.end()); });
    ASSERT_TRUE(*runner->run(tokens_, LogitsWanted::last, nullptr).run_now());
    for (size_t layer = 0; layer <= layers; ++layer) {
        const auto& expected = expected_["hidden." + std::to_string(layer)].floats;
        ASSERT_EQ(hidden[layer].size(), expected.size()) << "layer " << layer;
        // Later layers inherit the error, so the first one that differs is the one to look at.
        ASSERT_LE(relative_l2(hidden[layer], expected), kTolerance)
            << "the residual stream differs first before layer " << layer << " (so the fault is in layer "
            << int(layer) - 1 << "; -1 is the embedding)";
    }
}

TEST_P(Fixture, TokenByTokenGivesTheSameAsAllAtOnce) {
    const auto together = model_->runner(256);
    const auto single = model_->runner(256);
    const auto all = **together->run(tokens_, LogitsWanted::all, nullptr).run_now();
    const size_t vocabulary = model_->config->vocabulary;
    for (size_t t = 0; t < tokens_.size(); ++t) {
        const auto row = **single->run(std::span(tokens_).subspan(t, 1), LogitsWanted::last, nullptr).run_now();
        ASSERT_LE(relative_l2(row, std::span(all).subspan(t * vocabulary, vocabulary)), 1e-5) << "position " << t;
    }
}

TEST_P(Fixture, EmbedsAsTheMeanOfTheStatesAfterTheFinalNorm) {
    const auto tokens = std::span<const int32_t>(tokens_).first(40);  // more than one block
    const auto single = model_->runner(256);
    const size_t layers = model_->config->layers.size();
    std::vector<float> mean(model_->config->width);
    single->set_trace([&](uint32_t layer, std::span<const float> h) {
        for (size_t i = 0; layer == layers && i < h.size(); ++i) mean[i] += h[i] / float(tokens.size());
    });
    for (size_t t = 0; t < tokens.size(); ++t) {
        ASSERT_TRUE(*single->run(tokens.subspan(t, 1), LogitsWanted::last, nullptr).run_now());
    }
    const auto together = model_->runner(256);
    std::vector<float> embedding;
    const std::vector<std::vector<int32_t>> texts = {{tokens.begin(), tokens.end()}};
    const auto take = [&](size_t, std::vector<float> vector) { embedding = std::move(vector); };
    ASSERT_TRUE(*together->embed(texts, take, nullptr).run_now());
    ASSERT_EQ(embedding.size(), mean.size());
    EXPECT_LE(relative_l2(embedding, mean), 1e-4);
    EXPECT_EQ(together->position(), 0u);
}

TEST_P(Fixture, GoesOnAfterForgettingTheEnd) {
    const auto straight = model_->runner(256);
    const auto detour = model_->runner(256);
    const auto first = std::span<const int32_t>(tokens_).first(40);
    const auto rest = std::span<const int32_t>(tokens_).subspan(40, 20);
    ASSERT_TRUE(*straight->run(first, LogitsWanted::none, nullptr).run_now());
    ASSERT_TRUE(*detour->run(first, LogitsWanted::none, nullptr).run_now());
    ASSERT_TRUE(*detour->run(std::span(tokens_).last(30), LogitsWanted::none, nullptr).run_now());
    detour->truncate(40);
    EXPECT_EQ(detour->position(), 40u);
    const auto a = **straight->run(rest, LogitsWanted::last, nullptr).run_now();
    const auto b = **detour->run(rest, LogitsWanted::last, nullptr).run_now();
    EXPECT_EQ(a, b);
}

TEST_P(Fixture, RefusesTokensThatDoNotExistOrDoNotFit) {
    const auto runner = model_->runner(8);
    const std::vector<int32_t> foreign = {2, int32_t(model_->config->vocabulary)};
    EXPECT_EQ(runner->run(foreign, LogitsWanted::last, nullptr).run_now()->error().code, Code::invalid_argument);
    EXPECT_EQ(runner->run(std::span(tokens_).first(9), LogitsWanted::last, nullptr).run_now()->error().code,
              Code::limit);
    EXPECT_EQ(runner->position(), 0u);
    EXPECT_TRUE(*runner->run(std::span(tokens_).first(8), LogitsWanted::last, nullptr).run_now());
}

TEST_P(Fixture, StoppedInTheMiddleItForgetsThatCallOnly) {
    const auto runner = model_->runner(256);
    ASSERT_TRUE(*runner->run(std::span(tokens_).first(10), LogitsWanted::none, nullptr).run_now());
    int layers = 0;
    const Breathe stop_at_third = [&]() -> Task<Status> {
        if (++layers == 3) co_return fail(Code::cancelled, "enough");
        co_return Status{};
    };
    const auto stopped = *runner->run(std::span(tokens_).subspan(10, 5), LogitsWanted::last, stop_at_third).run_now();
    EXPECT_EQ(stopped.error().code, Code::cancelled);
    EXPECT_EQ(runner->position(), 10u);
    const auto after = **runner->run(std::span(tokens_).subspan(10, 5), LogitsWanted::last, nullptr).run_now();
    const auto fresh = model_->runner(256);
    const auto expected = **fresh->run(std::span(tokens_).first(15), LogitsWanted::last, nullptr).run_now();
    EXPECT_LE(relative_l2(after, expected), 1e-5);
}

// As Ollama ships the larger ones: a tower beside the text model, and keys of other names.
INSTANTIATE_TEST_SUITE_P(Blob, Fixture, ::testing::Values("tiny-gemma3-4b-blob-q4km"), testing::parameter_name);
INSTANTIATE_TEST_SUITE_P(All, Fixture, ::testing::ValuesIn(testing::all_fixture_names()), testing::parameter_name);

}  // namespace
}  // namespace lapidary::reference
