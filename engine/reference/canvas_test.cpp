#include "reference/canvas.h"

#include <gtest/gtest.h>

#include "infer/canvas_settling.h"
#include "reference/forward.h"
#include "testing/fixture_model.h"
#include "testing/safetensors.h"

namespace lapidary::reference {
namespace {

using testing::ExpectedTensors;
using testing::relative_l2;

const std::string kFolder = "tests/data/diffusion/";

ExpectedTensors expected_in(const std::string& file) {
    auto expected = testing::read_safetensors(kFolder + file);
    EXPECT_TRUE(expected) << file;
    return expected.value_or(ExpectedTensors{});
}

CanvasSettings settings_of(const std::vector<float>& s) {
    return {.max_steps = uint32_t(s[0]),
            .t_min = s[4],
            .t_max = s[5],
            .entropy_bound = s[1],
            .stability_threshold = uint32_t(s[2]),
            .confidence_threshold = s[3]};
}

template <class T>
std::span<const T> row(const std::vector<T>& all, size_t index, size_t length) {
    return std::span(all).subspan(index * length, length);
}

template <class T, class U>
std::vector<T> as(std::span<const U> values) {
    return {values.begin(), values.end()};
}

class CanvasFixture : public ::testing::Test {
  protected:
    static void SetUpTestSuite() {
        auto loaded = testing::load_model(kFolder + "tiny-diffusion-q4km.gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        model_ = new testing::FixtureModel(std::move(*loaded));
    }
    static void TearDownTestSuite() { delete model_; }

    static testing::FixtureModel* model_;
};
testing::FixtureModel* CanvasFixture::model_ = nullptr;

TEST_F(CanvasFixture, EncodesAndDecodesAsExpected) {
    ExpectedTensors all = expected_in("tiny-diffusion-q4km.forward.safetensors");
    for (const std::string x : {"short.", "long.", "committed."}) {
        const auto forward = model_->runner(256);
        ASSERT_TRUE(*forward->run(all[x + "prompt"].integers, LogitsWanted::none, nullptr).run_now());
        if (const auto& committed = all[x + "committed"].integers; !committed.empty()) {
            ASSERT_TRUE(*forward->run(committed, LogitsWanted::none, nullptr).run_now());
        }
        const uint32_t position = forward->position();
        CanvasRunner& canvas = *forward->canvas();
        const auto& t = all[x + "temperatures"].floats;
        const std::vector<float> uniforms(canvas.length());
        const std::vector<uint32_t> noise(canvas.length());
        const auto logits = [&](float temperature) {
            const CanvasStep step{.temperature = temperature, .uniforms = uniforms, .noise = noise};
            EXPECT_TRUE(*canvas.step(step, CanvasView::outcome, nullptr).run_now());
            return **canvas.logits().run_now();
        };
        ASSERT_TRUE(canvas.begin(all[x + "canvas1"].integers));
        EXPECT_LE(relative_l2(logits(t[0]), all[x + "logits1"].floats), 4e-5) << x;
        ASSERT_TRUE(canvas.replace(all[x + "canvas2"].integers));
        EXPECT_LE(relative_l2(logits(t[1]), all[x + "logits2"].floats), 4e-5) << x;
        ASSERT_TRUE(canvas.replace(all[x + "canvas1"].integers));
        EXPECT_LE(relative_l2(logits(t[1]), all[x + "logits3"].floats), 4e-5) << x;
        EXPECT_EQ(forward->position(), position);
    }
}

TEST_F(CanvasFixture, EncoderStatesAreThoseOfThePrompt) {
    ExpectedTensors all = expected_in("tiny-diffusion-q4km.forward.safetensors");
    const auto forward = model_->runner(256);
    const auto layers = uint32_t(model_->config->layers.size());
    std::vector<float> last;
    forward->set_trace([&](uint32_t layer, std::span<const float> h) {
        if (layer == layers) last.assign(h.begin(), h.end());
    });
    const auto& prompt = all["long.prompt"].integers;
    ASSERT_TRUE(*forward->run(prompt, LogitsWanted::last, nullptr).run_now());
    const auto& hidden = all["long.enc_hidden"].floats;
    EXPECT_LE(relative_l2(last, std::span(hidden).last(last.size())), 4e-5);
}

TEST_F(CanvasFixture, WholeGenerationsAreReproducedToTheToken) {
    for (const std::string name : {"eos", "max", "stable2", "stop"}) {
        ExpectedTensors all = expected_in("tiny-diffusion-q4km.trace-" + name + ".safetensors");
        const auto forward = model_->runner(256);
        ASSERT_TRUE(*forward->run(all["prompt"].integers, LogitsWanted::none, nullptr).run_now());
        CanvasRunner& canvas = *forward->canvas();
        const uint32_t length = canvas.length();
        size_t at = 0;
        for (const int32_t first : all["first_step"].integers) {
            ASSERT_EQ(at, size_t(first)) << name;
            infer::CanvasSettling settling{
                .settings = settings_of(all["setting"].floats),
                .start = as<int32_t>(row(all["canvas_in"].integers, at, length)),
                .numbers = [&](uint32_t) -> Result<infer::CanvasNumbers> {
                    return infer::CanvasNumbers{as<float>(row(all["u"].floats, at, length)),
                                                as<uint32_t>(row(all["noise"].integers, at, length))};
                },
                .view = CanvasView::everything,
                .on_step =
                    [&](uint32_t step, const CanvasOutcome& outcome) {
                        const auto integers = [&](const char* of) {
                            return as<int32_t>(row(all[of].integers, at, length));
                        };
                        EXPECT_EQ(outcome.canvas_in, integers("canvas_in")) << name << " step " << at;
                        EXPECT_EQ(outcome.argmax, integers("argmax")) << name << " step " << at;
                        EXPECT_EQ(as<int32_t>(std::span<const uint8_t>(outcome.accept)), integers("accept"))
                            << name << " step " << at;
                        for (uint32_t i = 0; i < length; ++i) {
                            EXPECT_NEAR(outcome.entropy[i], all["entropy"].floats[at * length + i], 2e-4);
                        }
                        EXPECT_EQ(outcome.stable, all["stable"].integers[at] != 0);
                        EXPECT_EQ(outcome.settled(), all["stop"].integers[at] != 0);
                        (void)step;
                        ++at;
                    }};
            const auto settled = *infer::settle_canvas(canvas, std::move(settling), nullptr).run_now();
            ASSERT_TRUE(settled);
            EXPECT_EQ(settled->tokens, as<int32_t>(row(all["argmax"].integers, at - 1, length)));
            ASSERT_TRUE(*forward->run(settled->tokens, LogitsWanted::none, nullptr).run_now());
        }
        EXPECT_EQ(at, all["remaining"].integers.size()) << name;
    }
}

TEST(CanvasSampler, DrawsAcceptsAndStopsAsExpected) {
    ExpectedTensors all = expected_in("sampler.safetensors");
    constexpr size_t kLength = 8;
    for (const std::string x : {"unstable.", "stop0.", "stop1.", "stop2.", "ties."}) {
        const CanvasSettings settings = settings_of(all[x + "setting"].floats);
        CanvasSampler sampler;
        std::vector<int32_t> canvas = all[x + "init"].integers;
        const size_t steps = all[x + "remaining"].integers.size();
        const size_t vocabulary = all[x + "logits"].shape[2];
        for (size_t s = 0; s < steps; ++s) {
            const auto noise = as<uint32_t>(row(all[x + "noise"].integers, s, kLength));
            const auto outcome = sampler.step(row(all[x + "logits"].floats, s, kLength * vocabulary),
                                              {.settings = settings,
                                               .temperature = all[x + "temperature"].floats[s],
                                               .uniforms = row(all[x + "u"].floats, s, kLength),
                                               .noise = noise},
                                              CanvasView::everything, canvas);
            EXPECT_EQ(outcome.argmax, as<int32_t>(row(all[x + "argmax"].integers, s, kLength))) << x << s;
            EXPECT_EQ(as<int32_t>(std::span<const uint8_t>(outcome.accept)),
                      as<int32_t>(row(all[x + "accept"].integers, s, kLength)))
                << x << s;
            EXPECT_EQ(canvas, as<int32_t>(row(all[x + "canvas_out"].integers, s, kLength))) << x << s;
            for (size_t i = 0; i < kLength; ++i) {
                EXPECT_NEAR(outcome.entropy[i], all[x + "entropy"].floats[s * kLength + i], 2e-5) << x << s;
            }
            EXPECT_EQ(outcome.settled(), all[x + "stop"].integers[s] != 0) << x << s;
        }
    }
}

}  // namespace
}  // namespace lapidary::reference
