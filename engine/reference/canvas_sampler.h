// From the logits of a canvas to the next canvas: every place draws a token, those that the model is surest of are kept, the
// others become noise again; and whether it has settled.
#pragma once

#include "model/canvas_runner.h"

namespace lapidary::reference {

class CanvasSampler {
  public:
    // logits: [length, vocabulary]. canvas: what they were computed of; becomes what the next step looks at.
    CanvasOutcome step(std::span<const float> logits, const CanvasStep& step, CanvasView view,
                       std::vector<int32_t>& canvas);
    [[nodiscard]] const std::vector<int32_t>& argmax() const { return argmax_; }

  private:
    std::vector<int32_t> argmax_;  // of the last step; empty before the first
    uint32_t unchanged_ = 0;       // steps before that one with the same
};

}  // namespace lapidary::reference
