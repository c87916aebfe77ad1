// The encoders behind encode(), one source file a family. Each writes whole blocks until `values` is used up.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace lapidary::quant {

constexpr float kLargestHalf = 65504.0f;

// What a block type makes of a value it cannot hold: see encode().
inline float tamed(float value, float limit) {
    if (value != value) return 0;
    if (value > limit) return limit;
    return value < -limit ? -limit : value;
}

// The value farthest from zero, with its sign; the first of several, and 0 for none.
//
// The largest magnitude has a variable of its own for a reason: clang 19 at -O3 loses the second fabs of the shorter
// `fabs(x) > fabs(result)` when it unrolls the loop (result starts as 0, and "x if x ≠ 0, else 0" confuses it).
inline float extreme(std::span<const float> values) {
    float result = 0;
    float largest = 0;
    for (const float x : values) {
        const float magnitude = std::fabs(x);
        if (magnitude > largest) {
            largest = magnitude;
            result = x;
        }
    }
    return result;
}

// encode_block32.cpp
void encode_q4_0(std::span<const float> values, uint8_t* out);
void encode_q5_0(std::span<const float> values, uint8_t* out);
void encode_q8_0(std::span<const float> values, uint8_t* out);

// encode_q4_k.cpp, encode_q6_k.cpp
void encode_q4_k(std::span<const float> values, uint8_t* out);
void encode_q6_k(std::span<const float> values, uint8_t* out);

}  // namespace lapidary::quant
