#include "quant/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "quant/decode.h"
#include "quant/testing/vectors.h"

namespace lapidary::quant {
namespace {

using testing::Random;

constexpr TensorType kEncodable[] = {TensorType::f32,  TensorType::f16,  TensorType::bf16, TensorType::q8_0,
                                     TensorType::q4_0, TensorType::q5_0, TensorType::q4_k, TensorType::q6_k};
constexpr TensorType kBlockTypes[] = {TensorType::q8_0, TensorType::q4_0, TensorType::q5_0, TensorType::q4_k,
                                      TensorType::q6_k};

std::vector<uint8_t> encoded(TensorType type, std::span<const float> values) {
    std::vector<uint8_t> bytes(row_bytes(type, values.size()));
    encode(type, values, bytes.data());
    return bytes;
}

std::vector<float> round_trip(TensorType type, std::span<const float> values) {
    std::vector<float> out(values.size());
    decode(type, encoded(type, values).data(), out);
    return out;
}

double squared_error(std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += (double(a[i]) - double(b[i])) * (double(a[i]) - double(b[i]));
    return sum;
}

TEST(QuantEncode, GivesTheReferencesBytes) {
    int checked = 0;
    for (const auto& vector : testing::read_vectors("encode")) {
        const TensorTypeInfo* info = testing::find_by_name(vector.name);
        ASSERT_NE(info, nullptr) << vector.name;
        const auto type = TensorType(info->id);
        if (!can_encode(type)) continue;
        EXPECT_EQ(encoded(type, vector.values), vector.block) << vector.name;
        // Should a compiler ever break a tie differently, this says whether it matters.
        std::vector<float> reference(vector.values.size());
        decode(type, vector.block.data(), reference);
        EXPECT_LE(squared_error(round_trip(type, vector.values), vector.values),
                  squared_error(reference, vector.values) * 1.001)
            << vector.name;
        ++checked;
    }
    EXPECT_EQ(checked, 10);  // two blocks of each of the five block types
}

TEST(QuantEncode, KnowsWhatItCanDo) {
    for (const TensorType type : testing::all_types()) {
        EXPECT_EQ(can_encode(type), std::ranges::contains(kEncodable, type)) << tensor_type_name(type);
    }
}

TEST(QuantEncode, StaysCloseToTheWeights) {
    struct Case {
        TensorType type;
        double relative;  // root-mean-square error over root-mean-square weight
    };
    constexpr Case kCases[] = {{TensorType::f32, 0},       {TensorType::f16, 0.0004}, {TensorType::bf16, 0.003},
                               {TensorType::q8_0, 0.0065}, {TensorType::q4_0, 0.095}, {TensorType::q5_0, 0.048},
                               {TensorType::q4_k, 0.075},  {TensorType::q6_k, 0.0195}};
    Random random(7);
    for (const Case& c : kCases) {
        const size_t block = tensor_type_info(c.type).block_elements;
        for (const size_t blocks : {1, 3, 7, 64}) {
            const auto values = random.weights(blocks * block, 0.02f);
            const std::vector<float> zeros(values.size());
            const double error = std::sqrt(squared_error(round_trip(c.type, values), values));
            const double size = std::sqrt(squared_error(zeros, values));
            EXPECT_LE(error, c.relative * size * (block * blocks < 256 ? 1.5 : 1.0))
                << tensor_type_name(c.type) << " × " << blocks << ": " << error / size;
        }
    }
}

TEST(QuantEncode, FindsTheLargestElementWhereverItIs) {
    for (const TensorType type : kBlockTypes) {
        const size_t block = tensor_type_info(type).block_elements;
        for (size_t at = 0; at < block; ++at) {
            for (const float sign : {1.0f, -1.0f}) {
                // Neighbours of the other sign, growing towards it, tempt a search that confuses sign and size.
                std::vector<float> values(block);
                for (size_t i = 0; i < block; ++i) values[i] = -sign * 0.9f * float(i % 16 + 1) / 16;
                values[at] = sign;
                EXPECT_NEAR(round_trip(type, values)[at], sign, 0.08f) << tensor_type_name(type) << " at " << at;
            }
        }
    }
}

TEST(QuantEncode, GivesTheSameBytesOnEveryMachine) {
    // FNV-1a hashes on which native builds with and without optimisation and the WebAssembly build agree.
    struct Case {
        TensorType type;
        uint32_t hash;
    };
    constexpr Case kCases[] = {{TensorType::q8_0, 0xD45454D4u},
                               {TensorType::q4_0, 0x6219BE5Au},
                               {TensorType::q5_0, 0xE22BC831u},
                               {TensorType::q4_k, 0xECF90444u},
                               {TensorType::q6_k, 0x40235528u}};
    for (const Case& c : kCases) {
        Random random(11);
        uint32_t hash = 2166136261u;
        for (const uint8_t byte : encoded(c.type, random.weights(size_t(64) * 256, 0.02f))) {
            hash = (hash ^ byte) * 16777619u;
        }
        EXPECT_EQ(hash, c.hash) << tensor_type_name(c.type);
    }
}

TEST(QuantEncode, KeepsZerosExactly) {
    const std::vector<float> zeros(512);
    for (const TensorType type : kEncodable) {
        for (const float value : round_trip(type, zeros)) ASSERT_EQ(value, 0.0f) << tensor_type_name(type);
    }
}

TEST(QuantEncode, KeepsAConstantBlock) {
    for (const float constant : {0.5f, -0.5f, 3.0f, -0.1f}) {
        const std::vector<float> values(256, constant);
        for (const TensorType type : kBlockTypes) {
            for (const float value : round_trip(type, values)) {
                ASSERT_NEAR(value, constant, std::fabs(constant) * 0.01f) << tensor_type_name(type);
            }
        }
    }
}

TEST(QuantEncode, TakesABlockAsItsOwnWhateverFollows) {
    Random random(8);
    for (const TensorType type : kEncodable) {
        const TensorTypeInfo& info = tensor_type_info(type);
        const auto values = random.weights(size_t(5) * info.block_elements, 1);
        const auto row = encoded(type, values);
        for (size_t b = 0; b < 5; ++b) {
            const auto single = encoded(type, std::span(values).subspan(b * info.block_elements, info.block_elements));
            EXPECT_TRUE(std::equal(single.begin(), single.end(), row.begin() + ptrdiff_t(b * info.block_bytes)))
                << info.name << " block " << b;
        }
    }
}

TEST(QuantEncode, CountsNanAsZeroAndInfinityAsTheLargestValue) {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const TensorType type : kBlockTypes) {
        Random random(9);
        auto values = random.weights(256, 1);
        auto tidy = values;
        values[3] = nan;
        tidy[3] = 0;
        EXPECT_EQ(encoded(type, values), encoded(type, tidy)) << tensor_type_name(type);
        values[5] = inf;
        values[77] = -inf;
        const auto back = round_trip(type, values);
        for (const float value : back) ASSERT_TRUE(std::isfinite(value)) << tensor_type_name(type);
        EXPECT_GT(back[5], 4e5f) << tensor_type_name(type);
        EXPECT_LT(back[77], -4e5f) << tensor_type_name(type);
    }
}

TEST(QuantEncode, PassesNanAndInfinityThroughTheFloatTypes) {
    const float inf = std::numeric_limits<float>::infinity();
    const float values[] = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 1.0f};
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16}) {
        const auto back = round_trip(type, values);
        EXPECT_TRUE(std::isnan(back[0]));
        EXPECT_EQ(back[1], inf);
        EXPECT_EQ(back[2], -inf);
        EXPECT_EQ(back[3], 1.0f);
    }
}

