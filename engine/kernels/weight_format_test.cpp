// Repacked weights decode to the same numbers. The decoder here says in C++ what weights/*.wgsl say in WGSL.
#include "kernels/weight_format.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "quant/decode.h"

namespace lapidary::kernels {
namespace {

constexpr TensorType kAll[] = {TensorType::f32,  TensorType::f16,    TensorType::bf16,   TensorType::q4_0,
                               TensorType::q4_1, TensorType::q5_0,   TensorType::q5_1,   TensorType::q8_0,
                               TensorType::q2_k, TensorType::q3_k,   TensorType::q4_k,   TensorType::q5_k,
                               TensorType::q6_k, TensorType::iq4_nl, TensorType::iq4_xs, TensorType::mxfp4};

// All bytes are random; numbers that decode to something infinite are left out of the comparison.
std::vector<uint8_t> random_bytes(size_t size, uint32_t seed) {
    std::vector<uint8_t> out(size);
    for (uint8_t& byte : out) {
        seed = seed * 1664525u + 1013904223u;
        byte = uint8_t(seed >> 24);
    }
    return out;
}

// A repacked row as a kernel reads it.
struct PackedRow {
    const uint8_t* bytes;
    Format format;
    uint64_t units;

    [[nodiscard]] size_t quant_bytes() const {
        constexpr std::array<size_t, 9> kBytes = {32, 32, 48, 32, 64, 64, 128, 128, 256};
        return kBytes[size_t(format)];
    }
    [[nodiscard]] const uint8_t* unit(uint64_t u) const { return bytes + u * quant_bytes(); }
    [[nodiscard]] uint32_t word(uint64_t i) const {
        uint32_t out = 0;
        std::memcpy(&out, bytes + units * quant_bytes() + 4 * i, 4);
        return out;
    }
    [[nodiscard]] float half_of(uint32_t word, size_t which) const {
        return f16_to_f32(uint16_t(word >> (16 * which)));
    }

    [[nodiscard]] float at(uint64_t i) const {
        const uint64_t u = i / 64;
        const size_t run = i % 64 / 16;
        const uint8_t* q = unit(u) + run % 2 * 16 + i % 16;  // of nibbles
        const int nibble = run < 2 ? *q & 15 : *q >> 4;
        switch (format) {
            case Format::q4_k:
            case Format::q5_k: {
                const size_t per_unit = format == Format::q4_k ? 1 : 3;
                const uint32_t d = word(units * per_unit + u / 4);
                const uint32_t s = word(u * per_unit);
                int value = nibble;
                if (format == Format::q5_k) {
                    const uint32_t bits = word(u * 3 + 1 + run / 2);
                    const size_t element = i % 32;
                    value |= int(bits >> (element % 4 * 8 + element / 4) & 1) << 4;
                }
                return half_of(d, 0) * float(s >> (8 * (run / 2)) & 255) * float(value) -
                       half_of(d, 1) * float(s >> (16 + 8 * (run / 2)) & 255);
            }
            case Format::q6_k: {
                const int high = unit(u)[32 + i % 16] >> (2 * run) & 3;
                const auto scale = float(int8_t(word(u) >> (8 * run)));
                return std::bit_cast<float>(word(units + u / 4)) * scale * float((nibble | high << 4) - 32);
            }
            case Format::q4_0: return half_of(word(u), run / 2) * float(nibble - 8);
            case Format::q8_0: return half_of(word(u), run / 2) * float(int8_t(unit(u)[i % 64]));
            case Format::i8:
                return std::bit_cast<float>(word(8 * u + run)) * float(int8_t(unit(u)[i % 64])) -
                       std::bit_cast<float>(word(8 * u + 4 + run));
            case Format::f16:
            case Format::bf16: {
                uint16_t bits = 0;
                std::memcpy(&bits, bytes + 2 * i, 2);
                return format == Format::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
            }
            case Format::f32: {
                float value = 0;
                std::memcpy(&value, bytes + 4 * i, 4);
                return value;
            }
        }
        return 0;
    }
};

TEST(WeightFormat, RepackingKeepsEveryNumberOfEveryType) {
    for (const TensorType type : kAll) {
        // An odd number of 32s where the type's blocks allow it: the last unit is half empty then.
        const bool small = 96 % tensor_type_info(type).block_elements == 0;
        for (const uint64_t cols : {uint64_t{512}, small ? uint64_t{96} : uint64_t{256}}) {
            SCOPED_TRACE(std::string(tensor_type_name(type)) + " " + std::to_string(cols));
            constexpr uint64_t kRows = 3;
            const auto file = random_bytes(size_t(kRows * row_bytes(type, cols)), 5 + uint32_t(type));
            std::vector<float> expected(kRows * cols);
            quant::decode(type, file.data(), expected);
            const Format format = format_of(type);
            const auto packed = repack(type, file, kRows, cols);
            ASSERT_EQ(packed.size(), gpu_bytes(format, kRows, cols));
            for (size_t i = 0; i < expected.size(); ++i) {
                const uint64_t stride = packed.size() / kRows;
                const PackedRow row{packed.data() + i / cols * stride, format, (cols + 63) / 64};
                if (!(std::abs(expected[i]) < 1e30f)) continue;
                ASSERT_EQ(row.at(i % cols), expected[i]) << "element " << i;
            }
        }
    }
}

TEST(WeightFormat, WhatFillsUpTheLastUnitIsZero) {
    const auto file = random_bytes(size_t(row_bytes(TensorType::q8_0, 96)), 9);
    const auto packed = repack(TensorType::q8_0, file, 1, 96);
    const PackedRow row{packed.data(), Format::q8_0, 2};
    for (size_t i = 96; i < 128; ++i) EXPECT_EQ(row.at(i), 0.0f);
}

TEST(WeightFormat, RowsTakeAMultipleOf16Bytes) {
    for (int f = 0; f <= int(Format::f32); ++f) {
        for (const uint64_t cols : {32, 96, 256, 1536}) EXPECT_EQ(gpu_bytes(Format(f), 1, cols) % 16, 0u);
    }
    EXPECT_EQ(gpu_bytes(Format::q4_k, 2, 1536), 2 * 896u);
}

TEST(WeightFormat, RowsInAnotherFormatBeginAtOneOfTheirOwnAndWhereABindingCan) {
    for (const Format second : {Format::q6_k, Format::q8_0, Format::i8, Format::f32}) {
        for (const uint64_t cols : {96, 256, 1536}) {
            for (const uint64_t rows : {0, 1, 7, 2304}) {
                const uint64_t row = gpu_bytes(second, 1, cols);
                const uint64_t at = second_row_at(Format::q4_k, rows, second, cols) * row;
                EXPECT_GE(at, gpu_bytes(Format::q4_k, rows, cols));
                EXPECT_LT(at, gpu_bytes(Format::q4_k, rows, cols) + 17 * row);
                EXPECT_EQ(at % kBindingAlignment, 0u);
            }
        }
    }
}

TEST(WeightFormat, RowsThatDoNotFitTheKernelsAreRefused) {
    EXPECT_TRUE(check_columns(TensorType::q4_k, 512));
    EXPECT_FALSE(check_columns(TensorType::q4_k, 320));
    EXPECT_FALSE(check_columns(TensorType::f16, 40));
}

}  // namespace
}  // namespace lapidary::kernels
