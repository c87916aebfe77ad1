#include "audio/mel.h"

#include <gtest/gtest.h>

#include "audio/resample.h"
#include "audio/wav.h"
#include "testing/files.h"
#include "testing/safetensors.h"

namespace lapidary::audio {
namespace {

std::vector<float> samples_of(const std::string& name) {
    const auto file = testing::read_file("tests/data/media/wav/" + name + ".wav");
    EXPECT_TRUE(file) << name;
    const auto sound = read_wav(*file);
    EXPECT_TRUE(sound) << name;
    const Resampled heard(*sound);
    std::vector<float> out(heard.samples());
    heard.read(0, out);
    return out;
}

// Every `step`-th row: of long sounds the expected values have no more.
std::vector<float> every(std::span<const float> features, size_t step) {
    std::vector<float> out;
    for (size_t row = 0; row < features.size() / kMelBands; row += step) {
        const auto values = features.subspan(row * kMelBands, kMelBands);
        out.insert(out.end(), values.begin(), values.end());
    }
    return out;
}

TEST(LogMel, IsWhatTransformersComputes) {
    const auto expected = testing::read_safetensors("tests/data/media/mmproj-small-F16.safetensors");
    if (!expected) GTEST_SKIP() << "there is no tests/data/media/mmproj-small-F16.safetensors";
    const LogMel mel;
    EXPECT_LT(testing::relative_l2(mel.features(samples_of("short")), expected->at("short.mel").floats), 2e-5);
    EXPECT_LT(testing::relative_l2(mel.features(samples_of("second")), expected->at("second.mel").floats), 2e-5);
    EXPECT_LT(testing::relative_l2(every(mel.features(samples_of("long")), 10), expected->at("long.mel").floats), 2e-5);
}

TEST(LogMel, CountsFramesAsTransformersDoes) {
    const auto expected = testing::read_safetensors("tests/data/media/sounds.safetensors");
    ASSERT_TRUE(expected);
    const auto& lengths = expected->at("lengths").integers;
    ASSERT_GT(lengths.size(), 4u);
    for (size_t i = 0; i + 3 < lengths.size(); i += 4) {
        const auto samples = std::min<uint64_t>(uint64_t(lengths[i]), 480000);
        EXPECT_EQ(LogMel::frames(samples), uint32_t(lengths[i + 1])) << lengths[i];
    }
}

TEST(LogMel, OfSilenceIsTheFloor) {
    const std::vector<float> silence(3200);
    for (const float value : LogMel().features(silence)) EXPECT_FLOAT_EQ(value, -6.9077554f);
    EXPECT_TRUE(LogMel().features(std::vector<float>(160)).empty());
    EXPECT_EQ(LogMel().features(std::vector<float>(161)).size(), kMelBands);
}

}  // namespace
}  // namespace lapidary::audio
