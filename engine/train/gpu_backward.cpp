#include "train/gpu_backward.h"

#include "kernels/moe/moe_ops.h"
#include "kernels/train/moe_route_backward.h"
#include "train/gpu_attention.h"

namespace lapidary::train {

using gpu::Tensor;
using lora::Target;

bool LayerBackward::is_last_reader() const {
    const std::vector<model::LayerConfig>& layers = r_.config().layers;
    for (size_t i = layer_ + size_t{1}; i < layers.size(); ++i) {
        if (layers[i].kv_layer == shape().kv_layer) return false;
    }
    return true;
}

void LayerBackward::run() const {
    if (r_.config().per_layer_width > 0) per_layer_input();
    feed_forward();
    attention();
}

void LayerBackward::per_layer_input() const {
    const TrainTensors& t = r_.t;
    r_.norm_backward({.x = saved_.projected, .weights = r_.vector(names().post_norm), .dy = t.dh, .dx = t.d1});
    r_.multiply_backward(weights().proj, {.rows = t.d1}, t.dgated, false);
    deltas_.add_backward(Target::proj, saved_.gated, {.rows = t.d1}, t.dgated);
    r_.program.add(kernels::GeluGateBackward{.dy = t.dgated,
                                             .g = saved_.gate,
                                             .by = r_.per_layer_inputs(layer_),
                                             .cols = r_.config().per_layer_width,
                                             .rows = t.tokens});
    r_.multiply_backward(weights().inp_gate, {.rows = saved_.gate}, t.dh, true);
    deltas_.add_backward(Target::inp_gate, saved_.h2, {.rows = saved_.gate}, t.dh);
}

void LayerBackward::feed_forward() const {
    const TrainTensors& t = r_.t;
    const bool moe = names().is_moe();
    r_.norm_backward(
        {.x = moe ? saved_.mixed : saved_.y, .weights = r_.vector(names().post_ffw_norm), .dy = t.dh, .dx = t.d1});
    if (moe) experts();
    const Tensor dy = moe ? t.d3 : t.d1;
    r_.multiply_backward(weights().down, {.rows = dy}, t.dff, false);
    deltas_.add_backward(Target::down, saved_.ff, {.rows = dy}, t.dff);
    r_.program.add(kernels::GeluGateBackward{.dy = t.dff, .g = saved_.gate_up, .cols = shape().ffn, .rows = t.tokens});
    r_.multiply_backward(weights().gate_up, {.rows = saved_.gate_up}, t.d2, false);
    deltas_.add_backward(Target::gate, saved_.u, {.rows = saved_.gate_up}, t.d2);
    deltas_.add_backward(Target::up, saved_.u, {.rows = saved_.gate_up, .first = shape().ffn}, t.d2);
    r_.norm_backward({.x = saved_.h1, .weights = r_.vector(names().ffn_norm), .dy = t.d2, .dx = t.dh, .add = true});
}

// From d1, by what both branches give together, to d3, by what the dense one gives; what goes through the experts and their
// router is added to dh.
void LayerBackward::experts() const {
    const TrainTensors& t = r_.t;
    const model::ExpertConfig& moe = r_.config().experts;
    const kernels::GroupedRows rows = r_.expert_rows(saved_.expert_lists, 1);
    r_.norm_backward({.x = saved_.experts, .weights = r_.vector(names().post_ffw_norm_2), .dy = t.d1, .dx = t.d2});
    r_.norm_backward({.x = saved_.y, .weights = r_.vector(names().post_ffw_norm_1), .dy = t.d1, .dx = t.d3});
    r_.program.add(
        kernels::MoeRouteBackward{.ids = saved_.expert_ids,
                                  .weights = saved_.expert_weights,
                                  .scales = r_.program.floats(r_.vector(names().expert_down_scale), "expert scales"),
                                  .dy = t.d2,
                                  .x = saved_.expert_out,
                                  .logits = saved_.router_logits,
                                  .cols = r_.config().width,
                                  .experts = moe.count,
                                  .used = moe.used,
                                  .rows = t.tokens});
    r_.multiply_experts_backward(weights().expert_down, rows, saved_.expert_out, saved_.expert_ff);
    r_.program.add(
        kernels::GeluGateBackward{
            .dy = saved_.expert_ff, .g = saved_.expert_gate_up, .cols = moe.ffn, .rows = r_.expert_slots()},
        t.slot_step);
    r_.multiply_experts_backward(weights().expert_gate_up, rows, saved_.expert_gate_up, saved_.expert_out);
    r_.program.add(kernels::MoeCombine{.weights = t.ones,
                                       .x = saved_.expert_out,
                                       .y = t.d2,
                                       .cols = r_.config().width,
                                       .used = moe.used,
                                       .rows = t.tokens});
    r_.norm_backward(
        {.x = saved_.h1, .weights = r_.vector(names().pre_ffw_norm_2), .dy = t.d2, .dx = t.dh, .add = true});
    r_.multiply_backward(weights().router, {.rows = saved_.router_logits}, t.d2, false);
    r_.norm_backward({.x = saved_.h1,
                      .weights = r_.router_norm(r_.vector(names().router_scale)),
                      .dy = t.d2,
                      .dx = t.dh,
                      .add = true});
}

void LayerBackward::attention() const {
    const TrainTensors& t = r_.t;
    r_.norm_backward({.x = saved_.o, .weights = r_.vector(names().post_attention_norm), .dy = t.dh, .dx = t.d1});
    r_.multiply_backward(weights().attn_output, {.rows = t.d1}, t.dattended, false);
    deltas_.add_backward(Target::o, saved_.attended, {.rows = t.d1}, t.dattended);
    attend_backward(r_, attention_, saved_.q,
                    {.dy = t.dattended, .dq = t.dq, .dkv = t.dkv[shape().kv_layer], .is_first = is_last_reader()});
    const Tensor dqkv = gpu::rows_in(t.dqkv.at, t.tokens, saved_.qkv.cols);
    r_.program.add(kernels::QkNormRopeBackward{.shape = qk_norm_rope_shape(r_, attention_, saved_.qkv),
                                               .position_ids = t.position_ids,
                                               .norms = t.head_norms[layer_],
                                               .frequencies = frequencies_of(r_, attention_),
                                               .qkv = saved_.qkv,
                                               .dq = t.dq,
                                               .dkv = t.dkv[layer_],
                                               .dqkv = dqkv});
    uint64_t first = 0;
    for (const kernels::Weights& matrix : weights().qkv) {
        r_.multiply_backward(matrix, {.rows = dqkv, .first = first}, t.d2, first > 0);
        first += matrix.rows;
    }
    const uint32_t q_width = shape().q_width();
    deltas_.add_backward(Target::q, saved_.xn, {.rows = dqkv}, t.d2);
    deltas_.add_backward(Target::k, saved_.xn, {.rows = dqkv, .first = q_width}, t.d2);
    deltas_.add_backward(Target::v, saved_.xn, {.rows = dqkv, .first = q_width + shape().kv_width()}, t.d2);
    r_.norm_backward({.x = t.h[layer_],
                      .weights = r_.vector(names().attn_norm),
                      .dy = t.d2,
                      .dx = t.dh,
                      .add = true,
                      .scale = layer_ > 0 ? r_.output_scale(layer_ - 1) : 1.0f});
}

}  // namespace lapidary::train
