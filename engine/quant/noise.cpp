#include "quant/noise.h"

#include <algorithm>
#include <array>

#include "base/half.h"
#include "quant/simd.h"

namespace lapidary::quant {
namespace {

// Random bits, four words at a time: a hash of the position, so that any position can be the first.
class Bits {
  public:
    Bits(uint64_t seed, uint64_t first_word)
        : at_(U32x4{0, 1, 2, 3} + uint32_t(first_word)), low_(uint32_t(seed)), high_(uint32_t(seed >> 32)) {}

    U32x4 next() {
        // Were the seed only added to the position, two seeds would give the same sequence, shifted: so half of it comes in
        // later.
        U32x4 x = at_ * 0x9E3779B1u + low_;
        at_ += 4;
        x = (x ^ x >> 16) * 0x85EBCA6Bu + high_;
        x = (x ^ x >> 15) * 0xC2B2AE35u;
        return x ^ x >> 16;
    }

  private:
    U32x4 at_;
    uint32_t low_;
    uint32_t high_;
};

// The standard deviation of n neighbouring integers that are equally likely: sqrt((n² − 1) / 12).
constexpr float kDeviationOf16 = 4.6098f;
constexpr float kDeviationOf32 = 9.2331f;
constexpr float kDeviationOf64 = 18.4730f;
constexpr float kDeviationOf255 = 73.6116f;

// Scales of blocks, as halves: 16 to choose from, between 0.9 and 1.1 of the wanted one. Were they all equal, a kernel
// that reads the scale of the wrong block would go unnoticed.
using Halves = std::array<uint16_t, 16>;

float variation(size_t i) {
    const size_t step = i / 2;  // 0 … 7
    return 0.9f + 0.2f / 7 * float(step);
}

// Every second one is negative: unsigned integers less a bias have a mean of −½, which this cancels.
Halves signed_scales(float scale) {
    Halves halves;
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = f32_to_f16(variation(i) * (i % 2 == 0 ? scale : -scale));
    return halves;
}

// d:f16, qs[16]
void fill_q4_0(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    const Halves scales = signed_scales(noise.deviation / kDeviationOf16);
    Bits bits(noise.seed, first * 8);
    for (uint8_t* to = out.data(); to != out.data() + out.size(); to += 18) {
        store(to, scales[bits.next()[0] & 15]);
        store(to + 2, bits.next());
    }
}

// d:f16, qh:u32, qs[16]
void fill_q5_0(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    const Halves scales = signed_scales(noise.deviation / kDeviationOf32);
    Bits bits(noise.seed, first * 8);
    for (uint8_t* to = out.data(); to != out.data() + out.size(); to += 22) {
        const U32x4 word = bits.next();
        store(to, scales[word[0] & 15]);
        store(to + 2, uint32_t(word[1]));
        store(to + 6, bits.next());
    }
}

// d:f16, qs[32] signed
void fill_q8_0(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    const Halves scales = signed_scales(noise.deviation / kDeviationOf255);
    Bits bits(noise.seed, first * 12);
    // Encoders never write −128, and readers may count on that.
    const auto without_minus_128 = [](U32x4 word) {
        const auto q = I8x16(word);
        return q - I8x16(q == I8x16{} + int8_t(-128));
    };
    for (uint8_t* to = out.data(); to != out.data() + out.size(); to += 34) {
        store(to, scales[bits.next()[0] & 15]);
        store(to + 2, without_minus_128(bits.next()));
        store(to + 18, without_minus_128(bits.next()));
    }
}

// d:f16, dmin:f16, scales[12], qs[128]
void fill_q4_k(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    // Sub-blocks have scales from 48 to 63, and minima equal to them: with dmin = 7.5 d the mean is 0.
    constexpr float kScale = 55.69f;  // root of the mean square
    Halves d;
    Halves dmin;
    for (size_t i = 0; i < d.size(); ++i) {
        d[i] = f32_to_f16(variation(i) * noise.deviation / (kDeviationOf16 * kScale));
        dmin[i] = f32_to_f16(7.5f * f16_to_f32(d[i]));
    }
    Bits bits(noise.seed, first * 36);
    for (uint8_t* to = out.data(); to != out.data() + out.size(); to += 144) {
        const U32x4 word = bits.next();
        const uint32_t choice = word[0] & 15;
        store(to, d[choice]);
        store(to + 2, dmin[choice]);
        // Four random bits a scale, packed as in k_scales.h: the upper two bits of all of them are set.
        const uint32_t first_four = word[1] | 0xF0F0F0F0u;
        store(to + 4, first_four);
        store(to + 8, first_four);
        store(to + 12, uint32_t((word[2] & 0x0F0F0F0Fu) * 17));
        for (int i = 0; i < 8; ++i) store(to + 16 + 16 * i, bits.next());
    }
}

// ql[128], qh[64], scales[16] signed, d:f16
void fill_q6_k(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    // Sub-blocks have scales of either sign with a size from 64 to 127.
    constexpr float kScale = 97.27f;  // root of the mean square
    const Halves d = signed_scales(noise.deviation / (kDeviationOf64 * kScale));
    Bits bits(noise.seed, first * 56);
    for (uint8_t* to = out.data(); to != out.data() + out.size(); to += 210) {
        for (int i = 0; i < 12; ++i) store(to + 16 * i, bits.next());
        const auto random = I8x16(bits.next());
        const auto negative = I8x16(random < 0);
        store(to + 192, (((random & 63) | 64) ^ negative) - negative);
        store(to + 208, d[bits.next()[0] & 15]);
    }
}

// f32_to_bf16() and f32_to_f16() of four finite numbers far below the largest half.
U32x4 to_bf16(F32x4 value) {
    const auto bits = U32x4(value);
    return (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
}

U32x4 to_f16(F32x4 value) {
    const auto bits = U32x4(value);
    const U32x4 magnitude = bits & 0x7FFFFFFFu;
    const U32x4 subnormal = U32x4(F32x4(magnitude) + 0.5f) - 0x3F000000u;
    const U32x4 normal = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    const auto is_small = U32x4(magnitude < 0x38800000u);
    return (bits >> 16 & 0x8000u) | (subnormal & is_small) | (normal & ~is_small);
}

// The sum of a word's four bytes, 0 … 1020, is nearly normal.
F32x4 bell(U32x4 word, float scale) {
    const U32x4 pairs = (word & 0x00FF00FFu) + (word >> 8 & 0x00FF00FFu);
    const U32x4 sums = (pairs & 0xFFFFu) + (pairs >> 16);
    return __builtin_convertvector(I32x4(sums) - 510, F32x4) * scale;
}
constexpr float kDeviationOfBell = 147.801f;

// make() gives the next sixteen bytes.
template <class Make>
void fill_plain(std::span<uint8_t> out, Make make) {
    size_t at = 0;
    for (; at + 16 <= out.size(); at += 16) store(&out[at], make());
    if (at == out.size()) return;
    const auto last = make();
    std::memcpy(&out[at], &last, out.size() - at);
}

void fill_f32(const Noise& noise, uint64_t first, std::span<uint8_t> out) {
    Bits bits(noise.seed, first);
    const float scale = noise.deviation / kDeviationOfBell;
    fill_plain(out, [&] { return bell(bits.next(), scale); });
}

template <class Encode>
void fill_halves(const Noise& noise, uint64_t first, std::span<uint8_t> out, Encode encode) {
    Bits bits(noise.seed, first);
    const float scale = noise.deviation / kDeviationOfBell;
    fill_plain(out, [&] {
        const auto low = U16x8(encode(bell(bits.next(), scale)));
        const auto high = U16x8(encode(bell(bits.next(), scale)));
        return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
    });
}

}  // namespace

void fill_noise(TensorType type, const Noise& noise, uint64_t first_block, std::span<uint8_t> out) {
    switch (type) {
        case TensorType::f32: return fill_f32(noise, first_block, out);
        case TensorType::f16: return fill_halves(noise, first_block, out, to_f16);
        case TensorType::bf16: return fill_halves(noise, first_block, out, to_bf16);
        case TensorType::q4_0: return fill_q4_0(noise, first_block, out);
        case TensorType::q5_0: return fill_q5_0(noise, first_block, out);
        case TensorType::q8_0: return fill_q8_0(noise, first_block, out);
        case TensorType::q4_k: return fill_q4_k(noise, first_block, out);
        case TensorType::q6_k: return fill_q6_k(noise, first_block, out);
        default: return;  // no encoder makes the others, so no model we write has them
    }
}

}  // namespace lapidary::quant
