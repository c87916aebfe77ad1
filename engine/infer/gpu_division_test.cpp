#include "infer/gpu_division.h"

#include <gtest/gtest.h>

namespace lapidary::infer {
namespace {

// The first weights of every lane are loaded without a look at how long the row is.
TEST(GpuDivision, NeverHasMoreLanesThanARowHasUnits) {
    for (const uint64_t cols : {32u, 64u, 96u, 128u, 256u, 320u, 512u, 1024u, 2048u, 12288u}) {
        for (const uint64_t rows : {1u, 64u, 2048u, 262144u}) {
            for (const bool pairs : {false, true}) {
                for (const bool large : {false, true}) {
                    const MatvecDivision division = divide_matvec(rows, cols, pairs, large);
                    EXPECT_LE(division.lanes, (cols + 63) / 64) << rows << " x " << cols;
                    EXPECT_GE(division.outputs(pairs), 1u);
                }
            }
        }
    }
}

TEST(GpuDivision, HasWholeHalfUnitsOfOutputsWhereTheyBecomePlanes) {
    for (const uint64_t cols : {64u, 256u, 2048u}) {
        EXPECT_EQ(divide_matvec(2048, cols, true, true).outputs(true) % 32, 0u) << cols;
    }
}

}  // namespace
}  // namespace lapidary::infer
