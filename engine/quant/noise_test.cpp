#include "quant/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "quant/decode.h"
#include "quant/encode.h"

namespace lapidary::quant {
namespace {

constexpr TensorType kTypes[] = {TensorType::f32,  TensorType::f16,  TensorType::bf16, TensorType::q4_0,
                                 TensorType::q5_0, TensorType::q8_0, TensorType::q4_k, TensorType::q6_k};
constexpr size_t kElements = 1 << 18;

std::vector<uint8_t> noise_of(TensorType type, const Noise& noise) {
    std::vector<uint8_t> blocks(row_bytes(type, kElements));
    fill_noise(type, noise, 0, blocks);
    return blocks;
}

TEST(Noise, HasTheWantedDeviationAndNoMeanInEveryType) {
    for (const TensorType type : kTypes) {
        // The rows of the smallest and of the largest model.
        for (const float deviation : {1 / 16.0f, 1 / std::sqrt(21504.0f)}) {
            SCOPED_TRACE(tensor_type_name(type));
            std::vector<float> values(kElements);
            decode(type, noise_of(type, {.seed = 7, .deviation = deviation}).data(), values);
            double sum = 0;
            double squares = 0;
            for (const float v : values) {
                sum += v;
                squares += double(v) * v;
            }
            EXPECT_NEAR(std::sqrt(squares / kElements) / deviation, 1, 0.03);
            EXPECT_NEAR(sum / kElements / deviation, 0, 0.01);
        }
    }
}

TEST(Noise, NeighbouringRowsHaveNothingInCommon) {
    constexpr size_t kRow = 256;
    for (const TensorType type : kTypes) {
        SCOPED_TRACE(tensor_type_name(type));
        std::vector<float> values(kElements);
        decode(type, noise_of(type, {.seed = 1}).data(), values);
        for (size_t distance = kRow; distance <= 16 * kRow; distance += kRow) {
            double product = 0;
            for (size_t i = 0; i + distance < kElements; ++i) product += double(values[i]) * values[i + distance];
            EXPECT_NEAR(product / kElements, 0, 0.015) << distance;
        }
    }
}

TEST(Noise, IsTheSameInPiecesOfAnySize) {
    for (const TensorType type : kTypes) {
        SCOPED_TRACE(tensor_type_name(type));
        const auto whole = noise_of(type, {.seed = 3});
        const size_t block = tensor_type_info(type).block_bytes;
        std::vector<uint8_t> parts(whole.size());
        for (size_t at = 0, blocks = 1; at < parts.size(); at += blocks * block, blocks = blocks * 3 % 1009) {
            blocks = std::min(blocks, (parts.size() - at) / block);
            fill_noise(type, {.seed = 3}, at / block, std::span(parts).subspan(at, blocks * block));
        }
        EXPECT_EQ(parts, whole);
    }
}

TEST(Noise, DiffersFromSeedToSeedInEitherHalf) {
    for (const TensorType type : kTypes) {
        SCOPED_TRACE(tensor_type_name(type));
        const auto one = noise_of(type, {.seed = 1});
        EXPECT_EQ(one, noise_of(type, {.seed = 1}));
        EXPECT_NE(one, noise_of(type, {.seed = 2}));
        EXPECT_NE(one, noise_of(type, {.seed = 1 + (uint64_t{1} << 32)}));
    }
}

TEST(Noise, ExistsForEveryTypeThatCanBeEncoded) {
    for (int32_t id = 0; id < 64; ++id) {
        const TensorTypeInfo* info = find_tensor_type(id);
        if (info == nullptr || !can_encode(TensorType(id))) continue;
        std::vector<uint8_t> block(info->block_bytes, 0xAA);
        const auto before = block;
        fill_noise(TensorType(id), {}, 0, block);
        EXPECT_NE(block, before) << info->name;
    }
}

TEST(Noise, NeverWritesTheByteThatQ8EncodersAvoid) {
    const auto blocks = noise_of(TensorType::q8_0, {});
    for (size_t at = 0; at < blocks.size(); at += 34) {
        for (size_t i = 2; i < 34; ++i) ASSERT_NE(blocks[at + i], 0x80);
    }
}

}  // namespace
}  // namespace lapidary::quant
