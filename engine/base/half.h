// 16-bit floats as they lie in files: IEEE binary16 and bfloat16, exact both ways (round to nearest even).
#pragma once

#include <bit>
#include <cstdint>

namespace lapidary {

constexpr float f16_to_f32(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 0x1Fu;
    uint32_t mantissa = half & 0x3FFu;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | 0x7F800000u | mantissa << 13);  // Inf, NaN
    if (exponent == 0) {
        // Subnormal: mantissa · 2⁻²⁴, exact in f32.
        const float magnitude = float(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
    }
    return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

constexpr uint16_t f32_to_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const auto sign = uint16_t(bits >> 16 & 0x8000u);
    const uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return sign | 0x7E00u;   // NaN, made quiet
    if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // rounds to 2¹⁶ or beyond: Inf
    if (magnitude < 0x38800000u) {
        // Below 2⁻¹⁴: adding 0.5 shifts the 10 bits we keep to the bottom of the mantissa, and the FPU rounds.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return uint16_t(sign | uint16_t(std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
    }
    const uint32_t round = 0xFFFu + (magnitude >> 13 & 1u);
    return uint16_t(sign | uint16_t((magnitude - 0x38000000u + round) >> 13));
}

constexpr float bf16_to_f32(uint16_t value) {
    return std::bit_cast<float>(uint32_t(value) << 16);
}

constexpr uint16_t f32_to_bf16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return uint16_t(bits >> 16 | 0x40u);  // NaN stays NaN
    return uint16_t((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

}  // namespace lapidary
