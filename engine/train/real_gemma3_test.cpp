// The real Gemma 3 270M against what Hugging Face transformers computes on its weights. The file is not in the repository:
// `make test-real` fetches it and sets LAPIDARY_REAL_MODEL, its path below the repository.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "testing/files.h"
#include "testing/fixture_model.h"
#include "testing/safetensors.h"
#include "tokenizer/tokenizer.h"
#include "train/cpu_backend.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

using Json = nlohmann::json;
using testing::relative_l2;

const std::string kFolder = "tests/data/gemma3-270m/";

bool thorough() {
    return std::getenv("LAPIDARY_THOROUGH") != nullptr;
}

const testing::FixtureModel* real_model() {
    static const auto loaded = []() -> std::unique_ptr<testing::FixtureModel> {
        const char* path = std::getenv("LAPIDARY_REAL_MODEL");
        if (path == nullptr) return nullptr;
        auto model = testing::load_model(path);
        if (!model) ADD_FAILURE() << path << ": " << model.error().message;
        return model ? std::make_unique<testing::FixtureModel>(std::move(*model)) : nullptr;
    }();
    return loaded.get();
}

class RealGemma3 : public ::testing::Test {
  protected:
    void SetUp() override {
        if (real_model() == nullptr) GTEST_SKIP() << "make test-real tries the real Gemma 3 270M";
    }

    static Json json(const std::string& name) {
        const auto text = testing::read_text(kFolder + name);
        return text ? Json::parse(*text, nullptr, false) : Json();
    }

    // Logits of every position, a few positions at a time: all of them at once are 4 MB a kilotoken and more.
    template <class Visit>
    static void each_row(reference::Forward& runner, std::span<const int32_t> tokens, Visit&& visit) {
        constexpr size_t kAtOnce = 16;
        const size_t vocabulary = real_model()->config->vocabulary;
        for (size_t at = 0; at < tokens.size(); at += kAtOnce) {
            const size_t count = std::min(kAtOnce, tokens.size() - at);
            const auto logits = *runner.run(tokens.subspan(at, count), LogitsWanted::all, nullptr).run_now();
            ASSERT_TRUE(logits) << logits.error().message;
            for (size_t i = 0; i < count; ++i) visit(at + i, std::span(*logits).subspan(i * vocabulary, vocabulary));
        }
    }

    static double nll_of(std::span<const float> logits, int32_t token) {
        const float most = *std::ranges::max_element(logits);
        double sum = 0;
        for (const float value : logits) sum += std::exp(double(value) - double(most));
        return std::log(sum) + double(most) - double(logits[size_t(token)]);
    }

    static size_t likeliest(std::span<const float> logits) {
        return size_t(std::ranges::max_element(logits) - logits.begin());
    }
};

TEST_F(RealGemma3, TokenizesItsTexts) {
    const auto tokenizer = tokenizer::Tokenizer::create(real_model()->file.metadata());
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    const auto expected = testing::read_safetensors(kFolder + "texts.safetensors");
    ASSERT_TRUE(expected);
    for (const auto& [name, text] : json("texts.json").items()) {
        EXPECT_EQ((*tokenizer)->encode(text.get<std::string>()), expected->at(name + ".tokens").integers) << name;
    }
}

class RealText : public RealGemma3, public ::testing::WithParamInterface<const char*> {};

TEST_P(RealText, HasTheExpectedLikelihoodsLogitsAndStates) {
    const std::string name = GetParam();
    auto expected = *testing::read_safetensors(kFolder + "texts.safetensors");
    const auto& tokens = expected[name + ".tokens"].integers;
    const auto& nll = expected[name + ".nll"].floats;
    const auto& places = expected[name + ".positions"].integers;
    const auto& top_ids = expected[name + ".top_ids"].integers;
    const auto& top_values = expected[name + ".top_values"].floats;
    const auto& strided = expected[name + ".strided"].floats;
    const size_t top = top_ids.size() / places.size();
    const size_t samples = strided.size() / places.size();

    const auto runner = real_model()->runner(512);
    std::vector<float> states;
    runner->set_trace([&](uint32_t layer, std::span<const float> h) {
        states.resize((layer + 1) * h.size());
        std::ranges::copy(h, states.begin() + ptrdiff_t(layer * h.size()));
    });
    double worst = 0;
    each_row(*runner, tokens, [&](size_t at, std::span<const float> logits) {
        if (at < nll.size()) worst = std::max(worst, std::abs(nll_of(logits, tokens[at + 1]) - double(nll[at])));
        for (size_t p = 0; p < places.size(); ++p) {
            if (size_t(places[p]) != at) continue;
            std::vector<float> some;
            for (size_t i = 0; i < samples; ++i) some.push_back(logits[i * 131]);
            EXPECT_LE(relative_l2(some, std::span(strided).subspan(p * samples, samples)), 1e-5) << "position " << at;
            std::vector<float> best;
            for (size_t i = 0; i < top; ++i) best.push_back(logits[size_t(top_ids[p * top + i])]);
            EXPECT_LE(relative_l2(best, std::span(top_values).subspan(p * top, top)), 1e-5) << "position " << at;
        }
    });
    EXPECT_LE(worst, 1e-3) << "negative log likelihood of a token";
    const auto& hidden = expected[name + ".hidden"].floats;
    ASSERT_EQ(states.size(), hidden.size());
    const size_t width = real_model()->config->width;
    for (size_t layer = 0; layer * width < hidden.size(); ++layer) {
        EXPECT_LE(relative_l2(std::span(states).subspan(layer * width, width),
                              std::span(hidden).subspan(layer * width, width)),
                  2e-5)
            << "before layer " << layer;
    }
}

