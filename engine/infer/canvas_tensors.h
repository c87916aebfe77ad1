// What a session of a model that writes by canvases has on the GPU for them, one tensor a line with its shape, and what host and
// GPU tell each other through them.
#pragma once

#include <vector>

#include "kernels/canvas/canvas_ops.h"
#include "kernels/resources.h"
#include "model/canvas_runner.h"

namespace lapidary::infer {

struct CanvasTensors {
    static Result<CanvasTensors> create(kernels::Resources& resources, uint32_t length, uint32_t vocabulary);

    Status write_ids(gpu::Device& device, std::span<const int32_t> of_canvas) const;
    // What a step is given. `previous_temperature`: of the step before, 0 where there was none.
    void write_given(gpu::Device& device, const CanvasStep& step, float previous_temperature) const;
    // What the last step reported.
    Task<Result<CanvasOutcome>> read_outcome(gpu::Device& device, CanvasView view) const;
    Task<Result<std::vector<int32_t>>> read_argmax(gpu::Device& device) const;

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
