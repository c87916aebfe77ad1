// Programs on a device that only takes notes.
#include "kernels/program.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::kernels {
namespace {

constexpr uint32_t kExperts = 7;
constexpr uint32_t kUsed = 3;
constexpr uint32_t kCols = 64;

class ProgramTest : public ::testing::Test {
  protected:
    // Whose place is never anyone else's.
    gpu::Tensor tensor(std::string_view label) { return {.at = *resources_.buffer(4096, label)}; }
    Program begin() { return Program(resources_, step_, {}); }
    void route(Program& program, gpu::Tensor ids, gpu::Tensor weights) {
        program.add(MoeRoute{.logits = logits_,
                             .scales = scales_,
                             .ids = ids,
                             .weights = weights,
                             .experts = kExperts,
                             .used = kUsed,
                             .rows = 2});
    }
    void combine(Program& program, gpu::Tensor weights, gpu::Tensor x, gpu::Tensor y) {
        program.add(MoeCombine{.weights = weights, .x = x, .y = y, .cols = kCols, .used = kUsed, .rows = 2});
    }
    // The kernels of a recorded program, in order.
    [[nodiscard]] std::vector<std::string> kernels_of(gpu::Id program) const {
        std::vector<std::string> out;
        for (const gpu::Command& command : device_.program(program)) {
            out.push_back(device_.pipeline(command.pipeline).label);
        }
        return out;
    }
    [[nodiscard]] gpu::Id bound(gpu::Id program, size_t command, size_t number) const {
        return device_.group(device_.program(program)[command].bind_group).bindings[number].buffer;
    }
    static Result<std::vector<gpu::Id>> segments_of(Program& program) {
        auto out = program.compile_segments().run_now();
        EXPECT_TRUE(out) << "it waited where nothing should";
        return *std::move(out);
    }

    gpu::PlanDevice device_{{}};
    Resources resources_{device_, {}};
    gpu::Tensor step_ = tensor("step"), logits_ = tensor("logits"), scales_ = tensor("scales"), ids_ = tensor("ids"),
                y_ = tensor("y");
};

TEST_F(ProgramTest, IsCutWhereTheHostHasSomethingToDo) {
    Program program = begin();
    const gpu::Tensor weights = tensor("weights");
    route(program, ids_, weights);
    route(program, tensor("more ids"), weights);
    program.host_step("experts are fetched");
    combine(program, weights, logits_, y_);
    program.host_step("more of them are fetched");
    route(program, ids_, weights);
    const auto segments = segments_of(program);
    ASSERT_TRUE(segments) << segments.error().message;
    ASSERT_EQ(segments->size(), 3u);
    using Names = std::vector<std::string>;
    EXPECT_EQ(kernels_of((*segments)[0]), (Names{"moe_route", "moe_route"}));
    EXPECT_EQ(kernels_of((*segments)[1]), (Names{"moe_combine"}));
    EXPECT_EQ(kernels_of((*segments)[2]), (Names{"moe_route"}));
    EXPECT_TRUE(device_.runs().empty()) << "who replays them does so between the host's steps";
}

TEST_F(ProgramTest, WithoutHostStepsIsOneSegment) {
    Program program = begin();
    route(program, ids_, tensor("weights"));
    const auto segments = segments_of(program);
    ASSERT_TRUE(segments) << segments.error().message;
    EXPECT_EQ(segments->size(), 1u);
}

// What the first segment has left in scratch memory the second one reads: nothing between them may take its buffer.
TEST_F(ProgramTest, KeepsScratchAcrossAHostStep) {
    Program program = begin();
    const gpu::Tensor weights = program.scratch("weights", 2, kUsed);
    const gpu::Tensor other = program.scratch("other", 2, kUsed);
    route(program, ids_, weights);
    program.host_step("experts are fetched");
    route(program, ids_, other);
    combine(program, other, logits_, y_);
    combine(program, weights, logits_, y_);
    const auto segments = segments_of(program);
    ASSERT_TRUE(segments) << segments.error().message;
    const size_t writes = 4;  // the router's weights; 1: those that the combination reads
    const gpu::Id kept = bound((*segments)[0], 0, writes);
    EXPECT_EQ(bound((*segments)[1], 2, 1), kept);
    EXPECT_NE(bound((*segments)[1], 0, writes), kept);
    EXPECT_EQ(device_.buffer(kept).label, "scratch");
}

TEST_F(ProgramTest, RefusesAHostStepThatNothingComesBefore) {
    Program first = begin();
    first.host_step("experts are fetched");
    route(first, ids_, tensor("weights"));
    auto segments = segments_of(first);
    ASSERT_FALSE(segments);
    EXPECT_EQ(segments.error().message, "nothing was recorded before the host step 'experts are fetched'");
    Program twice = begin();
    route(twice, ids_, tensor("weights"));
    twice.host_step("experts are fetched");
    twice.host_step("and once more");
    route(twice, ids_, tensor("weights"));
    segments = segments_of(twice);
    ASSERT_FALSE(segments);
    EXPECT_EQ(segments.error().message, "nothing was recorded before the host step 'and once more'");
}

TEST_F(ProgramTest, WithHostStepsIsNotReplayedAsOne) {
    Program program = begin();
    route(program, ids_, tensor("weights"));
    program.host_step("experts are fetched");
    route(program, ids_, tensor("weights"));
    const auto compiled = program.compile().run_now();
    ASSERT_TRUE(compiled && !*compiled);
    EXPECT_EQ(compiled->error().message, "a program with host steps has 2 segments");
}

}  // namespace
}  // namespace lapidary::kernels
