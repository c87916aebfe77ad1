#include "kernels/gemv/gemv_tiling.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

gpu::Info software() {
    gpu::Info out;
    out.software = true;
    return out;
}

TEST(GemvTiling, NeverHasMoreLanesThanThereIsWorkFor) {
    using enum PrologueCost;
    for (const gpu::Info& info : {gpu::Info{}, software()}) {
        for (const uint64_t cols : {32, 64, 96, 128, 256, 320, 1536, 2048, 3840, 5376, 12288}) {
            for (const uint64_t rows : {1, 64, 1536, 24576, 30720, 262144}) {
                for (const bool pairs : {false, true}) {
                    for (const PrologueCost cost : {none, cheap, dear}) {
                        const GemvTiling d = gemv_tiling(info, rows, cols, pairs, cost);
                        SCOPED_TRACE(cols);
                        EXPECT_LE(3 * d.threads_per_row, 4 * ((cols + 63) / 64));
                        EXPECT_EQ(d.threads % d.threads_per_row, 0u);
                        EXPECT_GE(d.rows, pairs ? 2u : 1u);
                        EXPECT_LE(d.rows, 4u);
                        if (pairs && cost == dear) EXPECT_EQ(d.outputs(true) % 32, 0u);
                    }
                }
            }
        }
    }
}

TEST(GemvTiling, GivesSmallMatricesMoreLanesAndLargeOnesMoreRows) {
    using enum PrologueCost;
    EXPECT_EQ(gemv_tiling({}, 262144, 1536, false, cheap).rows, 2u);
    EXPECT_EQ(gemv_tiling({}, 2048, 1536, false, cheap).rows, 1u);
    EXPECT_GT(gemv_tiling({}, 1536, 12288, false, cheap).threads_per_row,
              gemv_tiling({}, 24576, 1536, false, cheap).threads_per_row);
    EXPECT_EQ(gemv_tiling({}, 5376, 21504, false, none).threads_per_row, 128u);
    EXPECT_EQ(gemv_tiling({}, 16384, 5376, false, none).rows, 2u);
    EXPECT_EQ(gemv_tiling({}, 262144, 5376, false, none).rows, 4u);
    EXPECT_EQ(gemv_tiling({}, 43008, 5376, true, none).threads_per_row, 32u);
    EXPECT_EQ(gemv_tiling({}, 24576, 1536, true, dear).rows, 2u);
    EXPECT_EQ(gemv_tiling({}, 30720, 3840, true, dear).rows, 4u);
    EXPECT_EQ(gemv_tiling({}, 1536, 12288, false, none).rows, 2u);
    EXPECT_EQ(gemv_tiling({}, 1536, 12288, false, none).threads_per_row, 192u);
    EXPECT_EQ(gemv_tiling({}, 1536, 6144, false, none).threads_per_row, 128u);
    EXPECT_EQ(gemv_tiling({}, 1536, 2048, false, dear).threads_per_row, 32u);
    EXPECT_EQ(gemv_tiling({}, 2560, 10240, false, none).rows, 1u);
    EXPECT_EQ(gemv_tiling({}, 8960, 1536, false, cheap).threads_per_row, 8u);
    EXPECT_EQ(gemv_tiling({}, 2048, 1536, false, cheap).threads_per_row, 32u);
}

TEST(GemvTiling, GivesSoftwareTheFewestWorkgroups) {
    for (const uint64_t cols : {64, 256, 1536}) {
        for (const bool pairs : {false, true}) {
            const GemvTiling few = gemv_tiling(software(), 512, cols, pairs, PrologueCost::cheap);
            EXPECT_GE(few.outputs(pairs), gemv_tiling({}, 512, cols, pairs, PrologueCost::cheap).outputs(pairs));
            EXPECT_LE(few.threads_per_row, (cols + 63) / 64);
        }
    }
}

TEST(GemvTiling, SaysWhetherActivationsFitAWorkgroup) {
    gpu::Info info;
    info.max_workgroup_bytes = 16384;
    EXPECT_TRUE(fits_workgroup(info, Activations::limbs, 2048));
    EXPECT_FALSE(fits_workgroup(info, Activations::limbs, 12288));
    EXPECT_FALSE(fits_workgroup(info, Activations::floats, 4096));
    EXPECT_EQ(limb_bytes(128), 2u * 224);
}

}  // namespace
}  // namespace lapidary::kernels
