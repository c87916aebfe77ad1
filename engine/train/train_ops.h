// The verbs of a layer for training: nothing is fused, and every result is kept for the way back.
#pragma once

#include "infer/transformer_layer.h"
#include "train/lora_deltas.h"

namespace lapidary::train {

// Of one layer: `saved` is in its shapes.
class TrainOps final : public infer::Ops {
  public:
    TrainOps(const Recording& recording, const LoraDeltas& deltas, const SavedActivations& saved)
        : r_(recording), deltas_(deltas), saved_(saved) {}

    gpu::Tensor linear(infer::LinearOf which, const infer::Activation& x) override;
    infer::Activation gelu_gate(infer::LinearOf which, const infer::Activation& x, infer::LinearOf reader) override;
    infer::Activation gelu_times_input(infer::LinearOf which, const infer::Activation& x) override;
    infer::Activation attend(const infer::Attention& attention, gpu::Tensor qkv) override;
    void store_keys(const infer::Attention& attention, gpu::Tensor qkv) override;
    gpu::Tensor experts(const infer::Experts& experts, gpu::Tensor h) override;
    gpu::Tensor add_rms_norm(infer::Residual& stream, const infer::Norm& next, gpu::Tensor y) override;
    [[nodiscard]] bool adds_branches_at_once() const override { return false; }

  private:
    // What a product reads: of the residual stream each reader has its own.
    gpu::Tensor make(infer::Linear reader, const infer::Activation& x);
    // What is pending is added to the stream, which is `sum` from then on; what it was stays where it is.
    void add_pending(infer::Residual& stream, gpu::Tensor sum);

    const Recording& r_;
    const LoraDeltas& deltas_;
    const SavedActivations& saved_;
};

}  // namespace lapidary::train
