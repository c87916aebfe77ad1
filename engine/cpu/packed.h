// How many bytes things take in a machine's memory: packed matrices, and activations as digits.
#pragma once

#include "cpu/op.h"

namespace lapidary::cpu {

// Columns that share a scale as digits, and of which a group of eight packed rows has a block.
inline constexpr uint32_t kBlock = 256;

constexpr bool is_packed(Form form) {
    return form != Form::f32 && form != Form::f16 && form != Form::bf16 && form != Form::none;
}

// Bytes of eight rows: of so many columns, and of each so many.
struct Strip {
    uint32_t cols;
    uint32_t bytes;
};
constexpr Strip strip_of(Form form) {
    switch (form) {
        case Form::q4_k: return {256, 1024 + 64 + 64 + 32 + 32};        // nibbles, scales, minima, d, dmin
        case Form::q5_k: return {256, 1024 + 256 + 64 + 64 + 32 + 32};  // nibbles, fifth bits, scales, minima, d, dmin
        case Form::q6_k: return {256, 1536 + 128 + 32};                 // quants, scales, d
        case Form::q4_0: return {32, 128 + 32};                         // nibbles, d
        case Form::q5_0: return {32, 128 + 32 + 32};                    // nibbles, fifth bits, d
        case Form::q8_0: return {32, 256 + 32};                         // bytes, d
        case Form::i8: return {16, 128 + 32 + 32};                      // bytes, scales, minima
        default: return {1, 0};
    }
}
constexpr uint64_t group_bytes(Form form, uint64_t cols) {
    const Strip strip = strip_of(form);
    return cols / strip.cols * strip.bytes;
}
constexpr uint64_t float_bytes(Form form) {
    return form == Form::f32 ? 4 : 2;
}
// A multiple of 16.
constexpr uint64_t matrix_bytes(Form form, uint64_t rows, uint64_t cols) {
    if (is_packed(form)) return (rows + 7) / 8 * group_bytes(form, cols);
    return (rows * cols * float_bytes(form) + 15) / 16 * 16;
}

// A block of 256 activations as digits: the digits, what one is worth, the sums of each 16 and each 32 as floats, and of each 16
// digit by digit, in the lanes of a vector.
constexpr uint32_t digits_of(Digits digits) {
    return digits == Digits::two_i16 ? 2 : digits == Digits::three_i8 ? 3 : 1;
}
struct DigitBlock {
    uint32_t scale, sums, pair_sums, digit_sums, bytes;  // where each begins, and the whole
};
constexpr DigitBlock digit_block(Digits digits) {
    const uint32_t count = digits_of(digits);
    const uint32_t quants = kBlock * count * (digits == Digits::two_i16 ? 2 : 1);
    return {quants, quants + 16, quants + 80, quants + 112, quants + 112 + 16 * 16};
}
constexpr uint32_t digit_row_bytes(Digits digits, uint32_t cols) {
    return (cols + kBlock - 1) / kBlock * digit_block(digits).bytes;
}

}  // namespace lapidary::cpu
