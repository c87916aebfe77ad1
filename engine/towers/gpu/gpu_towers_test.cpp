// What towers do with a GPU, without one: what they make they give back, and what does not fit is said. What they compute is
// compared on a GPU in software (apps/cli/src/on-gpu/media.ts).
#include <gtest/gtest.h>

#include "testing/lazy_device.h"
#include "testing/projector_files.h"
#include "towers/gpu/gpu_audio.h"
#include "towers/gpu/gpu_vision.h"

namespace lapidary::towers {
namespace {

constexpr kernels::Variant kPlain{kernels::Reduction::shared, kernels::Activations::floats};

std::string tower_file_name(const ::testing::TestParamInfo<const char*>& info) {
    std::string out = info.param;
    std::ranges::replace(out, '-', '_');
    return out;
}

class GpuTowers : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        auto file = testing::open_file(std::string("tests/data/media/") + GetParam() + ".gguf");
        if (!file) GTEST_SKIP() << "there is no " << GetParam();
        file_ = std::make_unique<gguf::File>(*std::move(file));
        projector_ = *read_projector(*file_);
    }

    testing::LazyDevice device_{false};
    std::unique_ptr<gguf::File> file_;
    Projector projector_;
};

TEST_P(GpuTowers, SeeAndGiveBackWhatAPictureTook) {
    if (!projector_.vision) GTEST_SKIP();
    const Vision& vision = *projector_.vision;
    ASSERT_TRUE(GpuVision::can(vision, Activation::gelu));
    {
        auto tower = GpuVision::load(device_, kPlain, *file_, vision, nullptr, {}).run_now();
        ASSERT_TRUE(*tower) << tower->error().message;
        const uint32_t side = vision.config.side();
        const std::vector<uint8_t> rgb(size_t{6} * side * side * 3, 100);
        size_t layers = 0;
        const Listener listener{
            .breathe = nullptr, .progress = [&](uint64_t, uint64_t) { ++layers; }, .trace = nullptr};
        const auto see = [&] { return *(**tower)->run({3 * side, 2 * side, rgb}, listener, {}).run_now(); };
        const auto soft = see();
        ASSERT_TRUE(soft) << soft.error().message;
        EXPECT_EQ(soft->size(), 6 * vision.config.output);
        EXPECT_EQ(layers, vision.config.layers);
        const size_t live = device_.live();
        ASSERT_TRUE(see());
        EXPECT_EQ(device_.live(), live) << "kernels stay, all else goes";
    }
    EXPECT_EQ(device_.live(), 0u);
}

TEST_P(GpuTowers, HearAndGiveBackWhatASoundTook) {
    if (!projector_.audio) GTEST_SKIP();
    const AudioConfig& config = projector_.audio->config;
    {
        auto tower = gpu_audio(device_, kPlain, *file_, *projector_.audio, nullptr, {}).run_now();
        ASSERT_TRUE(*tower) << tower->error().message;
        const size_t count = config.kind == AudioKind::gemma4ua ? 3 * config.frame : size_t{40} * config.mel_bins;
        const std::vector<float> heard(count, 0.5f);
        const auto soft = *(**tower)->run(heard, {}).run_now();
        ASSERT_TRUE(soft) << soft.error().message;
        EXPECT_EQ(soft->size() % config.output, 0u);
    }
    EXPECT_EQ(device_.live(), 0u);
}

TEST_P(GpuTowers, SayThatThereIsNoRoom) {
    if (!projector_.vision) GTEST_SKIP();
    device_.room = 50'000;
    const auto tower = *GpuVision::load(device_, kPlain, *file_, *projector_.vision, nullptr, {}).run_now();
    ASSERT_FALSE(tower);
    EXPECT_EQ(tower.error().code, Code::out_of_memory);
    EXPECT_EQ(device_.live(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, GpuTowers,
                         ::testing::Values("mmproj-small-F16", "mmproj-small-Q8_0", "mmproj-large-BF16",
                                           "mmproj-unified-F16", "blob-e2b"),
                         tower_file_name);

}  // namespace
}  // namespace lapidary::towers
