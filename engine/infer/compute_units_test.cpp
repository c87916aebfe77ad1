#include "infer/compute_units.h"

#include <gtest/gtest.h>

#include "testing/lazy_device.h"

namespace lapidary::infer {
namespace {

// Of a GPU that puts workgroups on its compute units one after the other.
uint32_t found(uint32_t compute_units, double first = 1) {
    ComputeUnitSearch search(1024);
    double slower = first;
    while (const uint32_t groups = search.next()) {
        const double waves = double((groups + compute_units - 1) / compute_units);
        search.took(slower * 1e6 * waves * (1 + 0.05 * double(groups % 3)));
        slower = 1;
    }
    return search.found();
}

TEST(ComputeUnits, AreAsManyAsTakeNoLongerThanOne) {
    for (const uint32_t compute_units : {2u, 8u, 10u, 60u, 132u, 500u}) EXPECT_EQ(found(compute_units), compute_units);
}

TEST(ComputeUnits, AreNotKnownWhereTheTimesSayNothing) {
    EXPECT_EQ(found(100'000), 0u) << "more than anybody has";
    EXPECT_EQ(found(132, 5), 0u) << "the clocks went up after the first";
}

TEST(ComputeUnits, AreNotMeasuredWithoutAClock) {
    testing::LazyDevice device(true);
    const auto result = count_compute_units(device, {}).run_now();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(**result, 0u);
    EXPECT_EQ(device.live(), 0u);
}

}  // namespace
}  // namespace lapidary::infer
