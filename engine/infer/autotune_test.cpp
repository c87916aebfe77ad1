#include "infer/autotune.h"

#include <gtest/gtest.h>

#include "infer/autotune_text.h"
#include "testing/lazy_device.h"

namespace lapidary::infer {
namespace {

using kernels::Activations;
using kernels::Reduction;
using kernels::Variant;

bool same(std::optional<Variant> a, Variant b) {
    return a && a->reduction == b.reduction && a->activations == b.activations;
}

TEST(Autotune, GivesUpWholeNumbersWhenOnlyProductsAreWrong) {
    const Variant fastest{Reduction::subgroup, Activations::limbs};
    EXPECT_TRUE(same(safer_variant(fastest, true), {Reduction::subgroup, Activations::floats}));
    EXPECT_TRUE(same(safer_variant(fastest, false), {Reduction::shared, Activations::limbs}));
    EXPECT_TRUE(same(safer_variant({Reduction::subgroup, Activations::floats}, true),
                     {Reduction::shared, Activations::floats}));
    EXPECT_TRUE(
        same(safer_variant({Reduction::shared, Activations::limbs}, false), {Reduction::shared, Activations::floats}));
}

TEST(Autotune, EndsAtTheSafestVariant) {
    EXPECT_FALSE(safer_variant({}, true).has_value());
    EXPECT_FALSE(safer_variant({}, false).has_value());
}

TEST(Autotune, RefusesAGpuThatComputesNothing) {
    testing::LazyDevice device(true);
    Autotuner chooser;
    double time = 0;
    const auto result =
        chooser.choose(device, {kernels::Format::q4_k, kernels::Format::f16}, [&] { return time += 1; }, {}).run_now();
    ASSERT_TRUE(result && !*result);
    EXPECT_EQ(result->error().code, Code::unsupported);
    EXPECT_NE(result->error().message.find("gemv"), std::string::npos) << result->error().message;
    EXPECT_EQ(device.live(), 0u) << "everything was given back";
}

gpu::Info modern_gpu() {
    gpu::Info info;
    info.adapter = "acme one";
    info.subgroups = true;
    info.subgroup_min = 32;
    info.packed_dot = true;
    return info;
}

KnownGpu known_gpu() {
    return {.variant = {Reduction::subgroup, Activations::floats},
            .compute_units = 132,
            .tested = {kernels::Format::q4_k, kernels::Format::f32}};
}

TEST(AutotuneText, ComesBackAsItWas) {
    const gpu::Info info = modern_gpu();
    const std::string text = autotune_text(info, known_gpu());
    for (const std::string& lines : {text, text + "\n", "something else\n" + text + "\n1-2-3-4"}) {
        const auto known = read_autotune_text(info, lines);
        ASSERT_TRUE(known) << lines;
        EXPECT_TRUE(same(known->variant, {Reduction::subgroup, Activations::floats}));
        EXPECT_EQ(known->compute_units, 132u);
        EXPECT_EQ(known->tested, known_gpu().tested);
    }
}

TEST(AutotuneText, IsOfNoUseToAnotherGpu) {
    const std::string text = autotune_text(modern_gpu(), known_gpu());
    gpu::Info other = modern_gpu();
    other.adapter = "acme two";
    EXPECT_FALSE(read_autotune_text(other, text));
    other = modern_gpu();
    other.max_workgroup_bytes = 32768;
    EXPECT_FALSE(read_autotune_text(other, text)) << "what it is given depends on its limits";
    other = modern_gpu();
    other.subgroups = false;
    EXPECT_FALSE(read_autotune_text(other, text));
}

TEST(AutotuneText, IsIgnoredWhenAnyCharacterIsAnother) {
    const gpu::Info info = modern_gpu();
    const std::string text = autotune_text(info, known_gpu());
    for (size_t i = 0; i < text.size(); ++i) {
        for (const char c : {'0', '1', 'f', '-', ' ', '\n', '\0', '\xff'}) {
            std::string damaged = text;
            damaged[i] = c;
            if (damaged != text) EXPECT_FALSE(read_autotune_text(info, damaged)) << damaged;
        }
        EXPECT_FALSE(read_autotune_text(info, text.substr(0, i)));
        EXPECT_FALSE(read_autotune_text(info, std::string(text).insert(i, "0")));
    }
    EXPECT_FALSE(read_autotune_text(info, std::string(1 << 20, '\n') + text)) << "nobody wrote that much";
}

TEST(AutotuneText, GivesAGpuNoMoreThanItSaysItCanDo) {
    gpu::Info plain = modern_gpu();
    plain.packed_dot = false;
    // Whoever forges a line can get everything right but this.
    const std::string forged =
        autotune_text(plain, {.variant = {Reduction::subgroup, Activations::limbs}, .tested = {}});
    EXPECT_FALSE(read_autotune_text(plain, forged));
    EXPECT_TRUE(read_autotune_text(plain, autotune_text(plain, known_gpu())));
}

TEST(Autotune, TriesNothingThatAnEarlierProcessHasTried) {
    testing::LazyDevice device(true);  // it would be refused: it computes nothing
    const std::string text = autotune_text(device.info(), known_gpu());
    Autotuner chooser;
    chooser.remember(device.info(), text);
    const auto now = [] { return 0.0; };
    const auto result = chooser.choose(device, {kernels::Format::f32, kernels::Format::q4_k}, now, {}).run_now();
    ASSERT_TRUE(result && *result) << result->error().message;
    EXPECT_TRUE((*result)->remembered);
    EXPECT_TRUE(same((*result)->variant, known_gpu().variant));
    EXPECT_EQ(chooser.text(device.info()), text);
    const auto other = chooser.choose(device, {kernels::Format::q4_k, kernels::Format::q6_k}, now, {}).run_now();
    EXPECT_TRUE(other && !*other) << "a format it has not seen is tried";
}

TEST(Autotune, ForgetsAnEarlierProcessWhenItHasFoundOutMore) {
    testing::LazyDevice device(true);
    Autotuner chooser;
    EXPECT_EQ(chooser.text(device.info()), "");
    chooser.remember(device.info(), autotune_text(device.info(), known_gpu()));
    const std::string before = chooser.text(device.info());
    chooser.remember(device.info(), autotune_text(device.info(), {.variant = {}, .tested = {}}));
    EXPECT_EQ(chooser.text(device.info()), before);
}

}  // namespace
}  // namespace lapidary::infer
