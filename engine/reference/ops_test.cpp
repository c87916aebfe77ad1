#include "reference/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace lapidary::reference {
namespace {

TEST(Ops, RmsNormGivesRowsOfUnitMeanSquare) {
    std::vector<float> x = {3, 4, 0, 0, 1, 1, 1, 1};
    std::vector<float> y(8);
    rms_norm(x, {}, 4, 0, y);
    EXPECT_FLOAT_EQ(y[0], 3 / 2.5f);
    EXPECT_FLOAT_EQ(y[4], 1);
    rms_norm(x, std::vector<float>{2, 2, 2, 2}, 4, 0, y);
    EXPECT_FLOAT_EQ(y[1], 2 * 4 / 2.5f);
}

TEST(Ops, RopeTurnsPairsHalfAHeadApart) {
    const std::vector<double> quarter_turn = {std::numbers::pi / 2, 0};
    std::vector<float> x = {1, 5, 0, 7};  // pairs (1, 0) and (5, 7)
    rope(x, 4, 1, quarter_turn);
    EXPECT_NEAR(x[0], 0, 1e-6);
    EXPECT_NEAR(x[2], 1, 1e-6);
    EXPECT_EQ(x[1], 5);  // angle 0
    EXPECT_EQ(x[3], 7);
}

TEST(Ops, RopeTurnsByTheRightAngleAlsoFarIntoAText) {
    const std::vector<double> rates = {1.0, 0.7310585, 0.0123456789, 1e-6};
    for (const uint32_t position : {0u, 1u, 2u, 3u, 100u, 4095u, 131071u, 262143u, 1048575u}) {
        std::vector<float> x = {1, 1, 1, 1, 0, 0, 0, 0};
        rope(x, 8, position, rates);
        for (size_t i = 0; i < 4; ++i) {
            const double angle = double(position) * rates[i];
            EXPECT_FLOAT_EQ(x[i], float(std::cos(angle))) << position << " × " << rates[i];
            EXPECT_FLOAT_EQ(x[i + 4], float(std::sin(angle))) << position << " × " << rates[i];
        }
    }
}

TEST(Ops, RopeFrequenciesFallFromOneAndStopWhereTheDivisorIsHuge) {
    const auto f = rope_frequencies(8, 10000, std::vector<float>{1, 1, 1e30f, 1e30f});
    EXPECT_DOUBLE_EQ(f[0], 1);
    EXPECT_NEAR(f[1], 0.1, 1e-12);
    EXPECT_LT(f[2], 1e-30);
}

TEST(Ops, AttentionOverEqualKeysAveragesTheValuesInSight) {
    // 3 positions, 1 KV head of 2 elements, 2 query heads; only positions 1 and 2 are visible.
    const std::vector<float> keys = {9, 9, 1, 0, 1, 0};
    const std::vector<float> values = {100, 100, 2, 4, 4, 8};
    const std::vector<float> q = {1, 1, 0, 0};
    std::vector<float> out(4);
    attention({.heads = 2, .kv_heads = 1, .head_dim = 2}, q, keys, values, 1, 3, out);
    for (const size_t head : {size_t{0}, size_t{2}}) {
        EXPECT_FLOAT_EQ(out[head], 3);
        EXPECT_FLOAT_EQ(out[head + 1], 6);
    }
}

TEST(Ops, SoftmaxSurvivesLargeNumbers) {
    std::vector<float> x = {1000, 1000, -1000};
    softmax(x);
    EXPECT_FLOAT_EQ(x[0], 0.5f);
    EXPECT_EQ(x[2], 0);
}

TEST(Ops, GeluAndSoftcapHaveTheirLimits) {
    EXPECT_EQ(gelu(0), 0);
    EXPECT_FLOAT_EQ(gelu(20), 20);
    EXPECT_NEAR(gelu(-20), 0, 1e-6);
    EXPECT_NEAR(gelu(1), 0.841192f, 1e-6);
    std::vector<float> x = {1e6f, -1e6f, 0.001f};
    softcap(x, 30);
    EXPECT_FLOAT_EQ(x[0], 30);
    EXPECT_FLOAT_EQ(x[1], -30);
    EXPECT_NEAR(x[2], 0.001f, 1e-8);
    softcap(x, 0);
    EXPECT_FLOAT_EQ(x[0], 30);
}

}  // namespace
}  // namespace lapidary::reference
