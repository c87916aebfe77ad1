// How fast each pair of a head's elements rotates, as the kernels want it: revolutions a position, in three parts.
#pragma once

#include <vector>

#include "infer/gpu_model.h"
#include "kernels/resources.h"

namespace lapidary::infer {

// [head_dim / 2] vec4, of full and of sliding layers; empty where the model has none of them. They lie in one buffer, each
// where a binding may begin, and where one of vec2 may, too.
struct RopeFrequencies {
    gpu::Tensor all, full, sliding;

    // The same part of a table that has a vec2 for each of their vec4.
    [[nodiscard]] gpu::Tensor in_table(const gpu::Tensor& table, bool is_sliding) const {
        const gpu::Binding& part = is_sliding ? sliding.at : full.at;
        return {.at = {table.at.buffer, part.offset / 2, part.size / 2}};
    }
};

// Angles a position as kernels want them: in revolutions, each as three numbers that add up to it, and a zero.
std::vector<float> rates_of(const std::vector<double>& frequencies);

Result<RopeFrequencies> rope_frequencies(kernels::Resources& resources, const GpuModel& model);

}  // namespace lapidary::infer
