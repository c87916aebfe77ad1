#include "kernels/arena.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

constexpr Module kNothing{"test/nothing", "", {}, {}, {}, {}};

// A dispatch that does this with these tensors, in the order of their numbers.
Dispatch with(std::initializer_list<std::pair<gpu::Id, Use>> uses) {
    Dispatch out{.kernel = &kNothing};
    for (const auto& [tensor, use] : uses) {
        out.bindings.push_back(
            {.number = uint8_t(out.bindings.size()), .at = {kScratchIds + tensor, 0, 16}, .use = use});
    }
    return out;
}

TEST(Arena, GivesABufferOnWhenItsTensorWasReadForTheLastTime) {
    const std::vector<Scratch> tensors = {{"a", 100}, {"b", 50}, {"c", 80}};
    const std::vector<Dispatch> dispatches = {with({{0, Use::write}}), with({{0, Use::read}, {1, Use::write}}),
                                              with({{1, Use::read}, {2, Use::write}})};
    std::vector<uint64_t> sizes;
    const auto buffers = assign_buffers(dispatches, tensors, sizes);
    ASSERT_TRUE(buffers);
    EXPECT_EQ(*buffers, (std::vector<size_t>{0, 1, 0}));
    EXPECT_EQ(sizes, (std::vector<uint64_t>{100, 50}));
}

TEST(Arena, NeverLetsTwoTensorsOfADispatchShareABuffer) {
    const std::vector<Scratch> tensors = {{"a", 64}, {"b", 64}};
    std::vector<uint64_t> sizes;
    // a is read for the last time where b is written for the first.
    const std::vector<Dispatch> dispatches = {with({{0, Use::write}}), with({{1, Use::write}, {0, Use::read}})};
    const auto buffers = assign_buffers(dispatches, tensors, sizes);
    ASSERT_TRUE(buffers);
    EXPECT_NE((*buffers)[0], (*buffers)[1]);
}

TEST(Arena, KeepsATensorThatIsUpdatedOrReadAgainLater) {
    const std::vector<Scratch> tensors = {{"h", 64}, {"x", 64}, {"y", 64}};
    std::vector<uint64_t> sizes;
    const std::vector<Dispatch> dispatches = {with({{0, Use::write}}), with({{1, Use::write}, {0, Use::read}}),
                                              with({{1, Use::read}, {0, Use::update}}),
                                              with({{2, Use::write}, {0, Use::read}})};
    const auto buffers = assign_buffers(dispatches, tensors, sizes);
    ASSERT_TRUE(buffers);
    EXPECT_EQ(*buffers, (std::vector<size_t>{0, 1, 1}));
}

TEST(Arena, UsesTheBuffersOfEarlierProgramsAndTheSmallestThatDoes) {
    std::vector<uint64_t> sizes = {1000, 100};
    const std::vector<Scratch> tensors = {{"a", 90}, {"b", 500}, {"c", 2000}};
    const std::vector<Dispatch> dispatches = {with({{0, Use::write}, {1, Use::write}, {2, Use::write}})};
    const auto buffers = assign_buffers(dispatches, tensors, sizes);
    ASSERT_TRUE(buffers);
    EXPECT_EQ(*buffers, (std::vector<size_t>{1, 0, 2}));
    EXPECT_EQ(sizes, (std::vector<uint64_t>{1000, 100, 2000}));
}

TEST(Arena, RefusesWhatIsReadBeforeItIsWritten) {
    std::vector<uint64_t> sizes;
    const std::vector<Scratch> tensors = {{"qkv", 64}};
    for (const Use use : {Use::read, Use::update}) {
        const std::vector<Dispatch> dispatches = {with({{0, use}}), with({{0, Use::write}})};
        const auto buffers = assign_buffers(dispatches, tensors, sizes);
        ASSERT_FALSE(buffers);
        EXPECT_EQ(buffers.error().message, "nothing reads 'qkv' before anything has written it");
    }
}

}  // namespace
}  // namespace lapidary::kernels
