// What the updates of a layer's matrices add to their products, and the gradients of that.
#pragma once

#include "train/recording.h"

namespace lapidary::train {

class LoraDeltas {
  public:
    // z: what A leaves of each update, kept for the way back. dropout: whether inputs of A are dropped.
    LoraDeltas(const Recording& recording, const Layout& layout, const LoraBuffers& lora, uint32_t layer,
               const std::array<gpu::Tensor, lora::kTargets>& z, bool dropout)
        : r_(recording), layout_(layout), lora_(lora), layer_(layer), z_(z), dropout_(dropout) {}

    // z = A · x, y += scale · B · z
    void add(lora::Target target, gpu::Tensor x, Columns y) const;
    // With dz = scale · Bᵀ · dy: dB += scale · dy · zᵀ, dA += dz · xᵀ, dx += Aᵀ · dz
    void add_backward(lora::Target target, gpu::Tensor x, Columns dy, gpu::Tensor dx) const;

  private:
    void sum_partials(uint32_t rank, gpu::Tensor z) const;

    const Recording& r_;
    const Layout& layout_;
    const LoraBuffers& lora_;
    uint32_t layer_;
    const std::array<gpu::Tensor, lora::kTargets>& z_;
    bool dropout_;
};

}  // namespace lapidary::train
