// The CPU backend of embeddings against what Hugging Face transformers computes, and one text against many.
#include "cpu/encoder.h"

#include <gtest/gtest.h>

#include "cpu/local_machine.h"
#include "testing/fixture_model.h"
#include "testing/safetensors.h"

namespace lapidary::cpu {
namespace {

using testing::relative_l2;

class CpuEmbedding : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string base = std::string("tests/data/fixtures/tiny-embedding-") + GetParam();
        auto loaded = testing::load_model(base + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        from_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
        auto expected = testing::read_safetensors(base + ".safetensors");
        ASSERT_TRUE(expected);
        for (int i = 0; i < 6; ++i) {
            texts_.push_back((*expected)[std::to_string(i) + ".ids"].integers);
            vectors_.push_back((*expected)[std::to_string(i) + ".dense3"].floats);
        }
    }

    [[nodiscard]] std::unique_ptr<Encoder> encoder(Heap& heap, uint32_t context) const {
        auto loaded = Model::load(heap, from_->file, from_->config, from_->table, {}, nullptr, {}).run_now();
        EXPECT_TRUE(loaded && *loaded) << (*loaded).error().message;
        auto made = Encoder::create(std::move(**loaded), context);
        EXPECT_TRUE(made) << made.error().message;
        return std::move(*made);
    }

    static std::vector<std::vector<float>> embed(Encoder& encoder, std::span<const std::vector<int32_t>> texts) {
        std::vector<std::vector<float>> out;
        const auto take = [&](size_t i, std::vector<float> vector) {
            EXPECT_EQ(i, out.size());
            out.push_back(std::move(vector));
        };
        const Status status = *encoder.embed(texts, take, nullptr).run_now();
        EXPECT_TRUE(status) << status.error().message;
        return out;
    }

    std::unique_ptr<testing::FixtureModel> from_;
    std::vector<std::vector<int32_t>> texts_;
    std::vector<std::vector<float>> vectors_;
};

TEST_P(CpuEmbedding, VectorsAreTheExpectedOnesWithEveryKindOfDigits) {
    for (const Digits digits : {Digits::three_i8, Digits::two_i16}) {
        LocalMachine machine(digits);
        Heap heap(machine);
        const auto all = embed(*encoder(heap, 256), texts_);
        ASSERT_EQ(all.size(), texts_.size());
        // The fixture's limit: f32 against f64, times ten.
        for (size_t i = 0; i < all.size(); ++i) EXPECT_LE(relative_l2(all[i], vectors_[i]), 2e-5) << "text " << i;
    }
}

TEST_P(CpuEmbedding, ATextIsTheSameAmongOthers) {
    LocalMachine machine;
    Heap heap(machine);
    const auto one = encoder(heap, 256);
    const auto all = embed(*one, texts_);
    for (size_t i = 0; i < texts_.size(); ++i) {
        const auto alone = embed(*one, std::span(texts_).subspan(i, 1));
        EXPECT_LE(relative_l2(all[i], alone[0]), 1e-5) << "text " << i;
    }
}

TEST_P(CpuEmbedding, RefusesWhatItCannotReadAndWritesNothing) {
    LocalMachine machine;
    Heap heap(machine);
    const auto one = encoder(heap, 8);
    const auto refusal = [&](const std::vector<int32_t>& text) {
        const std::vector<std::vector<int32_t>> texts = {{2, 1}, text};
        return (*one->embed(texts, [](size_t, auto) {}, nullptr).run_now()).error().code;
    };
    EXPECT_EQ(refusal({}), Code::invalid_argument);
    EXPECT_EQ(refusal({2, 600}), Code::invalid_argument);
    EXPECT_EQ(refusal(std::vector<int32_t>(9, 5)), Code::limit);
    EXPECT_EQ((*one->run(texts_[0], LogitsWanted::last, nullptr).run_now()).error().code, Code::unsupported);
    EXPECT_EQ(embed(*one, std::span(texts_).first(1)).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Files, CpuEmbedding, ::testing::Values("q8_0", "ollama-bf16"), [](const auto& file) {
    return std::string_view(file.param) == "q8_0" ? "LlamaCpp" : "Ollama";
});

}  // namespace
}  // namespace lapidary::cpu
