// The weights that are small and needed at every token, decoded once: norms, scales, the angles of RoPE.
#pragma once

#include <vector>

#include "model/config.h"
#include "model/weights.h"
#include "reference/weights.h"

namespace lapidary::reference {

struct LayerVectors {
    // q_norm has the scale of attention in it.
    std::vector<float> attn_norm, q_norm, k_norm, post_attention_norm, ffn_norm, post_ffw_norm, post_norm;
    std::vector<float> router_scale, expert_down_scale, pre_ffw_norm_2, post_ffw_norm_1, post_ffw_norm_2;
    float output_scale = 1;
    float canvas_output_scale = 1;
};

struct SmallWeights {
    std::vector<LayerVectors> layers;
    std::vector<float> output_norm;
    std::vector<float> per_layer_proj_norm;
    std::vector<float> self_conditioning_norm;
    std::vector<double> rope_full;  // [head_dim / 2]: the angle a position adds to each pair
    std::vector<double> rope_sliding;
};

SmallWeights decode_small(const model::Config& config, const model::WeightTable& table, const Weights& weights);

}  // namespace lapidary::reference
