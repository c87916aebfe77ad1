#include "kernels/gemm/gemm_tiling.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

constexpr uint32_t kPlenty = 49152;
constexpr uint32_t kEveryDeviceHas = 16384;

TEST(GemmTiling, IsLargeForLargeProductsAndSmallForSmallOnes) {
    EXPECT_EQ(gemm_tiling(20480, 512, true, kPlenty).rows(), 128u);
    EXPECT_EQ(gemm_tiling(20480, 512, true, kPlenty).tokens(), 128u);
    EXPECT_EQ(gemm_tiling(256, 512, false, kPlenty).rows(), 64u);
}

TEST(GemmTiling, LeavesFewWorkgroupsWithoutATile) {
    // 2,560 rows: 32 × 4 tiles for 132 compute units, where the largest would be 80.
    EXPECT_EQ(gemm_tiling(2560, 512, false, kPlenty).rows(), 80u);
}

TEST(GemmTiling, FitsTheDeviceAndPairs) {
    for (const uint64_t rows : {1, 64, 256, 2560, 20480, 262144}) {
        for (const uint64_t tokens : {1, 16, 128, 512}) {
            EXPECT_LE(gemm_tiling(rows, tokens, false, kEveryDeviceHas).bytes(), kEveryDeviceHas);
            EXPECT_LE(gemm_tiling(rows, tokens, false, kPlenty).bytes(), kPlenty);
            EXPECT_EQ(gemm_tiling(rows, tokens, true, kPlenty).rows_per_thread % 2, 0u);
        }
    }
}

}  // namespace
}  // namespace lapidary::kernels
