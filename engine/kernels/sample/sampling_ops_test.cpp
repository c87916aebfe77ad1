#include "kernels/sample/sampling_ops.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

TEST(VocabularySlices, AreAsManyAsThereIsWorkFor) {
    EXPECT_EQ(vocabulary_slices(512), 2u);
    EXPECT_EQ(vocabulary_slices(16'384), 8u);
    EXPECT_EQ(vocabulary_slices(262'144), 128u);
    EXPECT_EQ(vocabulary_slices(1'000'000), kMaxVocabularySlices);
}

}  // namespace
}  // namespace lapidary::kernels
