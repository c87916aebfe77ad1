// The way of the gradients back through the layers.
#include <cmath>

#include "base/checked.h"
#include "train/gpu_pass.h"

namespace lapidary::train {

using lora::Target;

uint32_t GpuPass::last_reader(uint32_t kv_layer) const {
    uint32_t last = kv_layer;
    for (uint32_t i = kv_layer; i < config().layers.size(); ++i) {
        if (config().layers[i].kv_layer == kv_layer) last = i;
    }
    return last;
}

// From datt to dq, and to the gradients of the keys and values, where those of later layers may be already.
void GpuPass::record_attention_back(GpuRecorder& program, uint32_t layer) {
    const model::LayerConfig& shape = config().layers[layer];
    Tape& t = tape(layer);
    const Binding kv = kv_[shape.kv_layer];
    const Binding dkv = dkv_[shape.kv_layer];
    const uint32_t group = shape.heads / shape.kv_heads;
    const uint32_t width = shape.q_width();
    const uint32_t dim = shape.head_dim;
    const uint32_t kv_stride = 2 * shape.kv_width();
    const uint32_t matrix = query_block_ * tokens();
    for (uint32_t first = 0; first < tokens(); first += query_block_) {
        const Binding about = program.keep(words_.put(std::array<uint32_t, 4>{first, 0, 0, 0}));
        const uint32_t at = first * width;
        const bool begins = first == 0 && last_reader(shape.kv_layer) == layer;
        // The probabilities once more: keeping them would take tokens² for every layer.
        record_probabilities(program, layer, first, about);
        // dp[query, key] = datt · v
        record_scores(program, layer, first, true, s_.datt, s_.dscores);
        // dv[key] += Σ p[query, key] · datt[query], over the queries of every head that shares the value
        const auto to_keys = [&](Binding rows, Binding by_key, uint32_t offset) {
            return gemm(program,
                        {.m = dim,
                         .n = tokens(),
                         .k = query_block_,
                         .repeats = group,
                         .token_n = 0,
                         .token_k = first,
                         .p_at = at,
                         .p_m = 1,
                         .p_k = width,
                         .p_batch = group * dim,
                         .p_repeat = dim,
                         .q_n = 1,
                         .q_k = tokens(),
                         .q_batch = group * matrix,
                         .q_repeat = matrix,
                         .c_at = offset,
                         .c_n = kv_stride,
                         .c_batch = dim,
                         .keep = begins ? 0u : 1u},
                        rows, by_key, dkv, true, shape.kv_heads);
        };
        to_keys(s_.datt, s_.scores, shape.kv_width());
        program.add(kernels::kSoftmaxBack, {{"kBlock", double(query_block_)}, {"kRow", double(tokens())}},
                    {s_.step, about, s_.scores, s_.dscores}, {query_block_, shape.heads, 1});
        // dq[query] = Σ ds[query, key] · k[key]
        gemm(program,
             {.m = dim,
              .n = query_block_,
              .k = tokens(),
              .token_n = first,
              .token_k = 0,
              .p_m = 1,
              .p_k = kv_stride,
              .p_batch = dim,
              .p_share = group,
              .q_n = tokens(),
              .q_batch = matrix,
              .c_at = at,
              .c_n = width,
              .c_batch = dim},
             kv, s_.dscores, s_.dq, true, shape.heads);
        to_keys(t.q, s_.dscores, 0);
    }
}

// From d1, by what both branches give together, to d1, by what the dense one gives; what goes through the experts and
// their router is added to dh.
void GpuPass::record_experts_back(GpuRecorder& program, uint32_t layer) {
    const model::ExpertConfig& moe = config().experts;
    const model::LayerWeights& names = model_->table().layers[layer];
    const infer::GpuLayer& w = model_->layers[layer];
    const uint64_t d = config().width;
    const uint64_t slots = uint64_t(tokens()) * moe.used;
    Tape& t = tape(layer);
    norm_back(program, {.base = s_.d1, .x = t.experts, .weights = vector(names.post_ffw_norm_2), .y = s_.d2}, false,
              s_.step);
    norm_back(program, {.base = s_.d1, .x = t.y, .weights = vector(names.post_ffw_norm_1), .y = s_.d3}, false, s_.step);
    const Binding scales = program.keep(resources_.floats(vector(names.expert_down_scale), "expert scales"));
    program.add(kernels::kRouteBack, {{"kN", double(d)}, {"kExperts", double(moe.count)}, {"kUsed", double(moe.used)}},
                {s_.step, t.expert_ids, t.shares, scales, s_.d2, t.expert_out, t.router_logits}, {tokens(), 1, 1});
    expert_product_back(program, w.expert_down, t.lists, t.expert_out, t.expert_ff);
    gate_back(program, moe.ffn, t.expert_ff, t.expert_gate_up, slots, s_.slot_step);
    expert_product_back(program, w.expert_gate_up, t.lists, t.expert_gate_up, t.expert_out);
    program.add(kernels::kCombine, {{"kN", double(d)}, {"kUsed", double(moe.used)}},
                {s_.step, s_.ones, t.expert_out, s_.d2}, {ceil_div(d, 64), tokens(), 1});
    norm_back(program, {.base = s_.d2, .x = t.h1, .weights = vector(names.pre_ffw_norm_2), .y = s_.dh}, true, s_.step);
    product_back(program, w.router, {.buffer = t.router_logits, .stride = moe.count}, s_.d2, false);
    std::vector<float> router_scale = vector(names.router_scale);
    for (float& v : router_scale) v /= std::sqrt(float(d));
    return norm_back(program, {.base = s_.d2, .x = t.h1, .weights = std::move(router_scale), .y = s_.dh}, true,
                     s_.step);
}

void GpuPass::record_back(GpuRecorder& program, uint32_t layer, bool dropout) {
    const model::LayerConfig& shape = config().layers[layer];
    const model::LayerWeights& names = model_->table().layers[layer];
    const infer::GpuLayer& w = model_->layers[layer];
    const uint64_t d = config().width;
    const uint64_t p = config().per_layer_width;
    const uint64_t ffn = shape.ffn;
    Tape& t = tape(layer);

    if (p > 0) {
        norm_back(program, {.base = s_.dh, .x = t.projected, .weights = vector(names.post_norm), .y = s_.d1}, false,
                  s_.step);
        const Place by_projected{.buffer = s_.d1, .stride = d};
        product_back(program, w.proj, by_projected, s_.dgated, false);
        update_back(program, layer, Target::proj, dropout, t.gated, by_projected, s_.dgated);
        const PerLayer inputs = per_layer_inputs(layer);
        program.add(kernels::kGateBack, inputs.constants, {s_.step, s_.dgated, inputs.binding, t.gate},
                    {ceil_div(p, 64), tokens(), 1});
        const Place by_gate{.buffer = t.gate, .stride = p};
        product_back(program, w.inp_gate, by_gate, s_.dh, true);
        update_back(program, layer, Target::inp_gate, dropout, t.h2, by_gate, s_.dh);
    }

    norm_back(program,
              {.base = s_.dh, .x = names.is_moe() ? t.mixed : t.y, .weights = vector(names.post_ffw_norm), .y = s_.d1},
              false, s_.step);
    if (names.is_moe()) record_experts_back(program, layer);
    const Place by_y{.buffer = names.is_moe() ? s_.d3 : s_.d1, .stride = d};
    product_back(program, w.down, by_y, s_.dff, false);
    update_back(program, layer, Target::down, dropout, t.ff, by_y, s_.dff);
    gate_back(program, ffn, s_.dff, t.gate_up, tokens(), s_.step);
    product_back(program, w.gate_up, {.buffer = t.gate_up, .stride = 2 * ffn}, s_.d2, false);
    update_back(program, layer, Target::gate, dropout, t.u, {.buffer = t.gate_up, .stride = 2 * ffn}, s_.d2);
    update_back(program, layer, Target::up, dropout, t.u, {.buffer = t.gate_up, .stride = 2 * ffn, .offset = ffn},
                s_.d2);
    norm_back(program, {.base = s_.d2, .x = t.h1, .weights = vector(names.ffn_norm), .y = s_.dh}, true, s_.step);

    norm_back(program, {.base = s_.dh, .x = t.o, .weights = vector(names.post_attention_norm), .y = s_.d1}, false,
              s_.step);
    const Place by_o{.buffer = s_.d1, .stride = d};
    product_back(program, w.attn_output, by_o, s_.datt, false);
    update_back(program, layer, Target::o, dropout, t.attended, by_o, s_.datt);
    record_attention_back(program, layer);
    record_split_heads(program, layer, true);

    const uint64_t stride = qkv_stride(layer);
    uint64_t offset = 0;
    for (const GpuMatrix& matrix : w.qkv) {
        product_back(program, matrix, {.buffer = s_.dqkv, .stride = stride, .offset = offset}, s_.d2, offset > 0);
        offset += matrix.rows;
    }
    update_back(program, layer, Target::q, dropout, t.xn, {.buffer = s_.dqkv, .stride = stride}, s_.d2);
    update_back(program, layer, Target::k, dropout, t.xn,
                {.buffer = s_.dqkv, .stride = stride, .offset = shape.q_width()}, s_.d2);
    update_back(program, layer, Target::v, dropout, t.xn,
                {.buffer = s_.dqkv, .stride = stride, .offset = shape.q_width() + shape.kv_width()}, s_.d2);
    // What is left for the layer below is multiplied with its output scale at once.
    return norm_back(program,
                     {.base = s_.d2,
                      .x = h_[layer],
                      .weights = vector(names.attn_norm),
                      .y = s_.dh,
                      .scale = layer > 0 ? output_scale(layer - 1) : 1.0f},
                     true, s_.step);
}

}  // namespace lapidary::train
