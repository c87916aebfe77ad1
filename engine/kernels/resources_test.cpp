#include "kernels/resources.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"
#include "kernels/attention/flash_decode.h"
#include "kernels/gemv/gemv.h"

namespace lapidary::kernels {
namespace {

// The label of the pipeline that an op gets.
template <class Op>
std::string label_of(const Op& op, Variant variant) {
    gpu::PlanDevice device({});
    Resources resources(device, variant);
    const auto dispatch = op.dispatch(resources.target());
    EXPECT_TRUE(dispatch);
    EXPECT_TRUE(resources.make_pipelines({&*dispatch, 1}, {}).run_now().value());
    return device.pipeline(resources.pipeline(*dispatch)).label;
}

TEST(Resources, LabelPipelinesWithWhatDecidedTheirText) {
    using enum Reduction;
    using enum Activations;
    const Weights w{.format = Format::q4_k, .cols = 256, .rows = 16, .pieces = {{.binding = {1, 0, 16}, .rows = 16}}};
    const Gemv product{.w = w, .x = {.at = {2, 0, 16}}, .y = {.at = {3, 0, 16}}, .out = 16};
    EXPECT_EQ(label_of(product, {.reduction = subgroup, .activations = limbs}), "gemv.q4_k subgroup limbs");
    EXPECT_EQ(label_of(product, {.reduction = shared, .activations = floats}), "gemv.q4_k shared floats");
    const FlashDecode attention{.shape = {.heads = 2, .kv_heads = 1, .head_dim = 64}};
    EXPECT_EQ(label_of(attention, {.reduction = subgroup, .kv = KvFormat::q8}), "flash_decode subgroup q8");
}

}  // namespace
}  // namespace lapidary::kernels
