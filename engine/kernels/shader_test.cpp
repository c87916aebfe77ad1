#include "kernels/shader.h"

#include <gtest/gtest.h>

#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {
namespace {

TEST(Shader, PutsTheFormatBeforeTheKernelThatReadsIt) {
    for (int f = 0; f <= int(Format::f32); ++f) {
        const std::string text = shader(wgsl::gemv::module, Format(f), {});
        EXPECT_NE(text.find("fn vec16_values"), std::string::npos) << format_name(Format(f));
        EXPECT_LT(text.find("fn vec16_values"), text.find("fn main"));
        EXPECT_EQ(text.find("enable subgroups"), std::string::npos);
    }
}

TEST(Shader, AsksForSubgroupsOnlyWhereTheyAreUsed) {
    EXPECT_TRUE(
        shader(wgsl::gemv::module, Format::q4_k, {.reduction = Reduction::subgroup}).starts_with("enable subgroups;"));
    EXPECT_EQ(shader(wgsl::moe_combine::module, Format::f32, {.reduction = Reduction::subgroup}).find("enable"),
              std::string::npos);
}

TEST(Shader, MeetsWeightsInFloatingPointWithFloats) {
    const Variant limbs{.activations = Activations::limbs};
    EXPECT_NE(shader(wgsl::gemv::module, Format::q4_k, limbs).find("dot4I8Packed"), std::string::npos);
    EXPECT_EQ(shader(wgsl::gemv::module, Format::q4_k, {}).find("dot4I8Packed"), std::string::npos);
    EXPECT_EQ(shader(wgsl::gemv::module, Format::f16, limbs).find("dot4I8Packed"), std::string::npos);
}

TEST(Shader, SaysEverythingAboutASecondFormatOnceMoreUnderOtherNames) {
    const std::string one = shader(wgsl::gemv::module, Format::q4_k, {});
    const std::string two = shader(wgsl::gemv::module, {Format::q4_k, Format::q6_k}, {});
    EXPECT_EQ(one.find("_2("), std::string::npos);
    for (const std::string_view name :
         {"fn weights_1(", "fn weights_2(", "fn dots_2(", "kQuantVecs_2 * kQuantGroups_2"}) {
        EXPECT_NE(two.find(name), std::string::npos) << name;
    }
    // What both share keeps its name.
    for (const std::string_view name : {"stage_vec8", "small"}) {
        EXPECT_NE(two.find(name), std::string::npos) << name;
        EXPECT_EQ(two.find(std::string(name) + "_2"), std::string::npos) << name;
    }
}

TEST(Shader, KeepsKeysAndValuesInOneFormat) {
    for (const Module* kernel :
         {&wgsl::qk_norm_rope_store::module, &wgsl::flash_prefill::module, &wgsl::flash_decode::module}) {
        EXPECT_NE(shader(*kernel, Format::f32, {.kv = KvFormat::f16}).find("pack_halves(x.xy)"), std::string::npos);
        EXPECT_EQ(shader(*kernel, Format::f32, {.kv = KvFormat::q8}).find("pack_halves(x.xy)"), std::string::npos);
    }
    EXPECT_EQ(shader(wgsl::gemv::module, Format::f32, {}).find("fn kv_values"), std::string::npos);
}

}  // namespace
}  // namespace lapidary::kernels
