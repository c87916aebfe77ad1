// Sixteen bytes at a time, in the compiler's portable vector types: the same source becomes SSE on the test
// machine and simd128 in the browser, with the same bits coming out. Only for the sources of this room, and for
// train/products.cpp.
#pragma once

#include <cstdint>
#include <cstring>

namespace lapidary::quant {

using F32x4 = float __attribute__((vector_size(16)));
using I32x4 = int32_t __attribute__((vector_size(16)));
using U32x4 = uint32_t __attribute__((vector_size(16)));
using U16x8 = uint16_t __attribute__((vector_size(16)));
using I16x8 = int16_t __attribute__((vector_size(16)));
using I8x16 = int8_t __attribute__((vector_size(16)));
using U8x16 = uint8_t __attribute__((vector_size(16)));

// Blocks have odd sizes, so nothing in them is aligned: memcpy is the load that is allowed to be anywhere.
template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void store(void* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

inline F32x4 splat(float value) {
    return F32x4{value, value, value, value};
}

// Neither SSE nor V8's code for simd128 has byte shifts worth using. Shifting 16-bit lanes and masking away what
// crossed over from the neighbour is the same thing, provided that the caller's mask does so.
inline U8x16 shift_right(U8x16 bytes, int count) {
    return U8x16(U16x8(bytes) >> uint16_t(count));
}
inline U8x16 shift_left(U8x16 bytes, int count) {
    return U8x16(U16x8(bytes) << uint16_t(count));
}
inline U8x16 low_nibbles(U8x16 bytes) {
    return bytes & 15;
}
inline U8x16 high_nibbles(U8x16 bytes) {
    return shift_right(bytes, 4) & 15;
}

struct Floats16 {
    F32x4 part[4];
};

// q[i] − bias, as floats. The byte becomes the low end of the mantissa of 2²³, and subtracting 2²³ + bias leaves it:
// both steps are exact. A conversion instruction would do, but clang turns it into the unsigned one wherever it can
// prove q ≥ 0, and browsers emulate that one with half a dozen instructions (Q4_K decoded a third slower).
inline Floats16 widen(U8x16 q, int bias) {
    using U8x8 = uint8_t __attribute__((vector_size(8)));
    const U8x8 half[2] = {__builtin_shufflevector(q, q, 0, 1, 2, 3, 4, 5, 6, 7),
                          __builtin_shufflevector(q, q, 8, 9, 10, 11, 12, 13, 14, 15)};
    const U16x8 exponent = U16x8{} + 0x4B00;
    const F32x4 base = splat(float(0x800000 + bias));
    Floats16 result;
    for (int i = 0; i < 2; ++i) {
        const U16x8 wide = __builtin_convertvector(half[i], U16x8);
        result.part[2 * i] = F32x4(__builtin_shufflevector(wide, exponent, 0, 8, 1, 9, 2, 10, 3, 11)) - base;
        result.part[2 * i + 1] = F32x4(__builtin_shufflevector(wide, exponent, 4, 12, 5, 13, 6, 14, 7, 15)) - base;
    }
    return result;
}

// out[i] = scale · (q[i] − bias)
inline void put_scaled(U8x16 q, int bias, float scale, float* out) {
    const Floats16 wide = widen(q, bias);
    for (int i = 0; i < 4; ++i) store(out + 4 * i, splat(scale) * wide.part[i]);
}

// out[i] = scale · q[i] + offset
inline void put_scaled_plus(U8x16 q, float scale, float offset, float* out) {
    const Floats16 wide = widen(q, 0);
    for (int i = 0; i < 4; ++i) store(out + 4 * i, splat(scale) * wide.part[i] + splat(offset));
}

// result[i] = table[index[i]]; every index is below 16.
inline U8x16 look_up(U8x16 table, U8x16 index) {
#ifdef __wasm_simd128__
    return U8x16(__builtin_wasm_swizzle_i8x16(I8x16(table), I8x16(index)));
#else
    U8x16 result;
    for (int i = 0; i < 16; ++i) result[i] = table[index[i] & 15];
    return result;
#endif
}

// Lanes that do not exceed `low`, NaN among them, become `low`; then those above `high` become `high`.
inline F32x4 clamp(F32x4 value, float low, float high) {
    value = value > splat(low) ? value : splat(low);
    return value < splat(high) ? value : splat(high);
}

// To the nearest integer, ties to even, for |value| < 2²²: the sum has no room for a fraction.
inline F32x4 round_even(F32x4 value) {
    const F32x4 magic = splat(0x1.8p23f);
    return (value + magic) - magic;
}

}  // namespace lapidary::quant
