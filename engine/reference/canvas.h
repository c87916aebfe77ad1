// The canvas of a diffusion model on the CPU: what every faster version must equal.
#pragma once

#include "model/canvas_runner.h"
#include "reference/canvas_sampler.h"

namespace lapidary::reference {

class Forward;

class Canvas final : public CanvasRunner {
  public:
    explicit Canvas(Forward& forward) : forward_(forward) {}

    [[nodiscard]] uint32_t length() const override;
    Status begin(std::span<const int32_t> ids) override;
    Task<Result<CanvasOutcome>> step(CanvasStep step, CanvasView view, Breathe breathe) override;
    Task<Result<std::vector<int32_t>>> result() override { co_return sampler_.argmax(); }
    Task<Result<std::vector<float>>> logits() override { co_return logits_; }
    Status replace(std::span<const int32_t> ids) override;

  private:
    // [length, vocabulary], soft-capped.
    Task<Result<std::vector<float>>> decode(Breathe breathe);
    // down · (gelu(gate · m) ⊙ (up · m)), m = rms(√d · softmax(logits / t) · E). [length, d]
    std::vector<float> self_conditioning() const;
    std::vector<float> soft_embeddings() const;

    Forward& forward_;
    std::vector<int32_t> ids_;
    std::vector<float> logits_;  // of the last step; empty before the first
    float temperature_ = 0;      // that it divided them by
    CanvasSampler sampler_;
};

}  // namespace lapidary::reference