INSTANTIATE_TEST_SUITE_P(All, RealText, ::testing::Values("prose", "code", "multilingual"),
                         [](const auto& tested) { return std::string(tested.param); });

// What it writes, token by token; where two tokens are nearly as likely, rounding may choose.
TEST_F(RealGemma3, WritesWhatIsExpected) {
    constexpr double kDecided = 0.001;
    size_t compared = 0;
    for (const Json& prompt : json("greedy.json")) {
        auto tokens = prompt["tokens"].get<std::vector<int32_t>>();
        const auto generated = prompt["generated"].get<std::vector<int32_t>>();
        const auto margin = prompt["margin"].get<std::vector<double>>();
        const size_t first = tokens.size() - 1;
        tokens.insert(tokens.end(), generated.begin(), generated.end() - 1);
        const auto runner = real_model()->runner(256);
        each_row(*runner, tokens, [&](size_t at, std::span<const float> logits) {
            if (at < first || margin[at - first] < kDecided) return;
            ++compared;
            EXPECT_EQ(likeliest(logits), size_t(generated[at - first]))
                << prompt["prompt"].dump() << ", token " << at - first;
        });
    }
    EXPECT_EQ(compared, 511u);
}

TEST_F(RealGemma3, HasTheExpectedPerplexity) {
    if (!thorough()) GTEST_SKIP() << "LAPIDARY_THOROUGH=1 reads 4,096 tokens in one context";
    auto expected = *testing::read_safetensors(kFolder + "perplexity.safetensors");
    const auto& tokens = expected["tokens"].integers;
    const auto& nll = expected["nll"].floats;
    const auto runner = real_model()->runner(4096);
    double sum = 0;
    double wanted = 0;
    each_row(*runner, tokens, [&](size_t at, std::span<const float> logits) {
        if (at >= nll.size()) return;
        sum += nll_of(logits, tokens[at + 1]);
        wanted += double(nll[at]);
    });
    EXPECT_NEAR(sum / double(nll.size()), wanted / double(nll.size()), 1e-4);
}

// The start values of the expected run: A by a formula, B nothing.
lora::Adapter first_adapter(uint32_t rank, float alpha) {
    constexpr lora::Target kTargets[] = {lora::Target::q,    lora::Target::k,  lora::Target::v,   lora::Target::o,
                                         lora::Target::gate, lora::Target::up, lora::Target::down};
    lora::Adapter out{.name = "first", .alpha = alpha};
    const auto layers = uint32_t(real_model()->config->layers.size());
    for (uint32_t layer = 0; layer < layers; ++layer) {
        for (uint32_t m = 0; m < 7; ++m) {
            const auto shape = *lora::shape_of(*real_model()->table, layer, kTargets[m]);
            lora::Update update{.layer = layer,
                                .target = kTargets[m],
                                .rank = rank,
                                .in = shape.in,
                                .out = shape.out,
                                .scale = alpha / float(rank)};
            for (uint32_t k = 0; k < rank * shape.in; ++k) {
                uint32_t h = 1 + k + 100003 * (7 * layer + m);
                h ^= h >> 16;
                h *= 0x85ebca6b;
                h ^= h >> 13;
                h *= 0xc2b2ae35;
                h ^= h >> 16;
                update.a.push_back(float((2 * (double(h) / 4294967296.0) - 1) / std::sqrt(double(shape.in))));
            }
            update.b.assign(size_t(shape.out) * rank, 0.0f);
            out.updates.push_back(std::move(update));
        }
    }
    return out;
}

TEST_F(RealGemma3, LearnsAsExpected) {
    const Json run = json("lora.json");
    const auto losses = run["losses"].get<std::vector<double>>();
    const auto rank = run["rank"].get<uint32_t>();
    auto backend = CpuBackend::create(real_model()->config, real_model()->table, real_model()->weights,
                                      first_adapter(rank, run["alpha"].get<float>()), {.checkpointing = false});
    ASSERT_TRUE(backend) << backend.error().message;
    std::vector<Sequence> examples;
    for (const Json& example : run["examples"]) {
        Sequence sequence{.tokens = example["tokens"].get<std::vector<int32_t>>(),
                          .weights = example["loss_mask"].get<std::vector<float>>(),
                          .starts = {0}};
        sequence.weights.push_back(0);
        examples.push_back(std::move(sequence));
    }
    const AdamW adamw{.learning_rate = 5e-4f, .weight_decay = 0.01f, .clip_norm = 1};
    const size_t steps = thorough() ? losses.size() : 3;
    for (size_t step = 0; step < steps; ++step) {
        const Sequence& example = examples[step % examples.size()];
        const double weight = weight_of(example);
        const auto loss = *(*backend)->accumulate(example, weight, {}, nullptr).run_now();
        ASSERT_TRUE(loss) << loss.error().message;
        const double limit = step == 0 ? 1e-3 : step < 16 ? 0.01 * losses[step] : 0.05 * losses[step] + 0.02;
        EXPECT_NEAR(*loss / weight, losses[step], limit) << "step " << step;
        ASSERT_TRUE(*(*backend)->step(adamw).run_now());
    }
    if (!thorough()) return;
    double after = 0;
    for (const Sequence& example : examples) {
        after += **(*backend)->evaluate(example, nullptr).run_now() / weight_of(example) / double(examples.size());
    }
    EXPECT_LE(after, 0.06);
}

}  // namespace
}  // namespace lapidary::train
