// The verbs of a layer for many tokens at a time, with those that go to the same expert together: each expert's weights are read
// once for all of them, and one dispatch does what lies before the experts.
#pragma once

#include "infer/gpu_ops.h"

namespace lapidary::infer {

class GroupedOps final : public GpuOps {
  public:
    using GpuOps::GpuOps;
    gpu::Tensor experts(const Experts& experts, gpu::Tensor h) override;

  private:
    // The same as GpuOps::route by one dispatch, where the router's weights are floats.
    Routed route_at_once(const Experts& experts, gpu::Tensor h);
};

}  // namespace lapidary::infer
