#include <gtest/gtest.h>

#include "audio/mel.h"
#include "testing/fixture_model.h"
#include "testing/png.h"
#include "testing/projector_files.h"
#include "testing/safetensors.h"
#include "testing/sounds.h"
#include "towers/audio_forward.h"
#include "towers/vision_forward.h"

namespace lapidary::towers {
namespace {

using testing::ExpectedTensors;
using testing::relative_l2;

std::string parameter_name(const ::testing::TestParamInfo<const char*>& info) {
    std::string out = info.param;
    std::ranges::replace(out, '-', '_');
    return out;
}

class Towers : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        const std::string base = std::string("tests/data/media/") + GetParam();
        auto expected = testing::read_safetensors(base + ".safetensors");
        if (!expected) GTEST_SKIP() << "there is no " << base << ".safetensors";
        expected_ = *std::move(expected);
        const auto file = testing::open_file(base + ".gguf");
        ASSERT_TRUE(file);
        projector_ = *read_projector(*file);
        std::vector<Weight> all;
        if (projector_.vision) all = projector_.vision->table.all;
        if (projector_.audio) std::ranges::copy(projector_.audio->table.all, std::back_inserter(all));
        weights_ = **reference::Weights::load(*file, to_load(all), nullptr, {}).run_now();
    }

    // Every step that the fixtures have.
    void compare(const std::string& name, std::span<const float> actual, double limit) const {
        const auto it = expected_.find(name);
        if (it == expected_.end()) return;
        const std::vector<float> rows = testing::rows_of(it->second, actual);
        ASSERT_EQ(rows.size(), it->second.floats.size()) << name;
        EXPECT_LT(relative_l2(rows, it->second.floats), limit) << name;
    }
    Listener listener(const std::string& of, double limit) const {
        return {.breathe = nullptr,
                .progress = nullptr,
                .trace = [=, this](std::string_view step, std::span<const float> rows) {
                    compare(of + "." + std::string(step), rows, limit);
                }};
    }
    std::vector<float> seen(const std::string& image, Activation activation, double limit) const {
        const auto png = testing::read_png("tests/data/media/img/" + image);
        const VisionForward tower(*projector_.vision, weights_, activation);
        auto soft =
            tower.run({png->width, png->height, png->pixels}, listener(limit > 0 ? image : "-", limit)).run_now();
        EXPECT_TRUE(*soft) << soft->error().message;
        return **soft;
    }

    ExpectedTensors expected_;
    Projector projector_;
    std::shared_ptr<const reference::Weights> weights_;
};

TEST_P(Towers, SeeWhatTransformersSees) {
    for (const std::string image : {"square.png", "wide.png"}) {
        if (!expected_.contains(image + ".soft")) continue;
        compare(image + ".soft", seen(image, Activation::gelu, 1e-5), 1e-5);
    }
    if (expected_.contains("square.png.quickgelu")) {
        compare("square.png.quickgelu", seen("square.png", Activation::quick_gelu, 0), 1e-5);
    }
}

TEST_P(Towers, HearWhatTransformersHears) {
    if (!projector_.audio) GTEST_SKIP() << "there is no tower for sound in it";
    const AudioForward tower(*projector_.audio, weights_);
    const bool raw = projector_.audio->config.kind == AudioKind::gemma4ua;
    const audio::LogMel mel;
    for (const std::string name : {"short", "second", "long", "thirty"}) {
        if (!expected_.contains(name + ".soft")) continue;
        std::vector<float> input = testing::read_sound(name);
        if (!raw) {
            input.resize(std::min<size_t>(input.size(), 480000));
            input = mel.features(input);
        }
        const size_t count = raw ? input.size() : input.size() / audio::kMelBands;
        EXPECT_EQ(audio_tokens(projector_.audio->config, count), uint64_t(expected_.at(name + ".count").integers[1]));
        compare(name + ".soft", **tower.run(input, listener(name, 1e-4)).run_now(), raw ? 1e-5 : 1e-4);
        // From the reference's own features.
        if (raw || expected_.at(name + ".mel").stride > 1) continue;
        const auto soft = **tower.run(expected_.at(name + ".mel").floats, listener(name, 1e-5)).run_now();
        compare(name + ".soft", soft, 1e-5);
    }
}

TEST_P(Towers, RefuseAPictureThatNeedsMorePositionsThanThereAre) {
    if (!projector_.vision) GTEST_SKIP();
    const VisionConfig& config = projector_.vision->config;
    const uint32_t most = config.positions * config.patch / config.side() * config.side();
    EXPECT_TRUE(check_shown(config, most, config.side()));
    const auto refused = check_shown(config, most + config.side(), config.side());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("this model has positions for"), std::string::npos);
    EXPECT_FALSE(check_shown(config, 100, config.side()));
}

INSTANTIATE_TEST_SUITE_P(All, Towers,
                         ::testing::Values("mmproj-small-F16", "mmproj-small-Q8_0", "mmproj-large-BF16",
                                           "mmproj-unified-F16", "blob-e2b"),
                         parameter_name);

}  // namespace
}  // namespace lapidary::towers
