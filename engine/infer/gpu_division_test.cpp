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
    EXPECT_EQ(divide_matvec({}, 43008, 5376, true, none).lanes, 32u);
    EXPECT_EQ(divide_matvec({}, 24576, 1536, true, dear).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 30720, 3840, true, dear).rows, 4u);
    EXPECT_EQ(divide_matvec({}, 1536, 12288, false, none).rows, 2u);
    EXPECT_EQ(divide_matvec({}, 1536, 12288, false, none).lanes, 192u);
    EXPECT_EQ(divide_matvec({}, 1536, 6144, false, none).lanes, 128u);
    EXPECT_EQ(divide_matvec({}, 1536, 2048, false, dear).lanes, 32u);
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

// A product with weights of 4.6 bits, or so.
Walked walked(uint64_t rows, uint64_t cols) {
    return {.rows = rows, .bytes = rows * cols * 37 / 64, .cols = cols};
}

TEST(WalkDivision, FillsTheGpuOnce) {
    gpu::Info info;
    info.max_workgroup_bytes = 32768;
    constexpr uint32_t kProcessors = 132;
    Walked gate_up = walked(21504, 5376);
    gate_up.bytes *= 2;
    gate_up.pairs = true;
    const auto pairs = divide_walk(info, kProcessors, gate_up);
    ASSERT_TRUE(pairs);
    EXPECT_EQ(pairs->groups, 2 * kProcessors);
    EXPECT_EQ(pairs->rows, 4u);
    EXPECT_EQ(pairs->steps(), 14u);
    Walked down = walked(5376, 21504);
    EXPECT_FALSE(divide_walk(info, kProcessors, down)) << "a workgroup has no seat for a row";
    down.most_parts = 4;
    const auto parts = divide_walk(info, kProcessors, down);
    ASSERT_TRUE(parts);
    EXPECT_EQ(parts->parts, 4u);
    EXPECT_EQ(parts->groups * parts->parts, 2 * kProcessors);
    EXPECT_EQ(parts->steps(), 14u);
}

TEST(WalkDivision, LeavesEverythingElseToMatvec) {
    EXPECT_FALSE(divide_walk({}, 0, walked(21504, 5376))) << "nobody knows how many processors";
    EXPECT_FALSE(divide_walk({}, 4, walked(21504, 5376))) << "or they are hardly that few";
    EXPECT_FALSE(divide_walk({}, 132, walked(1536, 12288))) << "small";
    EXPECT_FALSE(divide_walk({}, 132, walked(262144, 64 * 44))) << "too many threads without a seat";
    EXPECT_FALSE(divide_walk({}, 132, walked(262144, 64 * 50))) << "seats not of fours";
}

TEST(WalkDivision, ComesToEveryRowOnce) {
    gpu::Info small;  // workgroups with little memory
    for (const uint32_t processors : {8, 20, 132}) {
        for (const uint64_t cols : {64 * 60, 5376, 64 * 128, 64 * 256}) {
            Walked product = walked(22'222, cols);
            product.below_rows = 7'778;
            product.below_bytes = product.below_rows * cols * 53 / 64;
            const auto d = divide_walk(small, processors, product);
            ASSERT_TRUE(d);
            EXPECT_LE(d->steps() * 1024, small.max_workgroup_bytes);
            EXPECT_EQ(d->groups % (2 * processors), 0u);
            const uint64_t seats = 256 / (cols / 64);
            // As many as needed, and not a whole step more.
            const auto covers = [&](uint64_t rows, uint64_t groups, uint64_t steps) {
                const uint64_t step = groups * seats * d->rows;
                EXPECT_GE(steps * step, rows);
                EXPECT_LT((steps - 1) * step, rows);
            };
            covers(product.rows, d->first_groups, d->first_steps);
            covers(product.below_rows, d->groups - d->first_groups, d->second_steps);
        }
    }
}

TEST(AttentionRows, AreAsManyAsThereIsRoomFor) {
    gpu::Info info;
    info.max_workgroup_bytes = 32'768;
    EXPECT_EQ(attention_rows(info, 256), 8u);
    EXPECT_EQ(attention_rows(info, 512), 8u);
    info.max_workgroup_bytes = 16'384;  // what every GPU has
    EXPECT_EQ(attention_rows(info, 64), 8u);
    EXPECT_EQ(attention_rows(info, 256), 4u);
    EXPECT_EQ(attention_rows(info, 512), 4u);
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
