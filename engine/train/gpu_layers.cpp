// The way of a sequence through the layers.
#include <cmath>

#include "base/checked.h"
#include "train/gpu_pass.h"

namespace lapidary::train {

using kernels::GemmShape;
using lora::Target;

uint64_t GpuPass::qkv_stride(uint32_t layer) const {
    uint64_t stride = 0;
    for (const GpuMatrix& matrix : model_->layers[layer].qkv) stride += matrix.rows;
    return stride;
}

float GpuPass::output_scale(uint32_t layer) const {
    const std::vector<float> scale = vector(model_->table().layers[layer].layer_output_scale);
    return scale.empty() ? 1.0f : scale[0];
}

GpuPass::PerLayer GpuPass::per_layer_inputs(uint32_t layer) const {
    const uint64_t p = config().per_layer_width;
    const uint64_t at = p * layer * sizeof(float);
    // Where a binding can begin with the layer's part, all layers share a pipeline.
    const bool aligned = at % 256 == 0;
    return {.binding = aligned ? Binding{s_.inputs.buffer, at, s_.inputs.size - at} : s_.inputs,
            .constants = {{"kN", double(p)},
                          {"kPaired", 0},
                          {"kAuxStride", double(p * config().layers.size())},
                          {"kAuxOffset", aligned ? 0.0 : double(p * layer)}}};
}

void GpuPass::record_inputs(GpuRecorder& program) {
    const auto gather = [&](const GpuMatrix& table, double scale, Binding y) {
        for (const GpuMatrix::Piece& piece : table.pieces) {
            program.add(kernels::kGather,
                        {{"kCols", double(table.cols)},
                         {"kFirstRow", double(piece.first_row)},
                         {"kWRows", double(piece.rows)},
                         {"kScale", scale}},
                        {s_.step, piece.binding, s_.ids, y}, {ceil_div(table.cols / 16, 64), tokens(), 1},
                        table.format);
        }
        return;
    };
    gather(model_->token_embd, double(std::sqrt(float(config().width))), h_[0]);
    const uint32_t p = config().per_layer_width;
    if (p == 0) return;
    if (model_->per_layer_rows != nullptr) {
        return program.refuse(Code::unsupported,
                              "training needs the table of per-layer embeddings on the GPU, where it was "
                              "not loaded: give it more memory, or train on the CPU");
    }
    gather(model_->per_layer_token_embd, double(std::sqrt(float(p))), s_.token_inputs);
    const GpuMatrix& projection = model_->per_layer_model_proj;
    product(program, projection, h_[0], {.buffer = s_.context, .stride = projection.rows});
    const Binding norm = program.keep(resources_.floats(vector(model_->table().per_layer_proj_norm), "per-layer norm"));
    return program.add(kernels::kPerLayer,
                       {{"kP", double(p)},
                        {"kScale", double(1.0f / std::sqrt(float(config().width)))},
                        {"kEps", double(config().norm_epsilon)}},
                       {s_.step, s_.context, s_.token_inputs, norm, s_.inputs},
                       {uint32_t(config().layers.size()), tokens(), 1});
}

void GpuPass::record_split_heads(GpuRecorder& program, uint32_t layer, bool back) {
    const model::LayerConfig& shape = config().layers[layer];
    const bool owns = config().owns_kv(layer);
    const bool has_v = model_->table().layers[layer].attn_v.present();
    const std::vector<gpu::Constant> constants = {
        {"kHeads", double(shape.heads)},        {"kKvHeads", owns ? double(shape.kv_heads) : 0.0},
        {"kDim", double(shape.head_dim)},       {"kStride", double(qkv_stride(layer))},
        {"kKOffset", double(shape.q_width())},  {"kVOffset", double(shape.q_width() + (has_v ? shape.kv_width() : 0))},
        {"kEps", double(config().norm_epsilon)}};
    const Binding rates = shape.sliding ? rates_.sliding : rates_.full;
    Tape& t = tape(layer);
    if (!back) {
        return program.add(kernels::kSplitHeads, constants,
                           {s_.step, s_.places, head_norms_[layer], rates, t.qkv, t.q, owns ? kv_[layer] : s_.spare},
                           {shape.heads + (owns ? 2 * shape.kv_heads : 0), tokens(), 1});
    }
    const uint32_t own_heads = !owns ? 0 : has_v ? 2 * shape.kv_heads : shape.kv_heads;
    return program.add(
        kernels::kSplitHeadsBack, constants,
        {s_.step, s_.places, head_norms_[layer], rates, t.qkv, s_.dq, owns ? dkv_[layer] : s_.step, s_.dqkv},
        {shape.heads + own_heads, tokens(), 1});
}

// out[head, query, key] = by[query] · the keys, or with `values` the values: of a block of queries, with every position.
void GpuPass::record_scores(GpuRecorder& program, uint32_t layer, uint32_t first, bool values, Binding by,
                            Binding out) {
    const model::LayerConfig& shape = config().layers[layer];
    const uint32_t width = shape.q_width();
    return gemm(program,
                {.m = tokens(),
                 .n = query_block_,
                 .k = shape.head_dim,
                 .token_m = 0,
                 .token_n = first,
                 .p_at = values ? shape.kv_width() : 0,
                 .p_m = 2 * shape.kv_width(),
                 .p_batch = shape.head_dim,
                 .p_share = shape.heads / shape.kv_heads,
                 .q_at = first * width,
                 .q_n = width,
                 .q_batch = shape.head_dim,
                 .c_n = tokens(),
                 .c_batch = query_block_ * tokens()},
                kv_[shape.kv_layer], by, out, true, shape.heads);
}

// How much a block of queries attends to every position, in `scores`.
void GpuPass::record_probabilities(GpuRecorder& program, uint32_t layer, uint32_t first, Binding about) {
    const model::LayerConfig& shape = config().layers[layer];
    record_scores(program, layer, first, false, tape(layer).q, s_.scores);
    return program.add(kernels::kSoftmax,
                       {{"kBlock", double(query_block_)},
                        {"kRow", double(tokens())},
                        {"kWindow", shape.sliding ? double(config().sliding_window) : 0.0}},
                       {s_.step, about, s_.places, s_.scores}, {query_block_, shape.heads, 1});
}

void GpuPass::record_attention(GpuRecorder& program, uint32_t layer) {
    const model::LayerConfig& shape = config().layers[layer];
    const uint32_t width = shape.q_width();
    for (uint32_t first = 0; first < tokens(); first += query_block_) {
        const Binding about = program.keep(words_.put(std::array<uint32_t, 4>{first, 0, 0, 0}));
        record_probabilities(program, layer, first, about);
        gemm(program,
             {.m = shape.head_dim,
              .n = query_block_,
              .k = tokens(),
              .token_n = first,
              .token_k = 0,
              .p_at = shape.kv_width(),
              .p_m = 1,
              .p_k = 2 * shape.kv_width(),
              .p_batch = shape.head_dim,
              .p_share = shape.heads / shape.kv_heads,
              .q_n = tokens(),
              .q_batch = query_block_ * tokens(),
              .c_at = first * width,
              .c_n = width,
              .c_batch = shape.head_dim},
             kv_[shape.kv_layer], s_.scores, tape(layer).attended, true, shape.heads);
    }
}

void GpuPass::record_experts(GpuRecorder& program, uint32_t layer) {
    const model::ExpertConfig& moe = config().experts;
    const model::LayerWeights& names = model_->table().layers[layer];
    const infer::GpuLayer& w = model_->layers[layer];
    Tape& t = tape(layer);
    std::vector<float> router_scale = vector(names.router_scale);
    for (float& v : router_scale) v /= std::sqrt(float(config().width));
    norm(program, {.x = t.h1, .weights = std::move(router_scale), .y = t.router_in}, s_.step);
    product(program, w.router, t.router_in, {.buffer = t.router_logits, .stride = moe.count});
    const Binding scales = program.keep(resources_.floats(vector(names.expert_down_scale), "expert scales"));
    program.add(kernels::kRoute, {{"kExperts", double(moe.count)}, {"kUsed", double(moe.used)}},
                {s_.step, t.router_logits, scales, t.expert_ids, t.shares}, {ceil_div(tokens(), 64), 1, 1});
    program.add(kernels::kExpertLists,
                {{"kExperts", double(moe.count)}, {"kUsed", double(moe.used)}, {"kMost", double(tokens())}},
                {s_.step, t.expert_ids, t.lists}, {ceil_div(moe.count, 64), 1, 1});
    norm(program, {.x = t.h1, .weights = vector(names.pre_ffw_norm_2), .y = t.expert_x}, s_.step);
    expert_product(program, w.expert_gate_up, t.lists, t.expert_x, t.expert_gate_up, moe.used);
    const uint64_t slots = uint64_t(tokens()) * moe.used;
    gate(program, moe.ffn, t.expert_gate_up, t.expert_ff, slots, s_.slot_step);
    expert_product(program, w.expert_down, t.lists, t.expert_ff, t.expert_out, 1);
    program.add(kernels::kCombine, {{"kN", double(config().width)}, {"kUsed", double(moe.used)}},
                {s_.step, t.shares, t.expert_out, t.experts}, {ceil_div(config().width, 64), tokens(), 1});
    norm(program, {.x = t.y, .weights = vector(names.post_ffw_norm_1), .y = t.dense}, s_.step);
    return norm(program, {.base = t.dense, .x = t.experts, .weights = vector(names.post_ffw_norm_2), .y = t.mixed},
                s_.step);
}

void GpuPass::record_layer(GpuRecorder& program, uint32_t layer, bool dropout) {
    const model::LayerConfig& shape = config().layers[layer];
    const model::LayerWeights& names = model_->table().layers[layer];
    const infer::GpuLayer& w = model_->layers[layer];
    const uint64_t d = config().width;
    Tape& t = tape(layer);

    norm(program, {.x = h_[layer], .weights = vector(names.attn_norm), .y = t.xn}, s_.step);
    const uint64_t stride = qkv_stride(layer);
    uint64_t offset = 0;
    for (const GpuMatrix& matrix : w.qkv) {
        product(program, matrix, t.xn, {.buffer = t.qkv, .stride = stride, .offset = offset});
        offset += matrix.rows;
    }
    update(program, layer, Target::q, dropout, t.xn, {.buffer = t.qkv, .stride = stride});
    update(program, layer, Target::k, dropout, t.xn, {.buffer = t.qkv, .stride = stride, .offset = shape.q_width()});
    update(program, layer, Target::v, dropout, t.xn,
           {.buffer = t.qkv, .stride = stride, .offset = shape.q_width() + shape.kv_width()});
    record_split_heads(program, layer, false);
    record_attention(program, layer);
    product(program, w.attn_output, t.attended, {.buffer = t.o, .stride = d});
    update(program, layer, Target::o, dropout, t.attended, {.buffer = t.o, .stride = d});
    norm(program, {.base = h_[layer], .x = t.o, .weights = vector(names.post_attention_norm), .y = t.h1}, s_.step);

    norm(program, {.x = t.h1, .weights = vector(names.ffn_norm), .y = t.u}, s_.step);
    const uint64_t ffn = shape.ffn;
    product(program, w.gate_up, t.u, {.buffer = t.gate_up, .stride = 2 * ffn});
    update(program, layer, Target::gate, dropout, t.u, {.buffer = t.gate_up, .stride = 2 * ffn});
    update(program, layer, Target::up, dropout, t.u, {.buffer = t.gate_up, .stride = 2 * ffn, .offset = ffn});
    gate(program, ffn, t.gate_up, t.ff, tokens(), s_.step);
    product(program, w.down, t.ff, {.buffer = t.y, .stride = d});
    update(program, layer, Target::down, dropout, t.ff, {.buffer = t.y, .stride = d});
    if (names.is_moe()) record_experts(program, layer);

    const uint64_t p = config().per_layer_width;
    norm(program,
         {.base = t.h1,
          .x = names.is_moe() ? t.mixed : t.y,
          .weights = vector(names.post_ffw_norm),
          .y = p > 0 ? t.h2 : h_[layer + 1],
          .scale = p > 0 ? 1.0f : output_scale(layer)},
         s_.step);
    if (p == 0) return;
    product(program, w.inp_gate, t.h2, {.buffer = t.gate, .stride = p});
    update(program, layer, Target::inp_gate, dropout, t.h2, {.buffer = t.gate, .stride = p});
    const PerLayer inputs = per_layer_inputs(layer);
    program.add(kernels::kGate, inputs.constants, {s_.step, t.gate, inputs.binding, t.gated},
                {ceil_div(p, 64), tokens(), 1});
    product(program, w.proj, t.gated, {.buffer = t.projected, .stride = d});
    update(program, layer, Target::proj, dropout, t.gated, {.buffer = t.projected, .stride = d});
    return norm(program,
                {.base = t.h2,
                 .x = t.projected,
                 .weights = vector(names.post_norm),
                 .y = h_[layer + 1],
                 .scale = output_scale(layer)},
                s_.step);
}

}  // namespace lapidary::train
