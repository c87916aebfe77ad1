// EmbeddingGemma against what Hugging Face transformers computes in f32 on the same dequantised weights.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/fixture_model.h"
#include "testing/safetensors.h"

namespace lapidary::reference {
namespace {

using testing::relative_l2;

constexpr size_t kTexts = 6;
// The fixture's own limits: f32 against f64, times ten.
constexpr double kStates = 4e-5;
constexpr double kRest = 2e-5;

std::vector<float> unit(std::span<const float> v) {
    double squares = 0;
    for (const float x : v) squares += double(x) * double(x);
    std::vector<float> out;
    for (const float x : v) out.push_back(float(x / std::sqrt(squares)));
    return out;
}

class Embedding : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string base = std::string("tests/data/fixtures/tiny-embedding-") + GetParam();
        auto loaded = testing::load_model(base + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        model_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
        auto expected = testing::read_safetensors(base + ".safetensors");
        ASSERT_TRUE(expected);
        expected_ = std::move(*expected);
        for (size_t i = 0; i < kTexts; ++i) texts_.push_back(expected_[std::to_string(i) + ".ids"].integers);
    }

    std::vector<std::vector<float>> embed(std::span<const std::vector<int32_t>> texts, EmbeddingTrace trace = {}) {
        const auto runner = model_->runner(256);
        runner->set_trace(std::move(trace));
        std::vector<std::vector<float>> out(texts.size());
        const auto take = [&](size_t i, std::vector<float> vector) { out[i] = std::move(vector); };
        const Status status = *runner->embed(texts, take, nullptr).run_now();
        EXPECT_TRUE(status) << status.error().message;
        return out;
    }

    std::unique_ptr<testing::FixtureModel> model_;
    testing::ExpectedTensors expected_;
    std::vector<std::vector<int32_t>> texts_;
};

TEST_P(Embedding, EveryStageIsTheExpectedOne) {
    const size_t d = model_->config->width;
    for (size_t i = 0; i < kTexts; ++i) {
        const std::string name = std::to_string(i) + ".";
        std::map<std::string, std::vector<float>, std::less<>> stages;
        const auto vector = embed(std::span(texts_).subspan(i, 1), [&](std::string_view stage, auto values) {
            stages[std::string(stage)].assign(values.begin(), values.end());
        })[0];
        std::vector<float> some;
        const size_t step = std::max<size_t>(1, texts_[i].size() / 8);
        for (size_t row = 0; row < texts_[i].size(); row += step) {
            some.insert(some.end(), &stages["hidden"][row * d], &stages["hidden"][row * d] + d);
        }
        EXPECT_LE(relative_l2(some, expected_[name + "hidden"].floats), kStates) << name;
        for (const char* stage : {"pooled", "dense2", "dense3"}) {
            EXPECT_LE(relative_l2(stages[stage], expected_[name + stage].floats), kRest) << name << stage;
        }
        EXPECT_LE(relative_l2(unit(vector), expected_[name + "embedding"].floats), kRest) << name;
        // Matryoshka: the beginning, made of length 1.
        for (const size_t size : {48, 24}) {
            const auto& cut = expected_[name + "embedding." + std::to_string(size)].floats;
            EXPECT_LE(relative_l2(unit(std::span(vector).first(size)), cut), kRest) << name << size;
        }
    }
}

TEST_P(Embedding, TextsTogetherGiveWhatEachGivesAlone) {
    const auto together = embed(texts_);
    for (size_t i = 0; i < kTexts; ++i) {
        EXPECT_EQ(together[i], embed(std::span(texts_).subspan(i, 1))[0]) << "text " << i;
    }
}

TEST_P(Embedding, WritesNoText) {
    const auto runner = model_->runner(256);
    const auto refused = *runner->run(texts_[0], LogitsWanted::last, nullptr).run_now();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::unsupported);
    EXPECT_TRUE(refused.error().message.starts_with("this is a model of embeddings"));
}

TEST_P(Embedding, RefusesWhatItCannotRead) {
    const auto runner = model_->runner(8);
    const auto refusal = [&](const std::vector<int32_t>& text) {
        size_t taken = 0;
        const std::vector<std::vector<int32_t>> texts = {{2, 1}, text};
        const Status status = *runner->embed(texts, [&](size_t, auto) { ++taken; }, nullptr).run_now();
        EXPECT_EQ(taken, 0u) << "all are looked at before any is read";
        return status ? Code::internal : status.error().code;
    };
    EXPECT_EQ(refusal({}), Code::invalid_argument);
    EXPECT_EQ(refusal({2, 600}), Code::invalid_argument);
    EXPECT_EQ(refusal(std::vector<int32_t>(9, 5)), Code::limit);
}

INSTANTIATE_TEST_SUITE_P(Files, Embedding, ::testing::Values("q8_0", "ollama-bf16"), [](const auto& file) {
    return std::string_view(file.param) == "q8_0" ? "LlamaCpp" : "Ollama";
});

}  // namespace
}  // namespace lapidary::reference
