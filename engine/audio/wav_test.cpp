#include "audio/wav.h"

#include <gtest/gtest.h>

#include <limits>

#include "testing/files.h"
#include "testing/safetensors.h"
#include "testing/wav_samples.h"

namespace lapidary::audio {
namespace {

using testing::wav_file;
using testing::WavFormat;

std::vector<float> samples_of(const Sound& sound, uint64_t first, uint64_t count) {
    std::vector<float> out(count);
    sound.read(first, out);
    return out;
}

void expect_refused(const Bytes& file, std::string_view culprit) {
    const auto sound = read_wav(file);
    ASSERT_FALSE(sound) << culprit;
    EXPECT_NE(sound.error().message.find(culprit), std::string::npos) << sound.error().message;
}

TEST(Wav, ReadsWhatOtherProgramsWrote) {
    const auto expected = testing::read_safetensors("tests/data/media/sounds.safetensors");
    ASSERT_TRUE(expected);
    for (const char* name : {"tones-16k-stereo-pcm16.wav", "tones-16k-stereo-pcm24.wav", "tones-16k-stereo-float.wav",
                             "short-u8.wav", "short.wav", "second.wav", "long.wav"}) {
        const auto file = testing::read_file(std::string("tests/data/media/wav/") + name);
        ASSERT_TRUE(file) << name;
        const auto sound = read_wav(*file);
        ASSERT_TRUE(sound) << name << ": " << sound.error().message;
        EXPECT_EQ(sound->rate, 16000u);
        const auto& floats = expected->at(name).floats;
        EXPECT_LT(testing::relative_l2(samples_of(*sound, 0, floats.size()), floats), 1e-7) << name;
    }
}

TEST(Wav, UnderstandsNumbersAndFloatsOfEverySize) {
    const auto two = [](const WavFormat& format, const Bytes& samples) {
        static Bytes file;  // the sound looks into it
        file = wav_file(format, samples);
        const auto sound = read_wav(file);
        EXPECT_TRUE(sound) << sound.error().message;
        return sound ? samples_of(*sound, 0, sound->samples) : std::vector<float>{};
    };
    const std::vector<float> expected = {0.5f, -1};
    EXPECT_EQ(two({.bits = 8}, {192, 0}), expected);
    EXPECT_EQ(two({.bits = 16}, {0, 64, 0, 128}), expected);
    EXPECT_EQ(two({.bits = 12}, {0, 64, 0, 128}), expected);
    EXPECT_EQ(two({.bits = 24}, {0, 0, 64, 0, 0, 128}), expected);
    EXPECT_EQ(two({.bits = 32}, {0, 0, 0, 64, 0, 0, 0, 128}), expected);
    EXPECT_EQ(two({.tag = 3, .bits = 32}, {0, 0, 0, 63, 0, 0, 128, 191}), expected);
    EXPECT_EQ(two({.tag = 3, .bits = 64}, {0, 0, 0, 0, 0, 0, 224, 63, 0, 0, 0, 0, 0, 0, 240, 191}), expected);
    EXPECT_EQ(two({.bits = 16, .extensible = true}, {0, 64, 0, 128}), expected);
    EXPECT_EQ(two({.channels = 2, .bits = 8}, {255, 129, 0, 0}), expected);  // the mean of the two
}

TEST(Wav, PassesOverOtherChunksAndTakesWhatWasNeverCounted) {
    const Bytes format = testing::wav_format({.bits = 8});
    Bytes file =
        testing::wav_of({testing::wav_chunk("LIST", {1, 2, 3}), format, testing::wav_chunk("data", {192, 0, 64})});
    ASSERT_TRUE(read_wav(file));
    EXPECT_EQ(read_wav(file)->samples, 3u);
    // A program that writes into a pipe cannot go back to say how much it wrote.
    const size_t size_at = file.size() - 4 - 4;
    for (size_t i = 0; i < 4; ++i) file[size_at + i] = file[4 + i] = 0xFF;
    file.pop_back();
    ASSERT_TRUE(read_wav(file)) << read_wav(file).error().message;
    EXPECT_EQ(read_wav(file)->samples, 3u);
}

TEST(Wav, RefusesWhatIsNone) {
    expect_refused({}, "no WAV file");
    Bytes mp3;
    testing::put(mp3, "ID3 and more than twelve bytes");
    expect_refused(mp3, "no WAV file");
    expect_refused(testing::wav_of({}), "no sound in it");
    expect_refused(testing::wav_of({testing::wav_chunk("data", {0, 0})}), "does not say how");
    expect_refused(testing::wav_of({testing::wav_chunk("fmt ", {1, 0})}), "cut short");
    expect_refused(wav_file({.tag = 85}, {0, 0}), "compressed");
    expect_refused(wav_file({.tag = 3, .bits = 16}, {0, 0}), "floats of 16 bits");
    expect_refused(wav_file({.bits = 40}, {0, 0, 0, 0, 0}), "numbers of 40 bits");
    expect_refused(wav_file({.channels = 0}, {0, 0}), "0 channels");
    expect_refused(wav_file({.channels = 65}, {0, 0}), "65 channels");
    expect_refused(wav_file({.rate = 0}, {0, 0}), "0 samples a second");
    expect_refused(wav_file({.rate = 4'000'000'000}, {0, 0}), "4000000000 samples a second");
    expect_refused(wav_file({}, {}), "empty");
    Bytes wrong = wav_file({}, {0, 0});
    wrong[32] = 3;  // bytes of a frame
    expect_refused(wrong, "make 3 bytes");
}

TEST(Wav, RefusesAFileThatEndsTooEarly) {
    Bytes file = wav_file({}, Bytes(1000));
    for (const size_t size : {1, 11, 13, 20, 30, 43}) {
        EXPECT_FALSE(read_wav(std::span(file).first(size))) << size;
    }
    file.resize(600);
    expect_refused(file, "ends before its sound does: 556 of 1000 bytes");
}

TEST(Wav, RefusesSamplesThatAreNoNumbers) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const float values[] = {0, 0.5f, bad, 0};
        Bytes samples(sizeof values);
        std::memcpy(samples.data(), values, sizeof values);
        expect_refused(wav_file({.tag = 3, .bits = 32}, samples), "sample 2 of the sound is not a number");
        const auto floats = sound_of_floats(samples, 16000);
        ASSERT_FALSE(floats);
        EXPECT_NE(floats.error().message.find("sample 2"), std::string::npos);
    }
}

TEST(Sound, RefusesWhatLastsTooLong) {
    EXPECT_TRUE(check_sound(48000, 2, 1800ull * 48000));
    const auto refused = check_sound(48000, 2, 36000ull * 48000);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "the sound lasts 10:00:00; at most 30:00 are taken: cut it into parts");
    EXPECT_EQ(refused.error().code, Code::limit);
}

TEST(Sound, OfFloatsIsWhatADecoderGave) {
    Bytes bytes;
    testing::put(bytes, std::string_view("\0\0\0\x3f\0\0\x80\xbf", 8));
    const auto sound = sound_of_floats(bytes, 44100);
    ASSERT_TRUE(sound);
    EXPECT_EQ(sound->rate, 44100u);
    EXPECT_EQ(samples_of(*sound, 0, 2), (std::vector<float>{0.5f, -1}));
    EXPECT_EQ(samples_of(*sound, 1, 1), (std::vector<float>{-1}));
    EXPECT_FALSE(sound_of_floats(std::span(bytes).first(7), 44100));
    EXPECT_FALSE(sound_of_floats({}, 44100));
}

}  // namespace
}  // namespace lapidary::audio
