// How many workgroups a GPU computes side by side at full speed. WebGPU does not say, but kernels that should all be there
// at a time must know (gemv_persistent.wgsl).
#pragma once

#include "gpu/device.h"

namespace lapidary::infer {

// 0 where it cannot be found out.
Task<Result<uint32_t>> count_compute_units(gpu::Device& device, Cancel cancel);

// The search for the last number of workgroups, up to `most`, that takes no longer than one: the next number to be timed,
// until there is none. From below: many workgroups on few compute units take long.
class ComputeUnitSearch {
  public:
    explicit ComputeUnitSearch(uint32_t most) : most_(most) {}

    [[nodiscard]] uint32_t next() const;  // 0: done
    void took(double time);
    // What was found; 0 where the times do not say.
    [[nodiscard]] uint32_t found() const { return sure_ ? fits_ : 0; }

  private:
    // How long one takes is looked at twice, before and after: clocks may change meanwhile.
    enum class Stage : uint8_t { one, halves, one_again, as_many, one_more, done };

    Stage stage_ = Stage::one;
    double one_ = 0;
    uint32_t fits_ = 1;
    uint32_t too_many_ = 0;  // 0: that many were not seen yet
    uint32_t most_;
    bool sure_ = true;
};

}  // namespace lapidary::infer
