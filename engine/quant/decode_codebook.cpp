#include <bit>

#include "base/half.h"
#include "quant/decode_families.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

constexpr size_t kSmallBlock = 32;
constexpr size_t kLargeBlock = 256;

// Sixteen levels, each stored with `bias` added so that it is an unsigned byte.
struct Codebook {
    U8x16 level;
    int bias;
};

constexpr Codebook biased(I8x16 levels) {
    return {.level = U8x16(levels) + 128, .bias = 128};
}

// The levels of IQ4: dense around zero, where most weights are.
constexpr Codebook kUneven = biased(I8x16{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113});
// E2M1, a sign, two exponent bits and one of mantissa, times two so that it is a whole number.
constexpr Codebook kFp4 = biased(I8x16{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12});

// Half of 2^(e − 127), because kFp4 is doubled. The two smallest are subnormal.
float mxfp4_scale(uint8_t e) {
    return std::bit_cast<float>(e >= 2 ? uint32_t(e - 1) << 23 : 0x00200000u << e);
}

void put_looked_up(const Codebook& book, const uint8_t* qs, float scale, float* out) {
    const auto bytes = load<U8x16>(qs);
    put_scaled(look_up(book.level, low_nibbles(bytes)), book.bias, scale, out);
    put_scaled(look_up(book.level, high_nibbles(bytes)), book.bias, scale, out + 16);
}

}  // namespace

// d:f16, qs[16]
void decode_iq4_nl(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kSmallBlock, in += 18) {
        put_looked_up(kUneven, in + 2, f16_to_f32(load<uint16_t>(in)), &out[i]);
    }
}

// d:f16, scales_h:u16, scales_l[4], qs[128]
void decode_iq4_xs(const uint8_t* in, std::span<float> out) {
    for (size_t start = 0; start < out.size(); start += kLargeBlock, in += 136) {
        const float d = f16_to_f32(load<uint16_t>(in));
        const auto high = load<uint16_t>(in + 2);
        for (int sub = 0; sub < 8; ++sub) {
            const int scale = (in[4 + sub / 2] >> (4 * (sub % 2)) & 15) | (high >> (2 * sub) & 3) << 4;
            put_looked_up(kUneven, in + 8 + 16 * sub, d * float(scale - 32), &out[start + size_t(32) * sub]);
        }
    }
}

// e:u8, qs[16]
void decode_mxfp4(const uint8_t* in, std::span<float> out) {
    for (size_t i = 0; i < out.size(); i += kSmallBlock, in += 17) {
        put_looked_up(kFp4, in + 1, mxfp4_scale(in[0]), &out[i]);
    }
}

}  // namespace lapidary::quant
