// The sampler of a canvas on the GPU: the last two kernels of a step, in a program with a model and in one of its own, where the
// logits are given.
#pragma once

#include <memory>

#include "infer/canvas_tensors.h"
#include "kernels/program.h"

namespace lapidary::infer {

// What the logits of a part of the canvas say of each place.
void record_places(kernels::Program& program, const CanvasTensors& canvas, const CanvasTensors::Part& part,
                   uint32_t vocabulary);
// What becomes of the canvas.
void record_settling(kernels::Program& program, const CanvasTensors& canvas);

class CanvasRule {
  public:
    static Task<Result<std::unique_ptr<CanvasRule>>> create(gpu::Device& device, uint32_t length, uint32_t vocabulary,
                                                            Cancel cancel);
    Status begin(std::span<const int32_t> ids);
    // logits: [length, vocabulary]
    Task<Result<CanvasOutcome>> step(std::span<const float> logits, CanvasStep step);
    // What the next step would look at.
    Task<Result<std::vector<int32_t>>> canvas();

  private:
    CanvasRule(gpu::Device& device, kernels::Variant variant) : resources_(device, variant) {}

    kernels::Resources resources_;
    CanvasTensors tensors_;
    gpu::Id program_ = 0;
    float temperature_ = 0;  // of the last step
};

}  // namespace lapidary::infer
