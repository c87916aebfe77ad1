// Sixteen bytes at a time, for code without a C++ library. In WebAssembly the instructions by name; elsewhere the same said in
// plain C++, for the sanitizers and for tests.
#pragma once

#include <stddef.h>
#include <stdint.h>
#ifdef __wasm_simd128__
#include <wasm_simd128.h>
#endif

// Loops over vectors that lie in registers. Elsewhere than in the modules that only costs the compiler minutes.
#ifdef LAPIDARY_CPU_MODULE
#define LAPIDARY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LAPIDARY_UNROLL _Pragma("clang loop unroll(disable)")
#endif

namespace lapidary::cpu {

using F4 = float __attribute__((vector_size(16)));
using I4 = int32_t __attribute__((vector_size(16)));
using U4 = uint32_t __attribute__((vector_size(16)));
using I8 = int16_t __attribute__((vector_size(16)));
using U8 = uint16_t __attribute__((vector_size(16)));
using B16 = uint8_t __attribute__((vector_size(16)));
using S16 = int8_t __attribute__((vector_size(16)));

template <class T>
[[gnu::always_inline]] inline T load(const void* from) {
    T value;
    __builtin_memcpy(&value, from, sizeof(T));
    return value;
}
template <class T>
[[gnu::always_inline]] inline void store(void* to, T value) {
    __builtin_memcpy(to, &value, sizeof(T));
}
inline F4 splat(float v) {
    return F4{v, v, v, v};
}
inline I4 splat_word(const void* from) {
#ifdef __wasm_simd128__
    return I4(wasm_v128_load32_splat(from));
#else
    const auto v = load<int32_t>(from);
    return I4{v, v, v, v};
#endif
}
inline F4 splat_at(const void* from) {
    return F4(splat_word(from));
}
// The same value, which the compiler does not know any more: it makes constants anew wherever they are used, in three instructions.
template <class T>
[[gnu::always_inline]] inline T in_register(T value) {
#ifdef LAPIDARY_CPU_MODULE
    __asm__("" : "+r"(value));
#endif
    return value;
}
inline F4 to_float(I4 v) {
    return __builtin_convertvector(v, F4);
}

// a · b + c, rounded once where relaxed SIMD says how.
[[gnu::always_inline]] inline F4 madd(F4 a, F4 b, F4 c) {
#ifdef __wasm_relaxed_simd__
    return F4(wasm_f32x4_relaxed_madd(v128_t(a), v128_t(b), v128_t(c)));
#else
    return a * b + c;
#endif
}

// c + Σ of the two products in each lane.
[[gnu::always_inline]] inline I4 dot16(I8 a, I8 b, I4 c) {
#ifdef __wasm_simd128__
    return I4(wasm_i32x4_add(wasm_i32x4_dot_i16x8(v128_t(a), v128_t(b)), v128_t(c)));
#else
    const I4 even = ((I4(a) << 16) >> 16) * ((I4(b) << 16) >> 16);
    const I4 odd = (I4(a) >> 16) * (I4(b) >> 16);
    return c + even + odd;
#endif
}

// c + Σ of the four products in each lane. `weights` are 0 … 127: relaxed SIMD promises exact sums for seven bits only.
[[gnu::always_inline]] inline I4 dot8(B16 digits, B16 weights, I4 c) {
#ifdef __wasm_relaxed_simd__
    return I4(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(v128_t(digits), v128_t(weights), v128_t(c)));
#else
    const I8 even = ((I8(digits) << 8) >> 8) * I8(U8(weights) & 255);
    const I8 odd = (I8(digits) >> 8) * I8(U8(weights) >> 8);
    return c + ((I4(even) << 16) >> 16) + (I4(even) >> 16) + ((I4(odd) << 16) >> 16) + (I4(odd) >> 16);
#endif
}

// Says that a value is needed here already. The compiler would rather compute one sum from its beginning to its end and then the
// next, and keep all their operands until then, of which there are more than registers. To engines it says nothing: what is
// taken out here is used by nobody.
[[gnu::always_inline]] inline void settle([[maybe_unused]] I4 v) {
#ifdef LAPIDARY_CPU_MODULE
    __asm__ volatile("" : : "r"(v[0]));
#endif
}

inline float sum_of(F4 v) {
    return (v[0] + v[2]) + (v[1] + v[3]);
}

// Four bytes as floats.
inline F4 bytes_to_float(const uint8_t* from) {
#ifdef __wasm_simd128__
    const v128_t bytes = wasm_v128_load32_zero(from);
    return F4(wasm_f32x4_convert_i32x4(wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(bytes))));
#else
    return F4{float(from[0]), float(from[1]), float(from[2]), float(from[3])};
#endif
}
inline F4 signed_to_float(const uint8_t* from) {
#ifdef __wasm_simd128__
    const v128_t bytes = wasm_v128_load32_zero(from);
    return F4(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(bytes))));
