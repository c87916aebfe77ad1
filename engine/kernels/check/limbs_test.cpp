#include "kernels/check/limbs.h"

#include <gtest/gtest.h>

#include "kernels/check/compare.h"

namespace lapidary::kernels::check {
namespace {

// Halves of very different sizes, one of them nothing; the last unit is not full.
std::vector<double> numbers() {
    Random random(1);
    std::vector<double> out;
    for (size_t i = 0; i < 160; ++i) {
        const std::array<double, 5> sizes = {1, 1e-6, 0, 3e4, 1};
        out.push_back(sizes[i / 32] * double(random.uniform(-1, 1)));
    }
    return out;
}

TEST(Limbs, HoldWhatFloatsHold) {
    const std::vector<double> x = numbers();
    const std::vector<float> found = numbers_in_limbs(given_limbs(x).before, units_of(x.size()));
    ASSERT_EQ(found.size(), 3 * kUnitNumbers);
    for (size_t half = 0; half < 5; ++half) {
        double largest = 0;
        for (size_t i = 32 * half; i < 32 * half + 32; ++i) largest = std::max(largest, std::abs(x[i]));
        for (size_t i = 32 * half; i < 32 * half + 32; ++i) EXPECT_NEAR(double(found[i]), x[i], 2e-7 * largest);
    }
    EXPECT_EQ(found[160], 0) << "the rest of the last unit";
    double sum = 0;
    for (size_t i = 16; i < 32; ++i) sum += x[i];
    EXPECT_FLOAT_EQ(found[3 * 64 + 1], float(sum)) << "of the second run";
}

TEST(Limbs, AreComparedByWhatTheySay) {
    const std::vector<double> x = numbers();
    Random random(2);
    const Array array = limbs_written(random, x);
    std::vector<uint8_t> after = array.before;
    const Array right = given_limbs(x);
    std::ranges::copy(right.before, after.begin());
    Difference found = compare(array, after);
    EXPECT_LT(found.error, 2e-7);
    EXPECT_EQ(found.problem, "");

    after[((2 * 4 + 2) * 3 + 1) * 16] ^= 16;  // the high byte of one of the largest numbers
    EXPECT_GT(compare(array, after).error, 1e-3);
    after = array.before;
    std::ranges::copy(right.before, after.begin());
    after.back() ^= 1;
    EXPECT_NE(compare(array, after).problem, "") << "behind the last unit";
}

}  // namespace
}  // namespace lapidary::kernels::check
