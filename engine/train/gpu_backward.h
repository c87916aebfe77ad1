// The way of the gradients back through a layer: from dh, by what the layer gives, to dh, by what it gets. Both are already
// multiplied with the output scale of the layer they belong to, or that below.
#pragma once

#include <utility>

#include "infer/ops.h"
#include "train/lora_deltas.h"

namespace lapidary::train {

class LayerBackward {
  public:
    LayerBackward(const Recording& recording, const LoraDeltas& deltas, const SavedActivations& saved,
                  infer::Attention attention)
        : r_(recording), deltas_(deltas), saved_(saved), attention_(std::move(attention)), layer_(attention_.layer) {}

    void run() const;

  private:
    void per_layer_input() const;
    void feed_forward() const;
    void experts() const;
    void attention() const;
    // The last layer that attends to the same keys and values: the first to leave a gradient there.
    [[nodiscard]] bool is_last_reader() const;
    [[nodiscard]] const model::LayerWeights& names() const { return r_.model.table().layers[layer_]; }
    [[nodiscard]] const infer::GpuLayer& weights() const { return r_.model.layers[layer_]; }
    [[nodiscard]] const model::LayerConfig& shape() const { return r_.config().layers[layer_]; }

    const Recording& r_;
    const LoraDeltas& deltas_;
    const SavedActivations& saved_;
    infer::Attention attention_;
    uint32_t layer_;
};

}  // namespace lapidary::train
