#include "infer/gpu_division.h"

#include <gtest/gtest.h>

namespace lapidary::infer {
namespace {

gpu::Info software() {
    gpu::Info out;
    out.software = true;
    return out;
}

TEST(MatvecDivision, NeverHasMoreLanesThanThereIsWorkFor) {
    using enum Preparing;
    for (const gpu::Info& info : {gpu::Info{}, software()}) {
        for (const uint64_t cols : {32, 64, 96, 128, 256, 320, 1536, 2048, 3840, 5376, 12288}) {
            for (const uint64_t rows : {1, 64, 1536, 24576, 30720, 262144}) {
                for (const bool pairs : {false, true}) {
                    for (const Preparing preparing : {none, cheap, dear}) {
                        const MatvecDivision d = divide_matvec(info, rows, cols, pairs, preparing);
                        SCOPED_TRACE(cols);
                        EXPECT_LE(3 * d.lanes, 4 * ((cols + 63) / 64));
                        EXPECT_EQ(d.threads % d.lanes, 0u);
                        EXPECT_GE(d.rows, pairs ? 2u : 1u);
                        EXPECT_LE(d.rows, 4u);
                        // As many sums of subgroups as matvec has room for.
                        if (d.sets > 1) EXPECT_LE(d.sets * d.threads / 32, 16u);
                        if (pairs && preparing == dear) EXPECT_EQ(d.outputs(true) % 32, 0u);
                    }
                }
            }
        }
    }
}

TEST(MatvecDivision, GivesSmallMatricesMoreLanesAndLargeOnesMoreRows) {
    using enum Preparing;
    EXPECT_EQ(divide_matvec({}, 262144, 1536, false, cheap).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 2048, 1536, false, cheap).rows, 1u);
    EXPECT_GT(divide_matvec({}, 1536, 12288, false, cheap).lanes, divide_matvec({}, 24576, 1536, false, cheap).lanes);
    EXPECT_EQ(divide_matvec({}, 5376, 21504, false, none).lanes, 128u);
    EXPECT_EQ(divide_matvec({}, 16384, 5376, false, none).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 262144, 5376, false, none).rows, 4u);
    EXPECT_EQ(divide_matvec({}, 43008, 5376, true, none).lanes, 96u);
    EXPECT_EQ(divide_matvec({}, 43008, 5376, true, none).outputs(true), 4u);
    EXPECT_EQ(divide_matvec({}, 43008, 16384 + 64, true, none).lanes, 32u);
    EXPECT_EQ(divide_matvec({}, 24576, 1536, true, dear).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 30720, 3840, true, dear).rows, 4u);
    EXPECT_EQ(divide_matvec({}, 1536, 12288, false, none).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 2560, 10240, false, none).rows, 1u);
    EXPECT_EQ(divide_matvec({}, 8960, 1536, false, cheap).lanes, 8u);
    EXPECT_EQ(divide_matvec({}, 2048, 1536, false, cheap).lanes, 32u);
}

TEST(MatvecDivision, GivesSoftwareTheFewestWorkgroups) {
    for (const uint64_t cols : {64, 256, 1536}) {
        for (const bool pairs : {false, true}) {
            const MatvecDivision few = divide_matvec(software(), 512, cols, pairs, Preparing::cheap);
            EXPECT_GE(few.outputs(pairs), divide_matvec({}, 512, cols, pairs, Preparing::cheap).outputs(pairs));
            EXPECT_LE(few.lanes, (cols + 63) / 64);
        }
    }
}

TEST(ChoiceParts, AreAsManyAsThereIsWorkFor) {
    EXPECT_EQ(choice_parts(512), 2u);
    EXPECT_EQ(choice_parts(16'384), 8u);
    EXPECT_EQ(choice_parts(262'144), 128u);
    EXPECT_EQ(choice_parts(1'000'000), kMostChoiceParts);
}

TEST(Planes, FitOrDoNotByTheRoomOfAWorkgroup) {
    gpu::Info info;
    info.max_workgroup_bytes = 16384;
    EXPECT_TRUE(fits_workgroup(info, kernels::Activations::planes, 2048));
    EXPECT_FALSE(fits_workgroup(info, kernels::Activations::planes, 12288));
    EXPECT_FALSE(fits_workgroup(info, kernels::Activations::floats, 4096));
    EXPECT_EQ(plane_bytes(128), 2u * 224);
}

}  // namespace
}  // namespace lapidary::infer
