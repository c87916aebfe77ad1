// In all of these the low nibbles are elements 0 … 15 and the high nibbles 16 … 31.
#include "base/half.h"
#include "quant/decode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr size_t kBlock = 32;

float half_at(const uint8_t* at) {
    return f16_to_f32(load<uint16_t>(at));
}

// Sixteen bits, lowest first, become sixteen bytes: `value` where the bit is set, 0 elsewhere.
U8x16 spread_bits(const uint8_t* two_bytes, uint8_t value) {
    const uint8_t a = two_bytes[0];
    const uint8_t b = two_bytes[1];
    const U8x16 source = {a, a, a, a, a, a, a, a, b, b, b, b, b, b, b, b};
    const U8x16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    return U8x16((source & bit) == bit) & value;
}

}  // namespace

// d:f16, qs[16]
void decode_q4_0(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kBlock, in += 18) {
        const float d = half_at(in);
        const auto qs = load<U8x16>(in + 2);
        put_scaled(low_nibbles(qs), 8, d, &out[i]);
        put_scaled(high_nibbles(qs), 8, d, &out[i + 16]);
    }
}

// d:f16, m:f16, qs[16]
void decode_q4_1(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kBlock, in += 20) {
        const float d = half_at(in);
        const float m = half_at(in + 2);
        const auto qs = load<U8x16>(in + 4);
        put_scaled_plus(low_nibbles(qs), d, m, &out[i]);
        put_scaled_plus(high_nibbles(qs), d, m, &out[i + 16]);
    }
}

// d:f16, qh:u32 (bit j: fifth bit of element j), qs[16]
void decode_q5_0(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kBlock, in += 22) {
        const float d = half_at(in);
        const auto qs = load<U8x16>(in + 6);
        put_scaled(low_nibbles(qs) | spread_bits(in + 2, 16), 16, d, &out[i]);
        put_scaled(high_nibbles(qs) | spread_bits(in + 4, 16), 16, d, &out[i + 16]);
    }
}

// d:f16, m:f16, qh:u32, qs[16]
void decode_q5_1(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kBlock, in += 24) {
        const float d = half_at(in);
        const float m = half_at(in + 2);
        const auto qs = load<U8x16>(in + 8);
        put_scaled_plus(low_nibbles(qs) | spread_bits(in + 4, 16), d, m, &out[i]);
        put_scaled_plus(high_nibbles(qs) | spread_bits(in + 6, 16), d, m, &out[i + 16]);
    }
}

// d:f16, qs[32] signed
void decode_q8_0(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kBlock, in += 34) {
        const float d = half_at(in);
        // Flipping the top bit of a signed byte adds 128.
        put_scaled(load<U8x16>(in + 2) ^ 0x80, 128, d, &out[i]);
        put_scaled(load<U8x16>(in + 18) ^ 0x80, 128, d, &out[i + 16]);
    }
}

}  // namespace lapidary::quant
