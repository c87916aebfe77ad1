#include "quant/decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "quant/testing/vectors.h"

namespace lapidary::quant {
namespace {

using testing::all_types;
using testing::Random;
using testing::same_bits;

TEST(QuantDecode, GivesTheReferencesBits) {
    int checked = 0;
    for (const auto& vector : testing::read_vectors("decode")) {
        if (vector.name == "NVFP4") continue;  // the file has it, the engine does not
        const TensorTypeInfo* info = testing::find_by_name(vector.name);
        ASSERT_NE(info, nullptr) << vector.name;
        std::vector<float> out(vector.values.size());
        ASSERT_TRUE(decode_checked(TensorType(info->id), vector.block, out)) << vector.name;
        for (size_t i = 0; i < out.size(); ++i) {
            ASSERT_TRUE(same_bits(out[i], vector.values[i]))
                << vector.name << " element " << i << ": " << out[i] << " instead of " << vector.values[i];
        }
        ++checked;
    }
    EXPECT_EQ(checked, 26);  // two blocks of each of the 13 block types
}

TEST(QuantDecode, ConvertsEveryHalfLikeTheScalarFunction) {
    std::vector<uint8_t> bytes(2 * 65536);
    for (uint32_t i = 0; i < 65536; ++i) {
        const auto half = uint16_t(i);
        std::memcpy(&bytes[size_t(2) * i], &half, 2);
    }
    std::vector<float> out(65536);
    decode(TensorType::f16, bytes.data(), out);
    for (uint32_t i = 0; i < 65536; ++i) ASSERT_TRUE(same_bits(out[i], f16_to_f32(uint16_t(i)))) << i;
    decode(TensorType::bf16, bytes.data(), out);
    for (uint32_t i = 0; i < 65536; ++i) ASSERT_TRUE(same_bits(out[i], bf16_to_f32(uint16_t(i)))) << i;
}

TEST(QuantDecode, TreatsARowAsItsBlocksOneByOne) {
    Random random(1);
    for (const TensorType type : all_types()) {
        const TensorTypeInfo& info = tensor_type_info(type);
        for (const size_t blocks : {0, 1, 2, 3, 5, 7, 13}) {
            const size_t count = blocks * info.block_elements;
            // One byte in front: blocks need not be aligned. Exactly as long as needed: the sanitizer watches the end.
            std::vector<uint8_t> bytes(1 + row_bytes(type, count));
            for (uint8_t& byte : bytes) byte = random.byte();
            std::vector<float> row(count + 1, 42.0f);
            decode(type, bytes.data() + 1, std::span(row).first(count));
            EXPECT_EQ(row[count], 42.0f) << info.name << " wrote past the end";
            std::vector<float> single(info.block_elements);
            for (size_t b = 0; b < blocks; ++b) {
                decode(type, bytes.data() + 1 + b * info.block_bytes, single);
                for (size_t i = 0; i < single.size(); ++i) {
                    ASSERT_TRUE(same_bits(single[i], row[b * single.size() + i])) << info.name << " block " << b;
                }
            }
        }
    }
}

// Where a type keeps its f16 scale and minimum, and how many times each of them a value can reach.
struct Reach {
    TensorType type;
    int scale_at;
    float scale_times;
    int min_at = -1;
    float min_times = 0;
};

constexpr Reach kReaches[] = {
    {TensorType::q4_0, 0, 8},
    {TensorType::q4_1, 0, 15, 2, 1},
    {TensorType::q5_0, 0, 16},
    {TensorType::q5_1, 0, 31, 2, 1},
    {TensorType::q8_0, 0, 128},
    {TensorType::q2_k, 80, 15 * 3, 82, 15},
    {TensorType::q3_k, 108, 32 * 4},
    {TensorType::q4_k, 0, 63 * 15, 2, 63},
    {TensorType::q5_k, 0, 63 * 31, 2, 63},
    {TensorType::q6_k, 208, 128 * 32},
    {TensorType::iq4_nl, 0, 127},
    {TensorType::iq4_xs, 0, 32 * 127},
};

TEST(QuantDecode, KeepsRandomBlocksWithinTheReachOfTheirScales) {
    Random random(2);
    for (const Reach& reach : kReaches) {
        const TensorTypeInfo& info = tensor_type_info(reach.type);
        std::vector<uint8_t> block(info.block_bytes);
        std::vector<float> out(info.block_elements);
        float nearest = 0;  // how much of the reach was seen: a bound that is never approached proves little
        for (int round = 0; round < 300; ++round) {
            for (uint8_t& byte : block) byte = random.byte();
            const float scale = random.uniform();
            const float min = random.uniform();
            const uint16_t scale_half = f32_to_f16(scale);
            const uint16_t min_half = f32_to_f16(min);
            std::memcpy(&block[size_t(reach.scale_at)], &scale_half, 2);
            if (reach.min_at >= 0) std::memcpy(&block[size_t(reach.min_at)], &min_half, 2);
            const float bound = std::fabs(f16_to_f32(scale_half)) * reach.scale_times +
                                std::fabs(f16_to_f32(min_half)) * reach.min_times;
            decode(reach.type, block.data(), out);
            for (const float value : out) {
                ASSERT_LE(std::fabs(value), bound * 1.00001f) << info.name;
                nearest = std::max(nearest, std::fabs(value) / bound);
            }
        }
        EXPECT_GT(nearest, 0.8f) << info.name;
    }
}

TEST(QuantDecode, TakesAnyBytesIncludingNanScales) {
    Random random(3);
    for (const TensorType type : all_types()) {
        const TensorTypeInfo& info = tensor_type_info(type);
        std::vector<uint8_t> block(info.block_bytes);
        std::vector<float> out(info.block_elements);
        for (int round = 0; round < 200; ++round) {
            for (uint8_t& byte : block) byte = random.byte();
            decode(type, block.data(), out);
        }
        for (const uint8_t fill : {0x00, 0x7C, 0x7E, 0x7F, 0x80, 0xFC, 0xFF}) {
            std::fill(block.begin(), block.end(), fill);
            decode(type, block.data(), out);
        }
    }
}

TEST(QuantDecode, MakesABlockWithANanScaleAllNan) {
    std::vector<uint8_t> block(tensor_type_info(TensorType::q4_k).block_bytes, 0x55);
    const uint16_t nan = 0x7E00;
    std::memcpy(block.data(), &nan, 2);
    std::vector<float> out(256);
    decode(TensorType::q4_k, block.data(), out);
    EXPECT_TRUE(std::ranges::all_of(out, [](float v) { return std::isnan(v); }));
}

TEST(QuantDecode, ReachesTheEndsOfTheMxfp4Exponent) {
    uint8_t block[17] = {0, 0x01};
    float out[32];
    decode(TensorType::mxfp4, block, out);
    EXPECT_EQ(out[0], 0x1p-128f);
    block[0] = 1;
    decode(TensorType::mxfp4, block, out);
    EXPECT_EQ(out[0], 0x1p-127f);
    block[0] = 254;
    decode(TensorType::mxfp4, block, out);
    EXPECT_EQ(out[0], 0x1p126f);
    EXPECT_EQ(out[16], 0.0f);
}

TEST(QuantDecode, RefusesSizesThatDoNotMatch) {
    std::vector<uint8_t> bytes(144);
    std::vector<float> out(256);
    EXPECT_TRUE(decode_checked(TensorType::q4_k, bytes, out));
    const auto ragged = decode_checked(TensorType::q4_k, bytes, std::span(out).first(255));
    ASSERT_FALSE(ragged);
    EXPECT_EQ(ragged.error().message, "Q4_K comes in blocks of 256 elements, and 255 is no multiple of that");
    const auto missing = decode_checked(TensorType::q4_k, std::span(bytes).first(143), out);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().message, "256 elements of Q4_K take 144 bytes, not 143");
    const TensorTypeInfo* q8_k = find_tensor_type(15);  // has a size and a name, but is never in a file
    ASSERT_NE(q8_k, nullptr);
    const auto unknown = decode_checked(TensorType(q8_k->id), bytes, out);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, Code::unsupported);
}

}  // namespace
}  // namespace lapidary::quant
