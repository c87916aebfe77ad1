// The canvas of a diffusion model on the GPU: a step is one submit, and the canvas itself never comes back, only what is said of it.
#pragma once

#include "infer/canvas_tensors.h"
#include "infer/kernel_time.h"
#include "model/canvas_runner.h"

namespace lapidary::infer {

class GpuRunner;

class GpuCanvas final : public CanvasRunner {
  public:
    explicit GpuCanvas(GpuRunner& runner) : runner_(runner) {}

    [[nodiscard]] uint32_t length() const override;
    Status begin(std::span<const int32_t> ids) override;
    Task<Result<CanvasOutcome>> step(CanvasStep step, CanvasView view, Breathe breathe) override;
    Task<Result<std::vector<int32_t>>> result() override;
    Task<Result<std::vector<float>>> logits() override;
    Status replace(std::span<const int32_t> ids) override;

    // Of a step, once one was.
    [[nodiscard]] size_t dispatches() const;
    // GPU milliseconds of a step, the mean of `repeat` from where the runner is.
    Task<Result<double>> time_step(uint32_t repeat, Cancel cancel);
    // The same by kernel and grid, each measured by itself, behind a step that was conditioned on another.
    Task<Result<std::vector<KernelTime>>> profile_step(Cancel cancel);

  private:
    [[nodiscard]] const CanvasTensors& tensors() const;

    GpuRunner& runner_;
    float temperature_ = 0;  // of the last step; 0: there was none
};

}  // namespace lapidary::infer
