#include "kernels/gemv/gemv_persistent.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

// A product with weights of 4.6 bits, or so.
PersistentShape shape_of(uint64_t rows, uint64_t cols) {
    return {.rows = rows, .bytes = rows * cols * 37 / 64, .cols = cols};
}

TEST(PersistentTiling, FillsTheGpuOnce) {
    gpu::Info info;
    info.max_workgroup_bytes = 32768;
    constexpr uint32_t kComputeUnits = 132;
    PersistentShape gate_up = shape_of(21504, 5376);
    gate_up.bytes *= 2;
    gate_up.gate_and_up = true;
    const auto pairs = persistent_tiling(info, kComputeUnits, gate_up);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->groups, 2 * kComputeUnits);
    EXPECT_EQ(pairs->rows, 4u);
    EXPECT_EQ(pairs->steps(), 14u);
    PersistentShape down = shape_of(5376, 21504);
    EXPECT_FALSE(persistent_tiling(info, kComputeUnits, down)) << "a workgroup has no seat for a row";
    down.max_splits = 4;
    const auto splits = persistent_tiling(info, kComputeUnits, down);
    ASSERT_TRUE(splits);
    EXPECT_EQ(splits->splits, 4u);
    EXPECT_EQ(splits->groups * splits->splits, 2 * kComputeUnits);
    EXPECT_EQ(splits->steps(), 14u);
}

TEST(PersistentTiling, LeavesEverythingElseToGemv) {
    EXPECT_FALSE(persistent_tiling({}, 0, shape_of(21504, 5376))) << "nobody knows how many compute units";
    EXPECT_FALSE(persistent_tiling({}, 4, shape_of(21504, 5376))) << "or they are hardly that few";
    EXPECT_FALSE(persistent_tiling({}, 132, shape_of(1536, 12288))) << "small";
    EXPECT_FALSE(persistent_tiling({}, 132, shape_of(262144, 64 * 44))) << "too many threads without work";
    EXPECT_FALSE(persistent_tiling({}, 132, shape_of(262144, 64 * 50))) << "row groups not of fours";
}

TEST(PersistentTiling, ComesToEveryRowOnce) {
    gpu::Info small;  // workgroups with little memory
    for (const uint32_t compute_units : {8, 20, 132}) {
        for (const uint64_t cols : {64 * 60, 5376, 64 * 128, 64 * 256}) {
            PersistentShape product = shape_of(22'222, cols);
            product.below_rows = 7'778;
            product.below_bytes = product.below_rows * cols * 53 / 64;
            const auto d = persistent_tiling(small, compute_units, product);
            ASSERT_TRUE(d);
            EXPECT_LE(d->steps() * 1024, small.max_workgroup_bytes);
            EXPECT_EQ(d->groups % (2 * compute_units), 0u);
            const uint64_t row_groups = 256 / (cols / 64);
            // As many as needed, and not a whole step more.
            const auto covers = [&](uint64_t rows, uint64_t groups, uint64_t steps) {
                const uint64_t step = groups * row_groups * d->rows;
                EXPECT_GE(steps * step, rows);
                EXPECT_LT((steps - 1) * step, rows);
            };
            covers(product.rows, d->first_groups, d->first_steps);
            covers(product.below_rows, d->groups - d->first_groups, d->second_steps);
        }
    }
}

}  // namespace
}  // namespace lapidary::kernels
