#include "base/half.h"
#include "quant/decode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

using U16x4 = uint16_t __attribute__((vector_size(8)));

// f16_to_f32 without its branches: all three kinds of number are computed, and each lane picks its own.
// Signed lanes, because SSE has no unsigned comparison.
F32x4 f16_lanes(U16x4 half) {
    const I32x4 bits = __builtin_convertvector(half, I32x4);
    const I32x4 magnitude = bits & 0x7FFF;
    const I32x4 sign = (bits ^ magnitude) << 16;
    const I32x4 shifted = magnitude << 13;
    const I32x4 is_special = magnitude > 0x7BFF;
    const I32x4 normal = (shifted + 0x38000000) | (is_special & 0x7F800000);
    // Below 2⁻¹⁴ the number is magnitude · 2⁻²⁴, which is the distance between neighbours above 0.5.
    const auto subnormal = I32x4(F32x4(magnitude | 0x3F000000) - splat(0.5f));
    return F32x4(sign | (magnitude < 0x400 ? subnormal : normal));
}

}  // namespace

void decode_f32(const uint8_t* in, std::span<float> out) {
    if (!out.empty()) std::memcpy(out.data(), in, out.size_bytes());
}

void decode_f16(const uint8_t* in, std::span<float> out) {
    size_t i = 0;
    for (; i + 4 <= out.size(); i += 4) store(&out[i], f16_lanes(load<U16x4>(in + 2 * i)));
    for (; i < out.size(); ++i) out[i] = f16_to_f32(load<uint16_t>(in + 2 * i));
}

void decode_bf16(const uint8_t* in, std::span<float> out) {
    size_t i = 0;
    for (; i + 4 <= out.size(); i += 4) {
        store(&out[i], __builtin_convertvector(load<U16x4>(in + 2 * i), U32x4) << 16);
    }
    for (; i < out.size(); ++i) out[i] = bf16_to_f32(load<uint16_t>(in + 2 * i));
}

}  // namespace lapidary::quant
