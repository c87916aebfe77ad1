// Arbitrary bytes as a WAV file, and as what a decoder made of one:
//   build/fuzz/engine/wav_fuzz -max_len=4096 -malloc_limit_mb=64 NEW_FINDINGS tests/data/fuzz/wav
#include <algorithm>
#include <cmath>
#include <vector>

#include "audio/mel.h"
#include "audio/resample.h"
#include "audio/wav.h"
#include "testing/fuzz.h"

namespace lapidary::audio {
namespace {

// What was accepted can be read to the end, at any rate, and has numbers in it.
void fuzz_sound(const Result<Sound>& sound) {
    if (!sound) return;
    testing::check(sound->samples > 0 && sound->rate >= kMinRate && sound->rate <= kMaxRate);
    const Resampled heard(*sound);
    std::vector<float> samples(std::min<uint64_t>(heard.samples(), 4000));
    for (const uint64_t first : {uint64_t{0}, heard.samples() - samples.size()}) {
        heard.read(first, samples);
        for (const float sample : samples) testing::check(!std::isnan(sample));
    }
    static const LogMel mel;
    testing::check(mel.features(samples).size() == size_t{LogMel::frames(samples.size())} * kMelBands);
}

}  // namespace
}  // namespace lapidary::audio

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::audio;
    if (size < 1) return 0;
    const std::span<const uint8_t> bytes(data + 1, size - 1);
    if (data[0] % 8 == 0) {
        fuzz_sound(sound_of_floats(bytes, 1000u * data[0]));
    } else {
        fuzz_sound(read_wav(bytes));
    }
    return 0;
}
