// How fast each pair of a head's elements turns, as the kernels want it.
#pragma once

#include "infer/gpu_model.h"
#include "infer/gpu_recorder.h"

namespace lapidary::infer {

// [head_dim / 2] vec4, of full and of sliding layers; empty where the model has none of them. They lie in one buffer, each
// where a binding may begin, and where one of vec2 may, too.
struct RopeRates {
    gpu::Binding all, full, sliding;
};

Result<RopeRates> rope_rates(GpuResources& resources, const GpuModel& model);

}  // namespace lapidary::infer