#else
    return F4{float(int8_t(from[0])), float(int8_t(from[1])), float(int8_t(from[2])), float(int8_t(from[3]))};
#endif
}

// Four of two bytes, in the lower half of each lane.
inline U4 four_halves(const void* from) {
#ifdef __wasm_simd128__
    return U4(wasm_u32x4_load16x4(from));
#else
    uint16_t w[4];
    __builtin_memcpy(w, from, 8);
    return U4{w[0], w[1], w[2], w[3]};
#endif
}

inline F4 halves_to_float(U4 half) {
    const auto all = [](int32_t bits) { return I4{} + in_register(bits); };
    const I4 size = I4(half << 13) & all(0x0FFFE000);
    // As an exponent of more bits reads it: 2¹¹² too small. Infinities and what is no number stay so.
    const I4 endless = (size > all(0x0F7FFFFF)) & all(0x7F800000);
    return F4((I4(half << 16) & all(-0x7FFFFFFF - 1)) | endless | I4(F4(size) * splat(in_register(0x1p112f))));
}

inline float half_to_float(uint16_t half) {
    const uint32_t sign = uint32_t(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 31u;
    const uint32_t mantissa = half & 1023u;
    uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
    if (exponent == 31) bits = sign | 0x7F800000u | mantissa << 13;
    if (exponent == 0) {
        const float magnitude = float(mantissa) * 0x1p-24f;
        bits = sign | __builtin_bit_cast(uint32_t, magnitude);
    }
    return __builtin_bit_cast(float, bits);
}

// Eight running sums for each of kCount vectors y, then a tree; the same bits for any kCount. four(i): x from i on; one(i): x at i.
template <int kCount, class Four, class One>
[[gnu::always_inline]] inline void dots_of(Four&& four, One&& one, const float* const* y, uint32_t n, float* out) {
    F4 even[kCount] = {}, odd[kCount] = {};
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const F4 a = four(i);
        const F4 b = four(i + 4);
        LAPIDARY_UNROLL
        for (int k = 0; k < kCount; ++k) {
            even[k] = madd(a, load<F4>(y[k] + i), even[k]);
            odd[k] = madd(b, load<F4>(y[k] + i + 4), odd[k]);
        }
    }
    LAPIDARY_UNROLL
    for (int k = 0; k < kCount; ++k) {
        float sum = sum_of(even[k] + odd[k]);
        for (uint32_t j = i; j < n; ++j) sum += one(j) * y[k][j];
        out[k] = sum;
    }
}
template <int kCount>
[[gnu::always_inline]] inline void dots_of(const float* x, const float* const* y, uint32_t n, float* out) {
    const auto four = [&] [[gnu::always_inline]] (uint32_t i) { return load<F4>(x + i); };
    dots_of<kCount>(four, [&](uint32_t i) { return x[i]; }, y, n, out);
}

inline float dot_floats(const float* a, const float* b, uint32_t n) {
    float out;
    dots_of<1>(a, &b, n, &out);
    return out;
}

// out[k] = x · y(k) for all k below `count`.
template <class Y>
inline void dots(const float* x, uint32_t n, uint32_t count, Y&& y, float* out) {
    uint32_t k = 0;
    for (; k + 4 <= count; k += 4) {
        const float* const four[4] = {y(k), y(k + 1), y(k + 2), y(k + 3)};
        dots_of<4>(x, four, n, out + k);
    }
    for (; k < count; ++k) out[k] = dot_floats(x, y(k), n);
}

}  // namespace lapidary::cpu