TEST(QuantEncode, SurvivesEveryKindOfFloat) {
    // Subnormals make infinite inverse scales; mixtures of huge and tiny make every intermediate sum overflow.
    Random random(10);
    const float specials[] = {0.0f,
                              -0.0f,
                              1e-45f,
                              -1e-45f,
                              1e-39f,
                              1e-20f,
                              -1e-12f,
                              1e-6f,
                              1.0f,
                              -1.0f,
                              65504.f,
                              524032.f,
                              -5.3e5f,
                              8.4e6f,
                              1e20f,
                              -3.4e38f,
                              3.4e38f,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
    std::vector<float> values(256);
    for (int round = 0; round < 400; ++round) {
        // Few kinds at a time, so that whole sub-blocks of one kind occur.
        const size_t kinds = 1 + random.next() % 3;
        float chosen[3];
        for (float& kind : chosen) kind = specials[random.next() % std::size(specials)];
        for (float& value : values) value = chosen[random.next() % kinds] * (round % 2 == 0 ? 1 : random.uniform());
        for (const TensorType type : kBlockTypes) {
            for (const float value : round_trip(type, values)) {
                ASSERT_TRUE(std::isfinite(value)) << tensor_type_name(type) << " round " << round;
            }
        }
    }
    for (int round = 0; round < 200; ++round) {
        for (float& value : values) value = std::bit_cast<float>(random.next());
        for (const TensorType type : kBlockTypes) {
            for (const float value : round_trip(type, values)) {
                ASSERT_TRUE(std::isfinite(value)) << tensor_type_name(type) << " random " << round;
            }
        }
    }
}

TEST(QuantEncode, RefusesWhatItCannotWrite) {
    std::vector<float> values(256);
    std::vector<uint8_t> bytes(210);
    EXPECT_TRUE(encode_checked(TensorType::q6_k, values, bytes));
    EXPECT_FALSE(encode_checked(TensorType::q6_k, std::span(values).first(128), bytes));
    EXPECT_FALSE(encode_checked(TensorType::q6_k, values, std::span(bytes).first(209)));
    const auto other = encode_checked(TensorType::q3_k, values, bytes);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, "tensors of type Q3_K cannot be written");
}

}  // namespace
}  // namespace lapidary::quant
