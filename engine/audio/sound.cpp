#include "audio/sound.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace lapidary::audio {

static_assert(std::endian::native == std::endian::little, "samples are read as they lie in files");

std::string format_duration(uint64_t seconds) {
    const auto two = [](uint64_t n) { return format("{}{}", n < 10 ? "0" : "", n); };
    if (seconds < 3600) return format("{}:{}", seconds / 60, two(seconds % 60));
    return format("{}:{}:{}", seconds / 3600, two(seconds / 60 % 60), two(seconds % 60));
}

Status check_sound(uint32_t rate, uint32_t channels, uint64_t samples) {
    if (rate < kMinRate || rate > kMaxRate) {
        return fail(Code::unsupported, "the sound has {} samples a second; {} to {} are understood", rate, kMinRate,
                    kMaxRate);
    }
    if (channels == 0 || channels > kMaxChannels) {
        return fail(Code::unsupported, "the sound has {} channels; 1 to {} are understood", channels, kMaxChannels);
    }
    if (samples == 0) return fail(Code::invalid_argument, "the sound is empty: it has no samples");
    if (samples > uint64_t{kMaxSeconds} * rate) {
        return fail(Code::limit, "the sound lasts {}; at most {} are taken: cut it into parts",
                    format_duration(samples / rate), format_duration(kMaxSeconds));
    }
    return {};
}

Status check_sample(float value, uint64_t index) {
    // Whole numbers that somebody wrote as floats are loud, but can be computed with.
    if (std::abs(value) <= 1e9f) return {};
    return fail(Code::bad_file, "sample {} of the sound is not a number, or far too large", index);
}

Result<Sound> sound_of_floats(std::span<const uint8_t> bytes, uint32_t rate) {
    if (bytes.size() % sizeof(float) != 0) {
        return fail(Code::invalid_argument, "{} bytes are no sound of 32-bit floats", bytes.size());
    }
    const uint64_t samples = bytes.size() / sizeof(float);
    TRY(check_sound(rate, 1, samples));
    for (uint64_t i = 0; i < samples; ++i) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        TRY(check_sample(value, i));
    }
    return Sound{.rate = rate, .samples = samples, .read = [bytes](uint64_t first, std::span<float> out) {
                     std::memcpy(out.data(), bytes.data() + first * sizeof(float), out.size_bytes());
                 }};
}

}  // namespace lapidary::audio
