#include "infer/gpu_recorder.h"

#include <gtest/gtest.h>

#include "gpu/plan_device.h"

namespace lapidary::infer {
namespace {

TEST(GpuRecorder, LabelsPipelinesWithWhatDecidedTheirText) {
    gpu::PlanDevice device({});
    const auto label = [&](PipelineWanted wanted, kernels::Variant variant) {
        GpuResources resources(device, variant);
        EXPECT_TRUE(resources.make_pipelines({&wanted, 1}, {}).run_now().value());
        return device.pipeline(resources.pipeline(wanted)).label;
    };
    using enum kernels::Reduction;
    using enum kernels::Activations;
    const PipelineWanted product{.kernel = &kernels::kMatvec, .formats = kernels::Format::q4_k, .constants = {}};
    EXPECT_EQ(label(product, {.reduction = subgroup, .activations = planes}), "matvec.q4_k subgroup planes");
    EXPECT_EQ(label(product, {.reduction = shared, .activations = floats}), "matvec.q4_k shared floats");
    const PipelineWanted attention{
        .kernel = &kernels::kAttentionDecode, .formats = kernels::Format::f32, .constants = {}};
    EXPECT_EQ(label(attention, {.reduction = subgroup, .kv = KvFormat::q8}), "attention_decode subgroup q8");
}

}  // namespace
}  // namespace lapidary::infer
