// The k-quants: 256 elements with one or two f16 scales, divided into sub-blocks with small integer scales.
#include "base/half.h"
#include "quant/decode_families.h"
#include "quant/k_scales.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr size_t kBlock = 256;

float half_at(const uint8_t* at) {
    return f16_to_f32(load<uint16_t>(at));
}

// The sixteen 6-bit scales of Q3_K: low nibbles in bytes 0 … 7, the upper two bits packed four to a byte in 8 … 11.
int q3_scale(const uint8_t* scales, int k) {
    const int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
    const int high = scales[8 + k % 4] >> (2 * (k / 4)) & 3;
    return low | high << 4;
}

}  // namespace

// scales[16] (low nibble: scale, high nibble: minimum), qs[64], d:f16, dmin:f16
void decode_q2_k(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kBlock, in += 84) {
        const float d = half_at(in + 80);
        const float dmin = half_at(in + 82);
        float* to = &out[start];
        for (int sub = 0; sub < 16; ++sub, to += 16) {
            // Sub-blocks go through 32 bytes two at a time, each pair taking the next two bits.
            const auto qs = load<U8x16>(in + 16 + 32 * (sub / 8) + 16 * (sub % 2));
            const U8x16 q = shift_right(qs, sub % 8 / 2 * 2) & 3;
            put_scaled_plus(q, d * float(in[sub] & 15), -(dmin * float(in[sub] >> 4)), to);
        }
    }
}

// hmask[32], qs[64], scales[12], d:f16
void decode_q3_k(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kBlock, in += 110) {
        const float d = half_at(in + 108);
        float* to = &out[start];
        for (int sub = 0; sub < 16; ++sub, to += 16) {
            const auto qs = load<U8x16>(in + 32 + 32 * (sub / 8) + 16 * (sub % 2));
            const auto mask = load<U8x16>(in + 16 * (sub % 2));
            const U8x16 low = shift_right(qs, sub % 8 / 2 * 2) & 3;
            const U8x16 high = shift_left(shift_right(mask, sub / 2) & 1, 2);
            put_scaled(low | high, 4, d * float(q3_scale(in + 96, sub) - 32), to);
        }
    }
}

// d:f16, dmin:f16, scales[12], qs[128]
void decode_q4_k(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kBlock, in += 144) {
        const float d = half_at(in);
        const float dmin = half_at(in + 2);
        const KScales scales = unpack_k_scales(in + 4);
        const uint8_t* qs = in + 16;
        float* to = &out[start];
        for (int pair = 0; pair < 4; ++pair, qs += 32, to += 64) {
            const float scale_a = d * float(scales.scale[2 * pair]);
            const float scale_b = d * float(scales.scale[2 * pair + 1]);
            const float min_a = -(dmin * float(scales.min[2 * pair]));
            const float min_b = -(dmin * float(scales.min[2 * pair + 1]));
            for (int i = 0; i < 32; i += 16) {
                const auto bytes = load<U8x16>(qs + i);
                put_scaled_plus(low_nibbles(bytes), scale_a, min_a, to + i);
                put_scaled_plus(high_nibbles(bytes), scale_b, min_b, to + 32 + i);
            }
        }
    }
}

// d:f16, dmin:f16, scales[12], qh[32] (bit j: fifth bit in sub-block j), qs[128]
void decode_q5_k(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kBlock, in += 176) {
        const float d = half_at(in);
        const float dmin = half_at(in + 2);
        const KScales scales = unpack_k_scales(in + 4);
        const uint8_t* qs = in + 48;
        float* to = &out[start];
        for (int pair = 0; pair < 4; ++pair, qs += 32, to += 64) {
            const float scale_a = d * float(scales.scale[2 * pair]);
            const float scale_b = d * float(scales.scale[2 * pair + 1]);
            const float min_a = -(dmin * float(scales.min[2 * pair]));
            const float min_b = -(dmin * float(scales.min[2 * pair + 1]));
            for (int i = 0; i < 32; i += 16) {
                const auto bytes = load<U8x16>(qs + i);
                const U8x16 fifth = shift_right(load<U8x16>(in + 16 + i), 2 * pair);
                const U8x16 a = low_nibbles(bytes) | shift_left(fifth & 1, 4);
                const U8x16 b = high_nibbles(bytes) | shift_left(fifth & 2, 3);
                put_scaled_plus(a, scale_a, min_a, to + i);
                put_scaled_plus(b, scale_b, min_b, to + 32 + i);
            }
        }
    }
}

// ql[128], qh[64], scales[16] signed, d:f16
void decode_q6_k(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kBlock, in += 210) {
        const float d = half_at(in + 208);
        float* to = &out[start];
        for (int half = 0; half < 2; ++half, to += 128) {
            const uint8_t* ql = in + 64 * half;
            const uint8_t* qh = in + 128 + 32 * half;
            const uint8_t* scales = in + 192 + 8 * half;
            for (int part = 0; part < 2; ++part) {
                const auto a = load<U8x16>(ql + 16 * part);
                const auto b = load<U8x16>(ql + 32 + 16 * part);
                const auto high = load<U8x16>(qh + 16 * part);
                // The upper two bits, moved straight to where they belong (bits 4 and 5).
                const U8x16 q[4] = {low_nibbles(a) | shift_left(high & 3, 4), low_nibbles(b) | shift_left(high & 12, 2),
                                    high_nibbles(a) | (high & 48), high_nibbles(b) | shift_right(high & 192, 2)};
                for (int i = 0; i < 4; ++i) {
                    const float scale = d * float(int8_t(scales[2 * i + part]));
                    put_scaled(q[i], 32, scale, to + 32 * i + 16 * part);
                }
            }
        }
    }
}

}  // namespace lapidary::quant
