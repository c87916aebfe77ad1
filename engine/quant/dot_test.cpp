#include "quant/dot.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "quant/testing/vectors.h"

namespace lapidary::quant {
namespace {

TEST(QuantDot, AgreesWithDoublePrecisionAtEveryLength) {
    testing::Random random(4);
    for (size_t n = 0; n < 300; n = n < 70 ? n + 1 : n + 37) {
        const auto a = random.weights(n, 1);
        const auto b = random.weights(n, 1);
        double exact = 0;
        double size = 0;
        for (size_t i = 0; i < n; ++i) {
            exact += double(a[i]) * double(b[i]);
            size += std::fabs(double(a[i]) * double(b[i]));
        }
        EXPECT_NEAR(dot(a, b), exact, size * 1e-6) << n;
    }
}

TEST(QuantDot, LosesLittleOverALongRow) {
    testing::Random random(5);
    const auto a = random.weights(21504, 1);
    const auto b = random.weights(21504, 1);
    double exact = 0;
    double size = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        exact += double(a[i]) * double(b[i]);
        size += std::fabs(double(a[i]) * double(b[i]));
    }
    EXPECT_NEAR(dot(a, b), exact, size * 1e-6);
}

TEST(QuantDot, GivesTheSameBitsOnEveryMachine) {
    testing::Random random(6);
    const auto a = random.weights(2563, 1);
    const auto b = random.weights(2563, 1);
    // Printed once by the native build; the WebAssembly build must agree.
    EXPECT_EQ(std::bit_cast<uint32_t>(dot(a, b)), 1076478629u);
}

TEST(QuantDot, GivesFourRowsWhatEachWouldGetAlone) {
    testing::Random random(12);
    for (const size_t n : {0, 1, 3, 7, 8, 9, 16, 31, 256, 2563}) {
        const auto weights = random.weights(n, 1);
        const auto x = random.weights(4 * n, 1);
        float out[4];
        dot4(weights, {x.data(), x.data() + n, x.data() + 2 * n, x.data() + 3 * n}, out);
        for (size_t r = 0; r < 4; ++r) {
            EXPECT_TRUE(testing::same_bits(out[r], dot(weights, std::span(x).subspan(r * n, n)))) << n << " row " << r;
        }
    }
}

TEST(QuantDot, StopsAtTheShorterRow) {
    const float a[] = {1, 2, 3, 4, 5};
    const float b[] = {10, 100};
    EXPECT_EQ(dot(a, b), 210.0f);
    EXPECT_EQ(dot(b, a), 210.0f);
}

}  // namespace
}  // namespace lapidary::quant
