// Log-mel features: for every 10 ms, how loud the sound is in 128 bands, on a logarithmic scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/sound.h"

namespace lapidary::audio {

inline constexpr uint32_t kMelBands = 128;

class LogMel {
  public:
    LogMel();

    // How many frames n samples at 16 kHz make; none when they are fewer than 161, which is 10 ms.
    static uint32_t frames(uint64_t samples);
    // x: 16 kHz → [frames(x.size()), kMelBands]
    [[nodiscard]] std::vector<float> features(std::span<const float> x) const;

  private:
    static constexpr uint32_t kFrame = 320;
    static constexpr uint32_t kHop = 160;
    static constexpr uint32_t kFft = 512;
    static constexpr uint32_t kBins = kFft / 2 + 1;

    // A triangle over the bins [first, first + weights.size()), which may be none.
    struct Band {
        uint32_t first = 0;
        std::vector<double> weights;
    };

    // In place: the discrete Fourier transform of kFft complex numbers.
    void transform(std::span<double> re, std::span<double> im) const;

    std::vector<double> window_;  // [kFrame]
    std::vector<double> cosine_;  // [kFft / 2], of 2πi / kFft
    std::vector<double> sine_;
    std::vector<Band> bands_;
};

}  // namespace lapidary::audio
