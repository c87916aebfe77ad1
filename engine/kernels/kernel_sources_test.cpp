#include <gtest/gtest.h>

#include "kernels/kernel.h"

namespace lapidary::kernels {
namespace {

TEST(Shader, PutsTheFormatBeforeTheKernelThatReadsIt) {
    for (int f = 0; f <= int(Format::f32); ++f) {
        const std::string text = shader(kMatvec, Format(f), {});
        EXPECT_NE(text.find("fn run_values"), std::string::npos) << format_name(Format(f));
        EXPECT_LT(text.find("fn run_values"), text.find("fn main"));
        EXPECT_EQ(text.find("enable subgroups"), std::string::npos);
    }
}

TEST(Shader, AsksForSubgroupsOnlyWhereTheyAreUsed) {
    EXPECT_TRUE(shader(kMatvec, Format::q4_k, {.reduction = Reduction::subgroup}).starts_with("enable subgroups;"));
    EXPECT_EQ(shader(kCombine, Format::f32, {.reduction = Reduction::subgroup}).find("enable"), std::string::npos);
}

TEST(Shader, MeetsWeightsInFloatingPointWithFloats) {
    const Variant planes{.activations = Activations::planes};
    EXPECT_NE(shader(kMatvec, Format::q4_k, planes).find("dot4I8Packed"), std::string::npos);
    EXPECT_EQ(shader(kMatvec, Format::q4_k, {}).find("dot4I8Packed"), std::string::npos);
    EXPECT_EQ(shader(kMatvec, Format::f16, planes).find("dot4I8Packed"), std::string::npos);
}

TEST(Shader, SaysEverythingAboutASecondFormatOnceMoreUnderOtherNames) {
    const std::string one = shader(kMatvec, Format::q4_k, {});
    const std::string two = shader(kMatvec, {Format::q4_k, Format::q6_k}, {});
    EXPECT_EQ(one.find("_2("), std::string::npos);
    for (const std::string_view name : {"fn weights_1(", "fn weights_2(", "fn dots_2(", "kQuantVecs_2 * kUnits_2"}) {
        EXPECT_NE(two.find(name), std::string::npos) << name;
    }
    // What both share keeps its name.
    EXPECT_EQ(two.find("activations_2"), std::string::npos);
    EXPECT_EQ(two.find("small_2"), std::string::npos);
}

TEST(Shader, KeepsKeysAndValuesInOneFormat) {
    for (const Kernel* kernel : {&kHeads, &kAttention, &kAttentionDecode}) {
        EXPECT_NE(shader(*kernel, Format::f32, {.kv = KvFormat::f16}).find("pack_halves(x.xy)"), std::string::npos);
        EXPECT_EQ(shader(*kernel, Format::f32, {.kv = KvFormat::q8}).find("pack_halves(x.xy)"), std::string::npos);
    }
    EXPECT_EQ(shader(kMatvec, Format::f32, {}).find("fn kv_values"), std::string::npos);
}

}  // namespace
}  // namespace lapidary::kernels
