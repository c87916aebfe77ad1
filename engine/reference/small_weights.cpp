#include "reference/small_weights.h"

#include "reference/ops.h"

namespace lapidary::reference {

SmallWeights decode_small(const model::Config& config, const model::WeightTable& table, const Weights& weights) {
    const auto decoded = [&](const model::Weight& weight) { return weights.vector(weight); };
    SmallWeights out;
    for (const model::LayerWeights& layer : table.layers) {
        LayerVectors v{.attn_norm = decoded(layer.attn_norm),
                       .q_norm = decoded(layer.attn_q_norm),
                       .k_norm = decoded(layer.attn_k_norm),
                       .post_attention_norm = decoded(layer.post_attention_norm),
                       .ffn_norm = decoded(layer.ffn_norm),
                       .post_ffw_norm = decoded(layer.post_ffw_norm),
                       .post_norm = decoded(layer.post_norm),
                       .router_scale = decoded(layer.router_scale),
                       .expert_down_scale = decoded(layer.expert_down_scale),
                       .pre_ffw_norm_2 = decoded(layer.pre_ffw_norm_2),
                       .post_ffw_norm_1 = decoded(layer.post_ffw_norm_1),
                       .post_ffw_norm_2 = decoded(layer.post_ffw_norm_2)};
        // Scaling queries in their norm scales what they give with every key.
        for (float& value : v.q_norm) value *= config.attention_scale;
        const auto scale_of = [&](model::Region region) {
            const model::Weight& scale = layer.output_scale(region);
            return scale.present() ? decoded(scale)[0] : 1.0f;
        };
        v.output_scale = scale_of(model::Region::prompt);
        v.canvas_output_scale = scale_of(model::Region::canvas);
        out.layers.push_back(std::move(v));
    }
    out.output_norm = decoded(table.output_norm);
    out.per_layer_proj_norm = decoded(table.per_layer_proj_norm);
    out.self_conditioning_norm = decoded(table.self_conditioning.norm);
    for (const model::LayerConfig& layer : config.layers) {
        if (layer.sliding) {
            out.rope_sliding = rope_frequencies(layer.head_dim, config.rope_base_sliding, {});
        } else {
            std::vector<float> divisors = decoded(table.rope_freqs);
            if (divisors.empty()) {
                divisors = default_rope_divisors(layer.head_dim, config.rotary_fraction_full, config.rope_factor_full);
            }
            out.rope_full = rope_frequencies(layer.head_dim, config.rope_base_full, divisors);
        }
    }
    return out;
}

}  // namespace lapidary::reference
