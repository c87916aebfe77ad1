#include "audio/resample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "audio/wav.h"
#include "testing/files.h"
#include "testing/safetensors.h"

namespace lapidary::audio {
namespace {

Sound tone(uint32_t rate, double hertz, uint64_t samples) {
    return {.rate = rate, .samples = samples, .read = [=](uint64_t first, std::span<float> out) {
                for (size_t i = 0; i < out.size(); ++i) {
                    out[i] = float(0.5 * std::sin(2 * std::numbers::pi * hertz * double(first + i) / rate));
                }
            }};
}

std::vector<float> whole(const Resampled& sound) {
    std::vector<float> out(sound.samples());
    sound.read(0, out);
    return out;
}

// Without 20 ms at either end, where the sound meets silence.
std::span<const float> middle(std::span<const float> sound) {
    return sound.subspan(320, sound.size() - 640);
}

TEST(Resampled, FindsTheSignalBetweenTheSamples) {
    const auto expected = testing::read_safetensors("tests/data/media/sounds.safetensors");
    ASSERT_TRUE(expected);
    for (const char* name :
         {"tones-44k-stereo-pcm16.wav", "tones-44k-stereo-pcm24.wav", "tones-44k-stereo-float.wav"}) {
        const auto file = testing::read_file(std::string("tests/data/media/wav/") + name);
        ASSERT_TRUE(file) << name;
        const auto sound = read_wav(*file);
        ASSERT_TRUE(sound) << sound.error().message;
        const auto actual = whole(Resampled(*sound));
        const auto& ideal = expected->at("tones.ideal16k").floats;
        ASSERT_EQ(actual.size(), ideal.size()) << name;
        EXPECT_LT(testing::relative_l2(middle(actual), middle(ideal)), 1e-3) << name;
    }
}

TEST(Resampled, KeepsTonesOfAnyRate) {
    for (const uint32_t rate :
         {1000, 8000, 11025, 15999, 16000, 16001, 22050, 32000, 44100, 48000, 96000, 192000, 384000}) {
        const double hertz = rate * 0.1 < 7000 ? rate * 0.1 : 7000;
        const auto actual = whole(Resampled(tone(rate, hertz, rate)));
        ASSERT_EQ(actual.size(), 16000u) << rate;
        const auto expected = whole(Resampled(tone(16000, hertz, 16000)));
        EXPECT_LT(
            testing::relative_l2(std::span(actual).subspan(1600, 12800), std::span(expected).subspan(1600, 12800)),
            3e-4)
            << rate;
    }
}

TEST(Resampled, LetsNothingThroughThat16kHzCannotHold) {
    for (const double hertz : {8200.0, 10000.0, 16000.0, 20000.0}) {
        double energy = 0;
        const auto silent = whole(Resampled(tone(48000, hertz, 48000)));
        for (const float x : middle(silent)) energy += double(x) * double(x);
        EXPECT_LT(std::sqrt(energy / 16000), 0.5 * 2e-4) << hertz;
    }
}

TEST(Resampled, GivesAnyPartAsItIsInTheWhole) {
    const Resampled sound(tone(44100, 440, 50000));
    const auto all = whole(sound);
    EXPECT_EQ(all.size(), 18141u);  // 50000 · 160 / 441, and what is left of it
    for (const size_t first : {0, 1, 4095, 9000, 18140}) {
        std::vector<float> part(std::min<size_t>(5000, all.size() - first));
        sound.read(first, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + long(first))) << first;
    }
}

}  // namespace
}  // namespace lapidary::audio
