// Packed matrices, eight rows at a time with a row in each lane: four neighbouring weights of a row are the four bytes of a lane, so
// a group of four activations is one broadcast and no sum ever runs across lanes. What a format gives:
//   kSub      columns that share a scale
//   kOffset   what is taken off a quant
//   kHasMin   whether something is added to each weight: weight = scale · (quant − offset) + min
//   each_quad(w, j, f)  f(i, rows 0 … 3, rows 4 … 7) for the quads of four columns of sub-block j
//   scale(w, j, half), min(w, j, half)  of four rows; where kHasUnits, to be multiplied with
//   unit(w, half), min_unit(w, half)    of four rows of all sub-blocks
// w: a block of 256 columns, or what is left of it at the end of a row.
#pragma once

#include "cpu/kernels/simd.h"
#include "cpu/packed.h"

namespace lapidary::cpu {

#define LAPIDARY_INLINE [[gnu::always_inline]] static inline

// Of a byte in all sixteen.
inline B16 splat_byte(uint32_t byte) {
    return B16(U4{} + in_register(byte * 0x01010101u));
}
inline B16 low_nibbles(B16 v) {
    return v & splat_byte(15);
}
inline B16 high_nibbles(B16 v) {
    return B16(U8(v) >> 4) & splat_byte(15);
}

// Of 32 columns: four times sixteen bytes for each half of the rows, quad 2 i in the low nibbles, quad 2 i + 1 in the high ones.
template <class F>
LAPIDARY_INLINE void each_nibble_quad(const uint8_t* q, F&& f) {
    LAPIDARY_UNROLL
    for (int i = 0; i < 4; ++i) {
        const auto a = load<B16>(q + 32 * i);
        const auto b = load<B16>(q + 32 * i + 16);
        f(2 * i, low_nibbles(a), low_nibbles(b));
        f(2 * i + 1, high_nibbles(a), high_nibbles(b));
    }
}

struct Q4K {
    static constexpr Form kForm = Form::q4_k;
    static constexpr int kSub = 32;
    static constexpr int kOffset = 0;
    static constexpr bool kHasMin = true;
    static constexpr bool kHasUnits = true;
    static constexpr bool kSevenBits = true;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        each_nibble_quad(w + 128 * j, f);
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return bytes_to_float(w + 1024 + 8 * j + 4 * half); }
    LAPIDARY_INLINE F4 min(const uint8_t* w, int j, int half) { return bytes_to_float(w + 1088 + 8 * j + 4 * half); }
    LAPIDARY_INLINE F4 unit(const uint8_t* w, int half) { return load<F4>(w + 1152 + 16 * half); }
    LAPIDARY_INLINE F4 min_unit(const uint8_t* w, int half) { return -load<F4>(w + 1184 + 16 * half); }
};

// The same with a fifth bit: bit i of a byte is of quad i.
template <class F>
LAPIDARY_INLINE void each_five_bit_quad(const uint8_t* q, const uint8_t* fifth, F&& f) {
    const auto top_a = load<U8>(fifth);
    const auto top_b = load<U8>(fifth + 16);
    const auto bit = [](U8 top, int i) __attribute__((always_inline)) {
        return B16(i < 4 ? top << (4 - i) : top >> (i - 4)) & splat_byte(16);
    };
    each_nibble_quad(
        q, [&](int i, B16 a, B16 b) __attribute__((always_inline)) { f(i, a | bit(top_a, i), b | bit(top_b, i)); });
}

struct Q5K {
    static constexpr Form kForm = Form::q5_k;
    static constexpr int kSub = 32;
    static constexpr int kOffset = 0;
    static constexpr bool kHasMin = true;
    static constexpr bool kHasUnits = true;
    static constexpr bool kSevenBits = true;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        each_five_bit_quad(w + 128 * j, w + 1024 + 32 * j, f);
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return bytes_to_float(w + 1280 + 8 * j + 4 * half); }
    LAPIDARY_INLINE F4 min(const uint8_t* w, int j, int half) { return bytes_to_float(w + 1344 + 8 * j + 4 * half); }
    LAPIDARY_INLINE F4 unit(const uint8_t* w, int half) { return load<F4>(w + 1408 + 16 * half); }
    LAPIDARY_INLINE F4 min_unit(const uint8_t* w, int half) { return -load<F4>(w + 1440 + 16 * half); }
};

