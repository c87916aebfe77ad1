// A sound at 16 kHz, whatever its rate: a windowed-sinc filter in doubles, the same numbers on every machine.
#pragma once

#include <memory>

#include "audio/sound.h"

namespace lapidary::audio {

class Resampled {
  public:
    explicit Resampled(Sound sound);

    // How many samples there are at 16 kHz.
    [[nodiscard]] uint64_t samples() const { return samples_; }
    // Fills `out` with samples [first, first + out.size()), all of which exist. Any range gives the numbers that the
    // whole would have there.
    void read(uint64_t first, std::span<float> out) const;

  private:
    struct Filter;

    Sound sound_;
    uint64_t samples_;
    std::shared_ptr<const Filter> filter_;  // none where the rate is right already
};

}  // namespace lapidary::audio
