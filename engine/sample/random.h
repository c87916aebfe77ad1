// Random numbers for sampling: a pure function of (seed, step), so that a run can be repeated, resumed in the
// middle, or drawn on a GPU, with the same result.
#pragma once

#include <cstdint>

namespace lapidary::sample {

// Mixes three words until every bit depends on every other. 32-bit operations only: WGSL has no others.
struct Mixed {
    uint32_t x, y, z;
};

constexpr Mixed mix(uint32_t x, uint32_t y, uint32_t z) {
    // A linear congruential step separates neighbours; two rounds of multiply-and-add spread the differences.
    x = x * 1664525u + 1013904223u;
    y = y * 1664525u + 1013904223u;
    z = z * 1664525u + 1013904223u;
    for (int round = 0; round < 2; ++round) {
        x += y * z;
        y += z * x;
        z += x * y;
        x ^= x >> 16;
        y ^= y >> 16;
        z ^= z >> 16;
    }
    return {x, y, z};
}

// Uniform in [0, 1), a multiple of 2⁻²⁴: exact in f32.
constexpr float uniform(uint64_t seed, uint32_t step) {
    return float(mix(uint32_t(seed), uint32_t(seed >> 32), step).x >> 8) * 0x1p-24f;
}

}  // namespace lapidary::sample
