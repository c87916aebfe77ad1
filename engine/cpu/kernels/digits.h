// Activations as digits: of 256 neighbours, x = scale · n with whole numbers n of 24 bits or a little more, and n as signed digits.
// What a kind of digits gives:
//   Weights, prepare(bytes)  a quad of four rows as it is multiplied
//   Sums, start, add, value  Σ digit · weight of a sub-block, digit by digit, and what that is worth; kStep: the second digit
//                            start: what each begins with, in the lanes of a vector
#pragma once

#include "cpu/kernels/simd.h"
#include "cpu/packed.h"

namespace lapidary::cpu {

// n = high · 2¹⁴ + low, |low| ≤ 2¹³. In memory of each quad: columns 0 and 2 of the low digit, 1 and 3, then of the high one.
struct TwoI16 {
    static constexpr Digits kDigits = Digits::two_i16;
    static constexpr DigitBlock kLayout = digit_block(kDigits);
    static constexpr float kLargest = 134209536.0f;  // 2²⁷ − 2¹³
    struct Weights {
        I8 even, odd;
    };
    struct Sums {
        I4 low, high;
    };
    [[gnu::always_inline]] static inline Weights prepare(B16 w) { return {I8(U8(w) & 255), I8(U8(w) >> 8)}; }
    [[gnu::always_inline]] static inline Sums start(I4 sums) { return {I4{} + sums[0], I4{} + sums[1]}; }
    [[gnu::always_inline]] static inline void add(const uint8_t* x, const Weights& a, const Weights& b, Sums& s,
                                                  Sums& t) {
        const I8 low_even = I8(splat_word(x)), low_odd = I8(splat_word(x + 4));
        const I8 high_even = I8(splat_word(x + 8)), high_odd = I8(splat_word(x + 12));
        s.low = dot16(low_odd, a.odd, dot16(low_even, a.even, s.low));
        t.low = dot16(low_odd, b.odd, dot16(low_even, b.even, t.low));
        s.high = dot16(high_odd, a.odd, dot16(high_even, a.even, s.high));
        t.high = dot16(high_odd, b.odd, dot16(high_even, b.even, t.high));
        settle(s.low), settle(t.low), settle(s.high), settle(t.high);
    }
    static constexpr float kStep = 16384.0f;
    [[gnu::always_inline]] static inline F4 value(const Sums& s, F4 step) {
        return madd(to_float(s.high), step, to_float(s.low));
    }
    static constexpr int kQuadBytes = 16;
    // Writes the digits of a quad.
    static inline void put(uint8_t* x, I4 n) {
        const I4 low = (n << 18) >> 18;
        const I4 high = (n - low) >> 14;
        const int16_t out[8] = {int16_t(low[0]),  int16_t(low[2]),  int16_t(low[1]),  int16_t(low[3]),
                                int16_t(high[0]), int16_t(high[2]), int16_t(high[1]), int16_t(high[3])};
        __builtin_memcpy(x, out, 16);
    }
    static inline void digit_sums(I4 n, int32_t* sums) {
        const I4 low = (n << 18) >> 18;
        const I4 high = (n - low) >> 14;
        sums[0] += low[0] + low[1] + low[2] + low[3];
        sums[1] += high[0] + high[1] + high[2] + high[3];
    }
    static inline float sum_value(const int32_t* sums) { return float(sums[1]) * 16384.0f + float(sums[0]); }
};

// kCount signed bytes: n = Σ digit[l] · 256^l. In memory of each quad: four bytes of each digit, the lowest first.
template <int kCount>
struct I8Digits {
    static constexpr Digits kDigits = kCount == 3 ? Digits::three_i8 : Digits::one_i8;
    static constexpr DigitBlock kLayout = digit_block(kDigits);
    // Leaves room for what the lower digits carry.
    static constexpr float kLargest = kCount == 3 ? 8323072.0f : 127.0f;  // 2²³ − 2¹⁶
    using Weights = B16;
    struct Sums {
        I4 digit[kCount];
    };
    [[gnu::always_inline]] static inline Weights prepare(B16 w) { return w; }
    [[gnu::always_inline]] static inline Sums start(I4 sums) {
        Sums out;
        LAPIDARY_UNROLL
        for (int l = 0; l < kCount; ++l) out.digit[l] = I4{} + sums[l];
        return out;
    }
    [[gnu::always_inline]] static inline void add(const uint8_t* x, const Weights& a, const Weights& b, Sums& s,
                                                  Sums& t) {
        LAPIDARY_UNROLL
        for (int l = 0; l < kCount; ++l) {
            const B16 digits = B16(splat_word(x + 4 * l));
            s.digit[l] = dot8(digits, a, s.digit[l]);
            t.digit[l] = dot8(digits, b, t.digit[l]);
            settle(s.digit[l]);
            settle(t.digit[l]);
        }
    }
    static constexpr float kStep = 256.0f;
    [[gnu::always_inline]] static inline F4 value(const Sums& s, [[maybe_unused]] F4 step) {
        if constexpr (kCount == 1) {
            return to_float(s.digit[0]);
        } else {
            // The upper two fit into an i32 together, so these are the only roundings of the sub-block.
            return madd(to_float((s.digit[2] << 8) + s.digit[1]), step, to_float(s.digit[0]));
        }
    }
    static constexpr int kQuadBytes = 4 * kCount;
    static inline void put(uint8_t* x, I4 n) {
        for (int l = 0; l < kCount; ++l) {
            const I4 digit = (n << 24) >> 24;
            const uint8_t out[4] = {uint8_t(digit[0]), uint8_t(digit[1]), uint8_t(digit[2]), uint8_t(digit[3])};
            __builtin_memcpy(x + 4 * l, out, 4);
            n = (n - digit) >> 8;
        }
    }
    static inline void digit_sums(I4 n, int32_t* sums) {
        for (int l = 0; l < kCount; ++l) {
            const I4 digit = (n << 24) >> 24;
            sums[l] += digit[0] + digit[1] + digit[2] + digit[3];
            n = (n - digit) >> 8;
        }
    }
    static inline float sum_value(const int32_t* sums) {
        if constexpr (kCount == 1) return float(sums[0]);
        return float(sums[kCount - 1] * 256 + sums[kCount / 2]) * 256.0f + float(sums[0]);
    }
};
using ThreeI8 = I8Digits<3>;
using OneI8 = I8Digits<1>;

// Calls f with the digits as a type. A module without dot8 knows the first kind only.
template <class F>
inline void with_digits(Digits digits, F&& f) {
    switch (digits) {
        case Digits::two_i16: return f(TwoI16{});
#ifndef LAPIDARY_CPU_BASELINE
        case Digits::three_i8: return f(ThreeI8{});
        case Digits::one_i8: return f(OneI8{});
#endif
        default: return;
    }
}

}  // namespace lapidary::cpu
