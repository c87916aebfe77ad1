#include "infer/transformer_layer.h"

#include "base/edition.h"

namespace lapidary::infer {

void TransformerLayer::run(Ops& ops, Residual& h, const Pass& pass) const {
    attention(ops, h, pass);
    feed_forward(ops, h);
    if (model_.config.per_layer_width > 0) per_layer_input(ops, h);
    const Norm scale = norm(w_.output_scale(pass.region));
    if (!scale.empty()) h.scale(scale[0]);
}

// h += rms(Wo · attention(rope(rms(q)), rope(rms(k)), rms(v)); post_attention_norm)
void TransformerLayer::attention(Ops& ops, Residual& h, const Pass& pass) const {
    const Activation x = h.normed(norm(w_.attn_norm));
    const gpu::Tensor qkv = ops.linear(matrix(Linear::qkv), x);  // [rows, q_width + 0, 1 or 2 kv_width]
    const Activation attended = ops.attend(heads(pass), qkv);    // [rows, q_width]
    h.add(ops.linear(matrix(Linear::o), attended), norm(w_.post_attention_norm));
}

void TransformerLayer::keys_and_values(Ops& ops, Residual& h, const Pass& pass) const {
    const Activation x = h.normed(norm(w_.attn_norm));
    ops.store_keys(heads(pass), ops.linear(matrix(Linear::qkv), x));
}

// h += rms(down · (gelu(gate · u) ⊙ (up · u)); post_ffw_norm), u = rms(h; ffn_norm); with experts both branches have a norm
// of their own before the sum.
void TransformerLayer::feed_forward(Ops& ops, Residual& h) const {
    const Activation u = h.normed(norm(w_.ffn_norm));
    const Activation ff = ops.gelu_gate(matrix(Linear::gate_up), u, matrix(Linear::down));
    const gpu::Tensor y = ops.linear(matrix(Linear::down), ff);
    if (!has_everything() || !w_.is_moe()) return h.add(y, norm(w_.post_ffw_norm));
    const gpu::Tensor e = ops.experts(experts(), h.tensor());
    h.add(y, norm(w_.post_ffw_norm_1), e, norm(w_.post_ffw_norm_2), norm(w_.post_ffw_norm));
}

// h += rms(proj · (gelu(inp_gate · h) ⊙ this layer's input); post_norm)
void TransformerLayer::per_layer_input(Ops& ops, Residual& h) const {
    const Activation gated = ops.gelu_times_input(matrix(Linear::inp_gate), h.plain());
    h.add(ops.linear(matrix(Linear::proj), gated), norm(w_.post_norm));
}

Attention TransformerLayer::heads(const Pass& pass) const {
    const uint32_t window = shape_.sliding ? model_.config.sliding_window : 0;
    return {.layer = index_,
            .shape = {.heads = shape_.heads, .kv_heads = shape_.kv_heads, .head_dim = shape_.head_dim},
            .kv = pass.kv[shape_.kv_layer],
            .visible = {.window = window,
                        .rows = shape_.sliding ? pass.sees_sliding : pass.sees_full,
                        .canvas = pass.region == model::Region::canvas},
            .max_keys = shape_.sliding ? window : pass.context,
            .sliding = shape_.sliding,
            .owns_kv = model_.config.owns_kv(index_),
            .values_are_keys = !w_.attn_v.present(),
            .norms_values = model_.config.norms_values};
}

Experts TransformerLayer::experts() const {
    return {.layer = index_,
            .router_scale = norm(w_.router_scale),
            .norm = norm(w_.pre_ffw_norm_2),
            .scales = norm(w_.expert_down_scale)};
}

void run_layers(Ops& ops, const LayerSource& model, Residual h, const Pass& pass) {
    const auto layers = uint32_t(model.config.layers.size());
    // Of the last layer that owns K and V only those may be wanted, and of those behind it nothing.
    const uint32_t complete = pass.depth == Depth::all ? layers : layers - model.config.shared_kv_layers - 1;
    for (uint32_t i = 0; i < complete; ++i) TransformerLayer(model, i).run(ops, h, pass);
    if (pass.depth == Depth::all) {
        h.make(h.normed(model.vector(model.table.output_norm)), pass.normed);
    } else {
        TransformerLayer(model, complete).keys_and_values(ops, h, pass);
    }
}

}  // namespace lapidary::infer
