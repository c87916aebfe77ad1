#include <algorithm>

#include "reference/ops.h"
#include "train/cpu_pass.h"
#include "train/dropout.h"
#include "train/ops.h"

namespace lapidary::train {

using lora::Target;

void CpuPass::apply_backward(uint32_t layer, Target target, std::span<const float> x, std::span<const float> dy,
                             std::span<float> dx) const {
    if (!dx.empty()) {
        add_product_backward(model_.weights->matrix(*lora::weight_of(*model_.table, layer, target)), dy, dx);
    }
    const Slot* slot = trained_.layout->find(layer, target);
    if (slot == nullptr) return;
    const size_t a_size = slot->shape.rank * slot->shape.in;
    const size_t b_size = slot->shape.rank * slot->shape.out;
    const auto a = trained_.parameters.subspan(slot->a, a_size);
    const auto b = trained_.parameters.subspan(slot->b, b_size);
    const auto da = trained_.gradients.subspan(slot->a, a_size);
    const auto db = trained_.gradients.subspan(slot->b, b_size);
    const float probability = trained_.dropout.probability;
    if (probability == 0) return add_update_backward(slot->shape, a, b, x, dy, da, db, dx);
    // What was dropped gets no gradient, and what was kept counted more.
    std::vector<float> dkept(dx.size());
    add_update_backward(slot->shape, a, b, with_dropout(*slot, x), dy, da, db, dkept);
    const std::vector<float> through = with_dropout(*slot, dkept);
    for (size_t i = 0; i < dx.size(); ++i) dx[i] += through[i];
}

void CpuPass::norm_backward(std::span<const float> x, std::span<const float> w, uint32_t n, std::span<const float> dy,
                            std::span<float> dx) const {
    rms_norm_backward(x, w, n, config_.norm_epsilon, dy, dx);
}

bool CpuPass::needed_before_networks(uint32_t layer) const {
    const auto trained = [&](Target target) { return trained_.layout->find(layer, target) != nullptr; };
    return needed_before(layer) || trained(Target::q) || trained(Target::k) || trained(Target::v) || trained(Target::o);
}

// Every sub-layer adds to the residual stream, so its gradient is what is there already plus what comes through it.
void CpuPass::backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh) {
    for (float& v : dh) v *= model_.small.layers[layer].output_scale;
    if (config_.per_layer_width > 0) per_layer_backward(layer, saved, dh);
    network_backward(layer, saved, dh);
    if (needed_before_networks(layer)) attention_backward(layer, saved, dh);
    forget_keys(layer);
}

void CpuPass::per_layer_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh) {
    const std::vector<float> inputs = layer_inputs(layer);
    std::vector<float> dple(saved.ple.size());
    norm_backward(saved.ple, model_.small.layers[layer].post_norm, config_.width, dh, dple);
    std::vector<float> gate = saved.ple_gate;
    reference::gelu_gate(gate, inputs);
    std::vector<float> dgated(gate.size());
    apply_backward(layer, Target::proj, gate, dple, dgated);
    std::vector<float> dgate(gate.size());
    gelu_gate_backward(saved.ple_gate, inputs, dgated, dgate, {});
    apply_backward(layer, Target::inp_gate, saved.h2, dgate, dh);
}

void CpuPass::network_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh) {
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const uint32_t d = config_.width;
    std::vector<float> dsum(dh.size());
    norm_backward(network_sum(layer, saved), vectors.post_ffw_norm, d, dh, dsum);
    std::vector<float> ddown(dh.size());
    if (saved.experts.empty()) {
        ddown = std::move(dsum);
    } else {
        norm_backward(saved.down, vectors.post_ffw_norm_1, d, dsum, ddown);
        std::vector<float> dexperts(dh.size());
        norm_backward(saved.experts, vectors.post_ffw_norm_2, d, dsum, dexperts);
        if (needed_before_networks(layer)) experts_backward(layer, saved.h1, dexperts, dh);
    }
    std::vector<float> dgated(saved.gate.size());
    apply_backward(layer, Target::down, gated(layer, saved), ddown, dgated);
    std::vector<float> dgate(saved.gate.size());
    std::vector<float> dup(saved.gate.size());
    gelu_gate_backward(saved.gate, saved.up, dgated, dgate, dup);
    const std::vector<float> u = normed(saved.h1, vectors.ffn_norm, d);
    std::vector<float> du(needed_before_networks(layer) ? u.size() : 0);
    apply_backward(layer, Target::gate, u, dgate, du);
    apply_backward(layer, Target::up, u, dup, du);
    if (!du.empty()) norm_backward(saved.h1, vectors.ffn_norm, d, du, dh);
}

void CpuPass::attention_backward(uint32_t layer, const CpuSavedActivations& saved, std::span<float> dh) {
    const model::LayerConfig& shape = config_.layers[layer];
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const uint32_t width = shape.q_width();
    std::vector<float> dout(dh.size());
    norm_backward(saved.o, vectors.post_attention_norm, config_.width, dh, dout);
    std::vector<float> dattended(saved.attended.size());
    apply_backward(layer, Target::o, saved.attended, dout, dattended);

    KeysAndValues& kv = kv_[shape.kv_layer];
    kv.dk.resize(kv.k.size());
    kv.dv.resize(kv.v.size());
    std::vector<float> q = normed(saved.q, vectors.q_norm, shape.head_dim);
    turn(layer, q, width, false);
    std::vector<float> dq(q.size());
    for (size_t t = 0; t < example_.size(); ++t) {
        train::attention_backward({shape.heads, shape.kv_heads, shape.head_dim}, std::span(q).subspan(t * width, width),
                                  kv.k, kv.v, visible_from(layer, t), uint32_t(t) + 1,
                                  std::span(dattended).subspan(t * width, width),
                                  std::span(dq).subspan(t * width, width), kv.dk, kv.dv);
    }
    turn(layer, dq, width, true);
    std::vector<float> dq_raw(q.size());
    norm_backward(saved.q, vectors.q_norm, shape.head_dim, dq, dq_raw);

    const std::vector<float> x = normed(saved.h, vectors.attn_norm, config_.width);
    std::vector<float> dx(needed_before(layer) ? x.size() : 0);
    apply_backward(layer, Target::q, x, dq_raw, dx);
    if (config_.owns_kv(layer)) {
        // By now every layer that shares these keys and values has added its part.
        turn(layer, kv.dk, shape.kv_width(), true);
        std::vector<float> dk_raw(saved.k.size());
        norm_backward(saved.k, vectors.k_norm, shape.head_dim, kv.dk, dk_raw);
        if (saved.v.empty()) {  // the raw keys are the values too: both gradients add up
            norm_backward(saved.k, {}, shape.head_dim, kv.dv, dk_raw);
        } else if (config_.norms_values) {
            std::vector<float> dv_raw(saved.v.size());
            norm_backward(saved.v, {}, shape.head_dim, kv.dv, dv_raw);
            apply_backward(layer, Target::v, x, dv_raw, dx);
        } else {
            apply_backward(layer, Target::v, x, kv.dv, dx);
        }
        apply_backward(layer, Target::k, x, dk_raw, dx);
    }
    if (!dx.empty()) norm_backward(saved.h, vectors.attn_norm, config_.width, dx, dh);
}

}  // namespace lapidary::train
