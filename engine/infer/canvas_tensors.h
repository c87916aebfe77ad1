// What a session of a model that writes by canvases has on the GPU for them, one tensor a line with its shape.
#pragma once

#include <vector>

#include "infer/gpu_model.h"
#include "kernels/canvas/canvas_ops.h"
#include "kernels/resources.h"

namespace lapidary::infer {

struct CanvasTensors {
    static Result<CanvasTensors> create(kernels::Resources& resources, const GpuModel& model);

    uint32_t length = 0;
    gpu::Tensor given;   // settings of a step, and its numbers (lib/canvas.wgsl)
    gpu::Tensor ids;     // [length] the canvas
    gpu::Tensor places;  // [length, 5] what the logits say of each place
    gpu::Tensor tokens;  // [length, 2] the most likely one and the one drawn
    gpu::Tensor report;  // [16 + 4 · length] what a step did

    // The logits of the last step, [length, vocabulary], in as few buffers as this GPU can bind; with the step that a part's
    // rows are counted by.
    struct Part {
        kernels::CanvasLogits logits;
        gpu::Tensor step;
    };
    std::vector<Part> parts;
};

}  // namespace lapidary::infer
