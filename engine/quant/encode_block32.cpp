#include <array>
#include <cmath>

#include "base/half.h"
#include "quant/encode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr size_t kBlock = 32;
using Block = std::array<float, kBlock>;

Block take(std::span<const float> values, size_t start, float limit) {
    Block block;
    for (size_t i = 0; i < kBlock; ++i) block[i] = tamed(values[start + i], limit);
    return block;
}

float inverse(float d) {
    return d != 0 ? 1.0f / d : 0.0f;
}

// 0 … top, by cutting off the fraction. A subnormal scale has an infinite inverse, hence the care about NaN.
uint8_t level(float value, int top) {
    if (!(value > 0)) return 0;
    return value < float(top) ? uint8_t(value) : uint8_t(top);
}

// To the nearest integer, ties away from zero, for values of −127 … 127; NaN, from a subnormal scale, gives 0.
int8_t round_away(float value) {
    if (value != value) return 0;
    if (value >= 127) return 127;
    if (value <= -127) return -127;
    const int whole = int(value);
    const float rest = value - float(whole);
    return int8_t(whole + (rest >= 0.5f ? 1 : 0) - (rest <= -0.5f ? 1 : 0));
}

}  // namespace

// The extreme becomes level 0, that is −8 · d, which is why d has the opposite sign.
void encode_q4_0(std::span<const float> values, uint8_t* out) {
    for (size_t start = 0; start < values.size(); start += kBlock, out += 18) {
        const Block x = take(values, start, 8 * kLargestHalf);
        const float d = extreme(x) / -8;
        const float scale = inverse(d);
        store(out, f32_to_f16(d));
        for (size_t i = 0; i < 16; ++i) {
            const uint8_t low = level(x[i] * scale + 8.5f, 15);
            const uint8_t high = level(x[i + 16] * scale + 8.5f, 15);
            out[2 + i] = uint8_t(low | high << 4);
        }
    }
}

void encode_q5_0(std::span<const float> values, uint8_t* out) {
    for (size_t start = 0; start < values.size(); start += kBlock, out += 22) {
        const Block x = take(values, start, 16 * kLargestHalf);
        const float d = extreme(x) / -16;
        const float scale = inverse(d);
        uint32_t fifth = 0;
        for (size_t i = 0; i < 16; ++i) {
            const uint8_t low = level(x[i] * scale + 16.5f, 31);
            const uint8_t high = level(x[i + 16] * scale + 16.5f, 31);
            out[6 + i] = uint8_t((low & 15) | (high & 15) << 4);
            fifth |= uint32_t(low >> 4) << i | uint32_t(high >> 4) << (i + 16);
        }
        store(out, f32_to_f16(d));
        store(out + 2, fifth);
    }
}

void encode_q8_0(std::span<const float> values, uint8_t* out) {
    for (size_t start = 0; start < values.size(); start += kBlock, out += 34) {
        const Block x = take(values, start, 127 * kLargestHalf);
        const float d = std::fabs(extreme(x)) / 127;
        const float scale = inverse(d);
        store(out, f32_to_f16(d));
        for (size_t i = 0; i < kBlock; ++i) out[2 + i] = uint8_t(round_away(x[i] * scale));
    }
}

}  // namespace lapidary::quant