// Of each 16 columns and half of the rows: quads 0 and 1 in the nibbles of sixteen bytes, 2 and 3 in those of sixteen more, and
// everybody's upper two bits in sixteen.
struct Q6K {
    static constexpr Form kForm = Form::q6_k;
    static constexpr int kSub = 16;
    static constexpr int kOffset = 32;
    static constexpr bool kHasMin = false;
    static constexpr bool kHasUnits = true;
    static constexpr bool kSevenBits = true;
    // The four quads of half of the rows.
    struct Half {
        B16 nibbles[2];
        U8 top;
        [[gnu::always_inline]] explicit Half(const uint8_t* q)
            : nibbles{load<B16>(q), load<B16>(q + 16)}, top(load<U8>(q + 32)) {}
        [[gnu::always_inline]] B16 quad(int i) const {
            const B16 low = i % 2 == 0 ? low_nibbles(nibbles[i / 2]) : high_nibbles(nibbles[i / 2]);
            const U8 moved = i == 0 ? top << 4 : i == 1 ? top << 2 : i == 2 ? top : top >> 2;
            return low | (B16(moved) & splat_byte(48));
        }
    };
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        const Half a(w + 96 * j), b(w + 96 * j + 48);
        LAPIDARY_UNROLL
        for (int i = 0; i < 4; ++i) f(i, a.quad(i), b.quad(i));
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return signed_to_float(w + 1536 + 8 * j + 4 * half); }
    LAPIDARY_INLINE F4 unit(const uint8_t* w, int half) { return load<F4>(w + 1664 + 16 * half); }
};

struct Q40 {
    static constexpr Form kForm = Form::q4_0;
    static constexpr int kSub = 32;
    static constexpr int kOffset = 8;
    static constexpr bool kHasMin = false;
    static constexpr bool kHasUnits = false;
    static constexpr bool kSevenBits = true;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        each_nibble_quad(w + 160 * j, f);
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return load<F4>(w + 160 * j + 128 + 16 * half); }
};

struct Q50 {
    static constexpr Form kForm = Form::q5_0;
    static constexpr int kSub = 32;
    static constexpr int kOffset = 16;
    static constexpr bool kHasMin = false;
    static constexpr bool kHasUnits = false;
    static constexpr bool kSevenBits = true;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        each_five_bit_quad(w + 192 * j, w + 192 * j + 128, f);
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return load<F4>(w + 192 * j + 160 + 16 * half); }
};

// Bytes are 128 more than what they stand for.
struct Q80 {
    static constexpr Form kForm = Form::q8_0;
    static constexpr int kSub = 32;
    static constexpr int kOffset = 128;
    static constexpr bool kHasMin = false;
    static constexpr bool kHasUnits = false;
    static constexpr bool kSevenBits = false;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        const uint8_t* q = w + 288 * j;
        LAPIDARY_UNROLL
        for (int i = 0; i < 8; ++i) f(i, load<B16>(q + 32 * i), load<B16>(q + 32 * i + 16));
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return load<F4>(w + 288 * j + 256 + 16 * half); }
};

// All others, exactly: bytes as in Q80, with a scale and a minimum for each 16.
struct Bytes {
    static constexpr Form kForm = Form::i8;
    static constexpr int kSub = 16;
    static constexpr int kOffset = 128;
    static constexpr bool kHasMin = true;
    static constexpr bool kHasUnits = false;
    static constexpr bool kSevenBits = false;
    template <class F>
    LAPIDARY_INLINE void each_quad(const uint8_t* w, int j, F&& f) {
        const uint8_t* q = w + 192 * j;
        LAPIDARY_UNROLL
        for (int i = 0; i < 4; ++i) f(i, load<B16>(q + 32 * i), load<B16>(q + 32 * i + 16));
    }
    LAPIDARY_INLINE F4 scale(const uint8_t* w, int j, int half) { return load<F4>(w + 192 * j + 128 + 16 * half); }
    LAPIDARY_INLINE F4 min(const uint8_t* w, int j, int half) { return load<F4>(w + 192 * j + 160 + 16 * half); }
};

// Calls f with the format as a type.
template <class F>
inline void with_format(Form form, F&& f) {
    switch (form) {
        case Form::q4_k: return f(Q4K{});
        case Form::q5_k: return f(Q5K{});
        case Form::q6_k: return f(Q6K{});
        case Form::q4_0: return f(Q40{});
        case Form::q5_0: return f(Q50{});
        case Form::q8_0: return f(Q80{});
        case Form::i8: return f(Bytes{});
        default: return;
    }
}

}  // namespace lapidary::cpu
