// Sound as it comes in: any rate, any number of channels, from a file we parse or from a decoder. It is never held as a
// whole a second time: who wants samples asks for a range of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/error.h"

namespace lapidary::audio {

inline constexpr uint32_t kRate = 16000;  // what every tower hears

// What is taken from people. Half an hour is 45,000 tokens; the rest bounds what has to be computed for it.
inline constexpr uint32_t kMaxSeconds = 1800;
inline constexpr uint32_t kMinRate = 1000;
inline constexpr uint32_t kMaxRate = 384000;
inline constexpr uint32_t kMaxChannels = 64;

// One channel: several are averaged when they are read.
struct Sound {
    uint32_t rate = 0;
    uint64_t samples = 0;
    // Fills `out` with samples [first, first + out.size()), all of which exist.
    std::function<void(uint64_t first, std::span<float> out)> read;
};

// Looked at before anything is computed of a sound's length.
Status check_sound(uint32_t rate, uint32_t channels, uint64_t samples);

// Of floats, which may be anything.
Status check_sample(float value, uint64_t index);

// What a decoder made: one channel of little-endian floats, which must live as long as the sound. Anything that is not a
// number is refused.
Result<Sound> sound_of_floats(std::span<const uint8_t> bytes, uint32_t rate);

// 95 → "1:35", 36000 → "10:00:00": how long something lasts, for sentences.
std::string format_duration(uint64_t seconds);

}  // namespace lapidary::audio
