#include <gtest/gtest.h>

#include "kernels/kernel.h"

namespace lapidary::kernels {
namespace {

TEST(Shader, PutsTheFormatBeforeTheKernelThatReadsIt) {
    for (int f = 0; f <= int(Format::f32); ++f) {
        const std::string text = shader(kMatvec, Format(f), Reduction::shared);
        EXPECT_NE(text.find("fn chunk_values"), std::string::npos) << format_name(Format(f));
        EXPECT_LT(text.find("fn chunk_values"), text.find("fn main"));
        EXPECT_EQ(text.find("enable subgroups"), std::string::npos);
    }
}

TEST(Shader, AsksForSubgroupsOnlyWhereTheyAreUsed) {
    EXPECT_TRUE(shader(kMatvec, Format::q4_k, Reduction::subgroup).starts_with("enable subgroups;"));
    EXPECT_EQ(shader(kCombine, Format::f32, Reduction::subgroup).find("enable"), std::string::npos);
}

}  // namespace
}  // namespace lapidary::kernels
