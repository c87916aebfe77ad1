// One layer of Gemma. Everything that differs between one token, a prompt, and training is in Ops and Pass.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "infer/ops.h"
#include "infer/residual.h"
#include "model/config.h"
#include "model/weights.h"

namespace lapidary::infer {

// How far tokens go: through all layers, or until everything later tokens will read is in the caches.
enum class Depth : uint8_t { all, keys_and_values };

// What a run of the layers works on.
struct Pass {
    std::vector<kernels::KvView> kv;  // of each layer; empty where it stores none
    uint32_t context = 0;
    Depth depth = Depth::all;
    model::Region region = model::Region::prompt;
    gpu::Tensor normed = {};  // [rows, width]: where what the head reads goes
    // What each row sees (visible_rows.wgsl), on full and on sliding layers, where that is not what text sees.
    gpu::Tensor sees_full = {};
    gpu::Tensor sees_sliding = {};
};

// A model as its layers see it: shapes, names, and the small weights, which are on the CPU.
struct LayerSource {
    const model::Config& config;
    const model::WeightTable& table;
    std::function<Norm(const model::Weight&)> vector;
};

class TransformerLayer {
  public:
    TransformerLayer(const LayerSource& model, uint32_t index)
        : model_(model), index_(index), shape_(model.config.layers[index]), w_(model.table.layers[index]) {}

    void run(Ops& ops, Residual& h, const Pass& pass) const;
    // Only what later tokens will read.
    void keys_and_values(Ops& ops, Residual& h, const Pass& pass) const;
    [[nodiscard]] Attention heads(const Pass& pass) const;

  private:
    void attention(Ops& ops, Residual& h, const Pass& pass) const;
    void feed_forward(Ops& ops, Residual& h) const;
    void per_layer_input(Ops& ops, Residual& h) const;
    [[nodiscard]] Experts experts() const;
    [[nodiscard]] Norm norm(const model::Weight& weight) const { return model_.vector(weight); }
    [[nodiscard]] LinearOf matrix(Linear which) const { return {.layer = index_, .which = which}; }

    const LayerSource& model_;
    uint32_t index_;
    const model::LayerConfig& shape_;
    const model::LayerWeights& w_;
};

// All layers, or until everything later tokens will read is stored. → pass.normed = rms(h; output_norm)
void run_layers(Ops& ops, const LayerSource& model, Residual h, const Pass& pass);

}  // namespace lapidary::infer
