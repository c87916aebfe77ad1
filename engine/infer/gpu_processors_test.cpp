#include "infer/gpu_processors.h"

#include <gtest/gtest.h>

#include "testing/lazy_device.h"

namespace lapidary::infer {
namespace {

// Of a GPU that puts workgroups on its processors one after the other.
uint32_t found(uint32_t processors, double first = 1) {
    ProcessorSearch search(1024);
    double slower = first;
    while (const uint32_t groups = search.next()) {
        const double waves = double((groups + processors - 1) / processors);
        search.took(slower * 1e6 * waves * (1 + 0.05 * double(groups % 3)));
        slower = 1;
    }
    return search.found();
}

TEST(Processors, AreAsManyAsTakeNoLongerThanOne) {
    for (const uint32_t processors : {2u, 8u, 10u, 60u, 132u, 500u}) EXPECT_EQ(found(processors), processors);
}

TEST(Processors, AreNotKnownWhereTheTimesSayNothing) {
    EXPECT_EQ(found(100'000), 0u) << "more than anybody has";
    EXPECT_EQ(found(132, 5), 0u) << "the clocks went up after the first";
}

TEST(Processors, AreNotMeasuredWithoutAClock) {
    testing::LazyDevice device(true);
    const auto result = count_processors(device, {}).run_now();
    ASSERT_TRUE(result && *result);
    EXPECT_EQ(**result, 0u);
    EXPECT_EQ(device.live(), 0u);
}

}  // namespace
}  // namespace lapidary::infer
