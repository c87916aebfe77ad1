#include "train/train_ops.h"

#include "kernels/moe/expert_lists.h"
#include "kernels/moe/moe_ops.h"
#include "train/gpu_attention.h"

namespace lapidary::train {

using gpu::Tensor;
using infer::Activation;
using infer::Linear;
using lora::Target;

void TrainOps::add_pending(infer::Residual& stream, Tensor sum) {
    const infer::Residual::Pending& pending = stream.pending();
    const auto width = ptrdiff_t(r_.config().width);
    const auto weights = [&](ptrdiff_t index) {
        const auto first = pending.norms.begin() + index * width;
        return std::vector<float>(first, first + width);
    };
    Tensor x = pending.x;
    if (pending.x2) {
        r_.norm({.x = pending.x, .weights = weights(1), .y = saved_.dense});
        r_.norm({.base = saved_.dense, .x = pending.x2, .weights = weights(2), .y = saved_.mixed});
        x = saved_.mixed;
    }
    r_.norm({.base = stream.tensor(), .x = x, .weights = weights(0), .y = sum, .scale = pending.scale});
    stream.moved_to(sum);
}

Tensor TrainOps::make(Linear reader, const Activation& x) {
    if (x.stream == nullptr) return x.ready;
    infer::Residual& stream = *x.stream;
    if (stream.pending().changes()) add_pending(stream, reader == Linear::gate_up ? saved_.h1 : saved_.h2);
    if (x.norm.empty()) return stream.tensor();
    const Tensor normed = reader == Linear::qkv ? saved_.xn : saved_.u;
    r_.norm({.x = stream.tensor(), .weights = x.norm, .y = normed});
    return normed;
}

// What the layer gives. The norm behind the last one is the head's, of fewer rows.
Tensor TrainOps::add_rms_norm(infer::Residual& stream, const infer::Norm& next, Tensor y) {
    if (!next.empty() || !y)
        r_.program.refuse(Code::internal, "training adds to the stream where it is told, and norms later");
    add_pending(stream, y);
    return y;
}

Tensor TrainOps::linear(infer::LinearOf which, const Activation& x) {
    const infer::GpuLayer& w = r_.model.layers[which.layer];
    const Tensor in = make(which.which, x);
    switch (which.which) {
        case Linear::qkv: {
            const model::LayerConfig& shape = r_.config().layers[which.layer];
            uint64_t first = 0;
            for (const kernels::Weights& matrix : w.qkv) {
                r_.multiply(matrix, in, {.rows = saved_.qkv, .first = first});
                first += matrix.rows;
            }
            deltas_.add(Target::q, in, {.rows = saved_.qkv});
            deltas_.add(Target::k, in, {.rows = saved_.qkv, .first = shape.q_width()});
            deltas_.add(Target::v, in, {.rows = saved_.qkv, .first = shape.q_width() + shape.kv_width()});
            return saved_.qkv;
        }
        case Linear::o:
            r_.multiply(w.attn_output, in, {.rows = saved_.o});
            deltas_.add(Target::o, in, {.rows = saved_.o});
            return saved_.o;
        case Linear::down:
            r_.multiply(w.down, in, {.rows = saved_.y});
            deltas_.add(Target::down, in, {.rows = saved_.y});
            return saved_.y;
        case Linear::proj:
            r_.multiply(w.proj, in, {.rows = saved_.projected});
            deltas_.add(Target::proj, in, {.rows = saved_.projected});
            return saved_.projected;
        default: r_.program.refuse(Code::internal, "training has no product of that kind in a layer"); return {};
    }
}

Activation TrainOps::gelu_gate(infer::LinearOf which, const Activation& x, infer::LinearOf) {
    const uint32_t ffn = r_.config().layers[which.layer].ffn;
    const Tensor u = make(which.which, x);
    r_.multiply(r_.model.layers[which.layer].gate_up, u, {.rows = saved_.gate_up});
    deltas_.add(Target::gate, u, {.rows = saved_.gate_up});
    deltas_.add(Target::up, u, {.rows = saved_.gate_up, .first = ffn});
    r_.program.add(kernels::GeluGateRows{.g = saved_.gate_up, .y = saved_.ff, .cols = ffn, .rows = r_.t.tokens});
    return {.ready = saved_.ff};
}

Activation TrainOps::gelu_times_input(infer::LinearOf which, const Activation& x) {
    const Tensor h = make(which.which, x);
    r_.multiply(r_.model.layers[which.layer].inp_gate, h, {.rows = saved_.gate});
    deltas_.add(Target::inp_gate, h, {.rows = saved_.gate});
    r_.program.add(kernels::GeluGateRows{.g = saved_.gate,
                                         .y = saved_.gated,
                                         .by = r_.per_layer_inputs(which.layer),
                                         .cols = r_.config().per_layer_width,
                                         .rows = r_.t.tokens});
    return {.ready = saved_.gated};
}

Activation TrainOps::attend(const infer::Attention& a, Tensor qkv) {
    store_keys(a, qkv);
    train::attend(r_, a, saved_.q, saved_.attended);
    return {.ready = saved_.attended};
}

void TrainOps::store_keys(const infer::Attention& a, Tensor qkv) {
    r_.program.add(kernels::QkNormRope{.shape = qk_norm_rope_shape(r_, a, qkv),
                                       .position_ids = r_.t.position_ids,
                                       .norms = r_.t.head_norms[a.layer],
                                       .frequencies = frequencies_of(r_, a),
                                       .qkv = qkv,
                                       .q = saved_.q,
                                       .kv = a.kv.k});
}

Tensor TrainOps::experts(const infer::Experts& e, Tensor h) {
    const model::ExpertConfig& moe = r_.config().experts;
    const infer::GpuLayer& w = r_.model.layers[e.layer];
    r_.norm({.x = h, .weights = r_.router_norm(e.router_scale), .y = saved_.router_in});
    r_.multiply(w.router, saved_.router_in, {.rows = saved_.router_logits});
    r_.program.add(kernels::MoeRoute{.logits = saved_.router_logits,
                                     .scales = r_.program.floats(e.scales, "expert scales"),
                                     .ids = saved_.expert_ids,
                                     .weights = saved_.expert_weights,
                                     .experts = moe.count,
                                     .used = moe.used,
                                     .rows = r_.t.tokens});
    r_.program.add(kernels::ExpertLists{.ids = saved_.expert_ids,
                                        .lists = saved_.expert_lists,
                                        .experts = moe.count,
                                        .used = moe.used,
                                        .max_rows = r_.t.tokens});
    r_.norm({.x = h, .weights = e.norm, .y = saved_.expert_x});
    r_.multiply_experts(w.expert_gate_up, r_.expert_rows(saved_.expert_lists, moe.used), saved_.expert_x,
                        saved_.expert_gate_up);
    r_.program.add(
        kernels::GeluGateRows{
            .g = saved_.expert_gate_up, .y = saved_.expert_ff, .cols = moe.ffn, .rows = r_.expert_slots()},
        r_.t.slot_step);
    r_.multiply_experts(w.expert_down, r_.expert_rows(saved_.expert_lists, 1), saved_.expert_ff, saved_.expert_out);
    r_.program.add(kernels::MoeCombine{.weights = saved_.expert_weights,
                                       .x = saved_.expert_out,
                                       .y = saved_.experts,
                                       .cols = r_.config().width,
                                       .used = moe.used,
                                       .rows = r_.t.tokens});
    return saved_.experts;
}

}  // namespace lapidary::train
