#include "infer/gpu_choice.h"

#include <gtest/gtest.h>

#include "testing/lazy_device.h"

namespace lapidary::infer {
namespace {

using kernels::Activations;
using kernels::Reduction;
using kernels::Variant;

bool same(std::optional<Variant> a, Variant b) {
    return a && a->reduction == b.reduction && a->activations == b.activations;
}

TEST(GpuChoice, GivesUpWholeNumbersWhenOnlyProductsAreWrong) {
    const Variant fastest{Reduction::subgroup, Activations::planes};
    EXPECT_TRUE(same(safer_variant(fastest, true), {Reduction::subgroup, Activations::floats}));
    EXPECT_TRUE(same(safer_variant(fastest, false), {Reduction::shared, Activations::planes}));
    EXPECT_TRUE(same(safer_variant({Reduction::subgroup, Activations::floats}, true),
                     {Reduction::shared, Activations::floats}));
    EXPECT_TRUE(
        same(safer_variant({Reduction::shared, Activations::planes}, false), {Reduction::shared, Activations::floats}));
}

TEST(GpuChoice, EndsAtTheSafestVariant) {
    EXPECT_FALSE(safer_variant({}, true).has_value());
    EXPECT_FALSE(safer_variant({}, false).has_value());
}

TEST(GpuChoice, RefusesAGpuThatComputesNothing) {
    testing::LazyDevice device(true);
    GpuChooser chooser;
    double time = 0;
    const auto result =
        chooser.choose(device, {kernels::Format::q4_k, kernels::Format::f16}, [&] { return time += 1; }, {}).run_now();
    ASSERT_TRUE(result && !*result);
    EXPECT_EQ(result->error().code, Code::unsupported);
    EXPECT_NE(result->error().message.find("matvec"), std::string::npos) << result->error().message;
    EXPECT_EQ(device.live(), 0u) << "everything was given back";
}

}  // namespace
}  // namespace lapidary::infer
