#include "lora/merge.h"

#include <gtest/gtest.h>

#include <cmath>

#include "testing/adapter_samples.h"
#include "testing/fixture_model.h"
#include "testing/fixture_names.h"
#include "testing/lora_fixture.h"
#include "testing/safetensors.h"

namespace lapidary::lora {
namespace {

using testing::random_adapter;
using testing::relative_l2;

class MemorySink final : public ByteSink {
  public:
    Bytes bytes;
    Task<Status> write(uint64_t offset, Bytes piece, Cancel /*cancel*/) override {
        if (bytes.size() < offset + piece.size()) bytes.resize(size_t(offset + piece.size()));
        std::ranges::copy(piece, bytes.begin() + ptrdiff_t(offset));
        co_return Status{};
    }
};

Result<testing::FixtureModel> opened(Bytes bytes) {
    auto reading = gguf::File::open({std::make_shared<MemorySource>(std::move(bytes))}, {}).run_now();
    auto file = TRY(*std::move(reading));
    auto config = std::make_shared<const model::Config>(TRY(model::read_config(file)));
    auto table =
        std::make_shared<const model::WeightTable>(TRY(model::find_weights(*config, testing::lookup_in(file))));
    auto loading = reference::Weights::load(file, *table, nullptr, {}).run_now();
    auto weights = TRY(*std::move(loading));
    return testing::FixtureModel{std::move(file), std::move(config), std::move(table), std::move(weights)};
}

class AdaptersOnTheCpu : public testing::LoraFixtureTest {
  protected:
    [[nodiscard]] Adapter adapter(uint32_t seed, float scale, uint32_t rank = 5) const {
        return random_adapter(*model_->table, testing::kLayerTargets, rank, scale, seed);
    }
    static Active active(Adapter adapter, float scale = 1) {
        return {std::make_shared<const Adapter>(std::move(adapter)), scale};
    }
    [[nodiscard]] std::vector<float> logits(const testing::FixtureModel& model, std::vector<Active> adapters,
                                            size_t count = 40) const {
        const auto runner = model.runner(256);
        const Status set = *runner->set_adapters(adapters).run_now();
        EXPECT_TRUE(set) << set.error().message;
        const auto tokens = std::span<const int32_t>(fixture_.sequence.tokens).first(count);
        return **runner->run(tokens, LogitsWanted::all, nullptr).run_now();
    }
    [[nodiscard]] Result<Bytes> merged(std::vector<Active> adapters, std::optional<quant::Mix> mix) const {
        MemorySink sink;
        const auto report =
            merge(model_->file, *model_->table, std::move(adapters), mix, sink, nullptr, {}, nullptr).run_now();
        if (!*report) return std::unexpected(report->error());
        return std::move(sink.bytes);
    }
};

TEST_P(AdaptersOnTheCpu, GiveTheLossTrainingStartsWith) {
    const auto rows = logits(*model_, {active(fixture_.adapter)}, 48);
    const size_t vocabulary = model_->config->vocabulary;
    const auto& tokens = fixture_.sequence.tokens;
    double sum = 0;
    double weights = 0;
    for (size_t t = 0; t + 1 < tokens.size(); ++t) {
        const auto row = std::span(rows).subspan(t * vocabulary, vocabulary);
        const auto largest = double(*std::ranges::max_element(row));
        double total = 0;
        for (const float logit : row) total += std::exp(double(logit) - largest);
        const auto weight = double(fixture_.sequence.weights[t]);
        sum += weight * (largest + std::log(total) - double(row[size_t(tokens[t + 1])]));
        weights += weight;
    }
    EXPECT_NEAR(sum / weights / fixture_.loss, 1, 1e-4);
    EXPECT_GT(relative_l2(logits(*model_, {}, 48), rows), 1e-3) << "the adapter changes nothing";
}

TEST_P(AdaptersOnTheCpu, EqualTheMergedWeights) {
    const std::vector<Active> both = {active(adapter(1, 0.7f), 0.5f), active(adapter(2, 0.3f, 16), -1)};
    const auto file = merged(both, quant::Mix::f32);
    ASSERT_TRUE(file) << file.error().message;
    const auto model = opened(*file);
    ASSERT_TRUE(model) << model.error().message;
    const auto expected = logits(*model, {}, 24);
    EXPECT_LE(relative_l2(logits(*model_, both, 24), expected), 1e-5);
    EXPECT_GT(relative_l2(logits(*model_, {both[0]}, 24), expected), 1e-3);
    EXPECT_GT(relative_l2(logits(*model_, {}, 24), expected), 1e-3);
}

TEST_P(AdaptersOnTheCpu, TokenByTokenGivesTheSameAsAllAtOnce) {
    const std::vector<Active> active_ = {active(adapter(3, 0.5f))};
    const auto all = logits(*model_, active_);
    const auto runner = model_->runner(256);
    ASSERT_TRUE(*runner->set_adapters(active_).run_now());
    const size_t vocabulary = model_->config->vocabulary;
    for (size_t t = 0; t < 40; ++t) {
        const auto token = std::span<const int32_t>(fixture_.sequence.tokens).subspan(t, 1);
        const auto row = **runner->run(token, LogitsWanted::last, nullptr).run_now();
        ASSERT_LE(relative_l2(row, std::span(all).subspan(t * vocabulary, vocabulary)), 1e-5) << "position " << t;
    }
}

TEST_P(AdaptersOnTheCpu, MergeKeepsWhatIsNotChangedAsItIs) {
    Adapter one = adapter(4, 1);
    one.updates.resize(1);
    const auto file = merged({active(one)}, std::nullopt);
    ASSERT_TRUE(file) << file.error().message;
    const auto model = opened(*file);
    ASSERT_TRUE(model) << model.error().message;
    size_t changed = 0;
    ASSERT_EQ(model->file.tensors().size(), model_->file.tensors().size());
    for (size_t i = 0; i < model->file.tensors().size(); ++i) {
        const auto& before = model_->file.tensors()[i];
        const auto& after = model->file.tensors()[i];
        ASSERT_EQ(before.info.name, after.info.name);
        EXPECT_EQ(before.info.type->id, after.info.type->id);
        const Bytes was = **model_->file.read(before, 0, before.info.range.size, {}).run_now();
        const Bytes is = **model->file.read(after, 0, after.info.range.size, {}).run_now();
        changed += was == is ? 0 : 1;
    }
    EXPECT_EQ(changed, 1u);
}

TEST_P(AdaptersOnTheCpu, MergesIntoEveryMix) {
    const std::vector<Active> with = {active(adapter(5, 0.5f))};
    const auto expected = logits(*model_, with, 8);
    for (const auto [mix, tolerance] :
         {std::pair{quant::Mix::f16, 1e-2}, {quant::Mix::q8_0, 0.1}, {quant::Mix::q4_k_m, 0.5}}) {
        const auto file = merged(with, mix);
        ASSERT_TRUE(file) << file.error().message;
        const auto model = opened(*file);
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_LE(relative_l2(logits(*model, {}, 8), expected), tolerance) << int(mix);
    }
}

TEST_P(AdaptersOnTheCpu, RefuseToMergeAnEmbeddingThatIsTheHead) {
    const auto file = merged({active(random_adapter(*model_->table, {Target::output}, 2, 1, 1))}, std::nullopt);
    ASSERT_FALSE(file);
    EXPECT_NE(file.error().message.find("head"), std::string::npos);
    EXPECT_FALSE(merged({}, std::nullopt));
}

TEST_P(AdaptersOnTheCpu, ChangeEmbeddingAndHeadEachByItself) {
    // A row of the embedding that is far from the others: what its token becomes changes, the logits of others do not.
    const size_t vocabulary = model_->config->vocabulary;
    const std::vector<int32_t> tokens = {2, 7, 9};
    const auto run = [&](const Adapter& adapter) {
        const auto runner = model_->runner(16);
        EXPECT_TRUE(*runner->set_adapters(std::vector{active(adapter)}).run_now());
        return **runner->run(tokens, LogitsWanted::all, nullptr).run_now();
    };
    const auto plain = run(Adapter{});
    Adapter embedding = random_adapter(*model_->table, {Target::token_embd}, 3, 1, 1);
    for (size_t i = 0; i < embedding.updates[0].a.size(); ++i) {
        if (i % vocabulary != 7) embedding.updates[0].a[i] = 0;
    }
    const auto changed = run(embedding);
    EXPECT_EQ(relative_l2(std::span(changed).first(vocabulary), std::span(plain).first(vocabulary)), 0);
    EXPECT_GT(relative_l2(std::span(changed).subspan(vocabulary, vocabulary),
                          std::span(plain).subspan(vocabulary, vocabulary)),
              1e-4);
    Adapter head = random_adapter(*model_->table, {Target::output}, 3, 1, 1);
    for (size_t i = 0; i < head.updates[0].b.size(); ++i) {
        if (i / 3 != 11) head.updates[0].b[i] = 0;
    }
    const auto capped = run(head);
    size_t different = 0;
    for (size_t i = 0; i < plain.size(); ++i) different += plain[i] == capped[i] ? 0 : 1;
    EXPECT_EQ(different, tokens.size());
    EXPECT_NE(plain[11], capped[11]);
}

TEST_P(AdaptersOnTheCpu, ForgetEverythingWhenTheyChange) {
    const auto runner = model_->runner(64);
    ASSERT_TRUE(*runner->run(std::vector<int32_t>{2, 3}, LogitsWanted::none, nullptr).run_now());
    EXPECT_TRUE(*runner->set_adapters(std::vector{active(adapter(1, 1))}).run_now());
    EXPECT_EQ(runner->position(), 0u);
    Adapter wrong = adapter(1, 1);
    wrong.updates[0].in += 1;
    const Status refused = *runner->set_adapters(std::vector{active(wrong)}).run_now();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("blk.0.attn_q"), std::string::npos);
    const auto after = **runner->run(std::vector<int32_t>{2, 3}, LogitsWanted::last, nullptr).run_now();
    const auto fresh = model_->runner(64);
    EXPECT_EQ(after, **fresh->run(std::vector<int32_t>{2, 3}, LogitsWanted::last, nullptr).run_now());
}

INSTANTIATE_TEST_SUITE_P(All, AdaptersOnTheCpu, ::testing::ValuesIn(testing::all_fixture_names()),
                         testing::parameter_name);

}  // namespace
}  // namespace lapidary::lora
