// Random numbers that are the same on every machine: a counter, mixed.
#pragma once

#include <cstdint>
#include <vector>

namespace lapidary::kernels::check {

class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}

    uint32_t bits() {
        state_ += 0x9E3779B97F4A7C15u;
        uint64_t z = state_;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return uint32_t(z >> 32);
    }
    uint32_t below(uint32_t n) { return uint32_t(uint64_t{bits()} * n >> 32); }
    // In [low, high).
    float uniform(float low, float high) { return low + (high - low) * float(bits() >> 8) * 0x1p-24f; }
    std::vector<float> floats(size_t count, float low = -1, float high = 1) {
        std::vector<float> out(count);
        for (float& value : out) value = uniform(low, high);
        return out;
    }

  private:
    uint64_t state_;
};

}  // namespace lapidary::kernels::check
