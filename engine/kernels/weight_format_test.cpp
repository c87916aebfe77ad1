// Repacked weights decode to the same numbers. The decoders here say in C++ what formats/*.wgsl say in WGSL.
#include "kernels/weight_format.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/half.h"
#include "quant/decode.h"

namespace lapidary::kernels {
namespace {

constexpr TensorType kAll[] = {TensorType::f32,  TensorType::f16,    TensorType::bf16,   TensorType::q4_0,
                               TensorType::q4_1, TensorType::q5_0,   TensorType::q5_1,   TensorType::q8_0,
                               TensorType::q2_k, TensorType::q3_k,   TensorType::q4_k,   TensorType::q5_k,
                               TensorType::q6_k, TensorType::iq4_nl, TensorType::iq4_xs, TensorType::mxfp4};

// Random blocks whose scales are ordinary numbers: f16 fields of 0x3C00 plus noise would be a coincidence of layout, so
// all bytes are random and rows that decode to something infinite are left out of the comparison.
std::vector<uint8_t> random_bytes(size_t size, uint32_t seed) {
    std::vector<uint8_t> out(size);
    for (uint8_t& byte : out) {
        seed = seed * 1664525u + 1013904223u;
        byte = uint8_t(seed >> 24);
    }
    return out;
}

template <class T>
T at(const std::vector<uint8_t>& bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

TEST(WeightFormat, Int8ChunksHoldTheRarerTypesWithoutLoss) {
    for (const TensorType type : kAll) {
        if (format_of(type) != Format::i8) continue;
        SCOPED_TRACE(tensor_type_name(type));
        constexpr uint64_t kRows = 3;
        constexpr uint64_t kCols = 512;
        const auto file = random_bytes(size_t(kRows * row_bytes(type, kCols)), 5 + uint32_t(type));
        std::vector<float> expected(kRows * kCols);
        quant::decode(type, file.data(), expected);
        const auto packed = repack(type, file, kRows, kCols);
        ASSERT_EQ(packed.size(), gpu_bytes(Format::i8, kRows, kCols));
        for (size_t i = 0; i < expected.size(); ++i) {
            if (!(std::abs(expected[i]) < 1e30f)) continue;
            const size_t chunk = i / 32 * 48;
            const size_t half = i % 32 / 16;
            const auto scale = at<float>(packed, chunk + 32 + 8 * half);
            const auto min = at<float>(packed, chunk + 36 + 8 * half);
            ASSERT_EQ(scale * float(int8_t(packed[chunk + i % 32])) + min, expected[i]) << "element " << i;
        }
    }
}

TEST(WeightFormat, RegroupedBlocksKeepEveryByte) {
    // Q8_0: 16 vec4 of quants, then the eight scales.
    constexpr uint64_t kCols = 96;  // three blocks a row: groups span rows
    constexpr uint64_t kRows = 8;
    const auto file = random_bytes(size_t(kRows * row_bytes(TensorType::q8_0, kCols)), 9);
    const auto packed = repack(TensorType::q8_0, file, kRows, kCols);
    ASSERT_EQ(packed.size(), kRows * 3 / 8 * 272);
    for (size_t block = 0; block < kRows * 3; ++block) {
        const size_t group = block / 8 * 272;
        EXPECT_EQ(at<uint16_t>(packed, group + 256 + block % 8 * 2), at<uint16_t>(file, block * 34));
        for (size_t i = 0; i < 32; ++i) ASSERT_EQ(packed[group + block % 8 * 32 + i], file[block * 34 + 2 + i]);
    }
    // Q6_K: 13 vec4 a block, four factors in f32 behind four blocks.
    const auto wide = random_bytes(size_t(row_bytes(TensorType::q6_k, 256 * 6)), 11);
    const auto repacked = repack(TensorType::q6_k, wide, 1, 256 * 6);
    ASSERT_EQ(repacked.size(), 2u * 53 * 16);
    for (size_t block = 0; block < 6; ++block) {
        const size_t group = block / 4 * 53 * 16;
        EXPECT_EQ(at<uint32_t>(repacked, group + 52 * 16 + block % 4 * 4),
                  std::bit_cast<uint32_t>(f16_to_f32(at<uint16_t>(wide, block * 210 + 208))));
        for (size_t i = 0; i < 208; ++i) ASSERT_EQ(repacked[group + block % 4 * 208 + i], wide[block * 210 + i]);
    }
}

TEST(WeightFormat, PiecesThatBeginAtAlignedRowsFitTogether) {
    for (const TensorType type : kAll) {
        SCOPED_TRACE(tensor_type_name(type));
        constexpr uint64_t kCols = 768;
        const Format format = format_of(type);
        const uint64_t align = row_alignment(format, kCols);
        const uint64_t rows = 4 * align;
        const auto file = random_bytes(size_t(rows * row_bytes(type, kCols)), 21);
        const auto whole = repack(type, file, rows, kCols);
        const uint64_t cut = align * row_bytes(type, kCols);
        const auto rest = repack(type, std::span(file).subspan(size_t(cut)), rows - align, kCols);
        const uint64_t offset = gpu_bytes(format, align, kCols);
        ASSERT_EQ(offset + rest.size(), whole.size());
        EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + ptrdiff_t(offset)));
        EXPECT_EQ(whole.size() % 16, 0u);
    }
}

TEST(WeightFormat, RefusesRowsThatKernelsCannotTake) {
    EXPECT_TRUE(check_columns(TensorType::f32, 64));
    EXPECT_FALSE(check_columns(TensorType::f32, 40));
    EXPECT_FALSE(check_columns(TensorType::q4_k, 128));
}

}  // namespace
}  // namespace lapidary::kernels
