// The programs of blocks of tokens, each step a dispatch; also one token's where adapters add to it.
#include <cmath>

#include "base/checked.h"
#include "infer/gpu_division.h"
#include "infer/gpu_forward.h"
#include "kernels/matmul_tile.h"
#include "model/memory.h"

namespace lapidary::infer {

using Group = GpuAdapters::Group;

void GpuForward::product(GpuRecorder& program, Product p, uint32_t block) {
    // One token with adapters goes this way too: it takes a kernel that reads weights for one.
    if (p.experts > 0 || block == 1) return row_product(program, p, block);
    const GpuMatrix& m = *p.matrix;
    const bool whole = p.finish == Finish::gelu_gate;
    if (whole && m.pieces.size() > 1) {
        return program.refuse(Code::unsupported, "a weight of {} is larger than this GPU binds at once",
                              format_bytes(kernels::gpu_bytes(m.format, m.rows, m.cols)));
    }
    for (const GpuMatrix::Piece& piece : m.pieces) {
        const uint64_t out = whole ? p.out_rows : piece.rows;
        std::vector<gpu::Constant> constants = {{"kCols", double(m.cols)},
                                                {"kOut", double(out)},
                                                {"kYStride", double(p.y_stride > 0 ? p.y_stride : m.rows)},
                                                {"kYOffset", double(p.y_offset + (whole ? 0 : piece.first_row))},
                                                {"kFinish", double(p.finish)}};
        if (p.finish == Finish::gelu_times_aux) {
            constants.push_back({"kAuxStride", double(p.aux_stride)});
            constants.push_back({"kAuxOffset", double(p.aux_offset)});
        }
        if (p.finish == Finish::softcap) constants.push_back({"kCap", double(model_->config().logit_softcap)});
        const auto rows = whole ? 2 * out : out;
        const auto tile = kernels::matmul_tile(rows, block, whole, device().info().max_workgroup_bytes);
        tile.add_to(constants);
        program.add(kernels::kMatmul, constants,
                    {a_.step, piece.binding, p.x, p.aux.buffer != 0 ? p.aux : a_.step, p.y},
                    {ceil_div(block, tile.tokens()), ceil_div(rows, tile.rows()), 1}, m.format);
    }
}

void GpuForward::seam(GpuRecorder& program, Seam s, uint32_t block) {
    const model::Config& config = model_->config();
    const int add = s.x2.buffer != 0 ? 2 : s.x.buffer != 0 ? 1 : 0;
    s.weights.push_back(s.scale);
    const gpu::Binding weights = program.keep(keeper().floats(s.weights, "norms"));
    const gpu::Binding nothing = a_.step;
    // Two writable bindings must not overlap: each stand-in gets a part of the spare buffer.
    const gpu::Binding spare{a_.spare.buffer, 0, 256};
    program.add(kernels::kResidualNorm,
                {{"kN", double(config.width)},
                 {"kAdd", double(add)},
                 {"kNext", s.y.buffer != 0 ? 1.0 : 0.0},
                 {"kNextScale", double(s.next_scale)},
                 {"kPlanes", s.planes ? 1.0 : 0.0},
                 {"kParts", double(s.parts)},
                 {"kEps", double(config.norm_epsilon)}},
                {a_.step, add > 0 ? s.x : nothing,
                 add > 1    ? s.x2
                 : s.planes ? s.old_h
                            : nothing,
                 weights, s.h.buffer != 0 ? s.h : a_.h, s.y.buffer != 0 ? s.y : spare},
                {s.planes ? ceil_div(config.width, kernels::kNormedAWorkgroup) : block, 1, 1});
}

void GpuForward::record_inputs(GpuRecorder& program, uint32_t block) {
    const model::Config& config = model_->config();
    const auto gather = [&](const GpuMatrix& table, gpu::Binding ids, double scale, gpu::Binding y) {
        for (const GpuMatrix::Piece& piece : table.pieces) {
            program.add(kernels::kGather,
                        {{"kCols", double(table.cols)},
                         {"kFirstRow", double(piece.first_row)},
                         {"kWRows", double(piece.rows)},
                         {"kScale", scale}},
                        {a_.step, piece.binding, ids, y}, {ceil_div(table.cols / 16, 64), block, 1}, table.format);
        }
        return;
    };
    gather(model_->token_embd, a_.ids, double(std::sqrt(float(config.width))), a_.h);
    if (adapters_ != nullptr) {
        adapters_->add_embedding(program, a_.step, a_.ids, std::sqrt(float(config.width)), a_.h, config.width, block);
    }
    if (config.per_layer_width > 0) {
        GpuMatrix table = model_->per_layer_token_embd;
        // A small table of the rows that are needed, in the order of the tokens.
        if (needs_rows()) table.pieces.push_back({.binding = a_.table_rows, .rows = kMaxBlock});
        gather(table, needs_rows() ? a_.row_ids : a_.ids, double(std::sqrt(float(config.per_layer_width))),
               a_.token_inputs);
        const Product context{.matrix = &model_->per_layer_model_proj, .x = a_.h, .y = a_.context};
        block == 1 ? row_product(program, context) : product(program, context, block);
        const gpu::Binding norm =
            program.keep(keeper().floats(model_->vector(model_->table().per_layer_proj_norm), "per-layer norm"));
        program.add(kernels::kPerLayer,
                    {{"kP", double(config.per_layer_width)},
                     {"kScale", double(1.0f / std::sqrt(float(config.width)))},
                     {"kEps", double(config.norm_epsilon)}},
                    {a_.step, a_.context, a_.token_inputs, norm, a_.inputs},
                    {uint32_t(config.layers.size()), block, 1});
    }
}

uint64_t GpuForward::qkv_stride(uint32_t layer) const {
    uint64_t stride = 0;
    for (const GpuMatrix& matrix : model_->layers[layer].qkv) stride += matrix.rows;
    return stride;
}

// Q, K and V, normed and turned, K and V in the cache.
void GpuForward::record_projections(GpuRecorder& program, uint32_t layer, uint32_t block) {
    const model::Config& config = model_->config();
    const model::LayerConfig& shape = config.layers[layer];
    const GpuLayer& w = model_->layers[layer];
    const bool owns = config.owns_kv(layer);
    const uint64_t stride = qkv_stride(layer);
    uint64_t offset = 0;
    for (const GpuMatrix& matrix : w.qkv) {
        product(program, {.matrix = &matrix, .x = a_.xn, .y = a_.qkv, .y_stride = stride, .y_offset = offset}, block);
        offset += matrix.rows;
    }
    adapt(program, layer, Group::qkv, a_.xn,
          {.y = a_.qkv, .stride = stride, .k = shape.q_width(), .v = shape.q_width() + shape.kv_width()}, block);
    const LayerCache& cache = caches_[shape.kv_layer];
    const bool has_v = model_->table().layers[layer].attn_v.present();
    const gpu::Binding spare_k{a_.spare.buffer, 0, 256};
    const gpu::Binding spare_v{a_.spare.buffer, 256, 256};
    return program.add(kernels::kHeads,
                       {{"kHeads", double(shape.heads)},
                        {"kKvHeads", owns ? double(shape.kv_heads) : 0.0},
                        {"kDim", double(shape.head_dim)},
                        {"kStride", double(stride)},
                        {"kKOffset", double(shape.q_width())},
                        {"kVOffset", double(shape.q_width() + (has_v ? shape.kv_width() : 0))},
                        {"kRing", double(cache.ring)},
                        {"kEps", double(config.norm_epsilon)}},
                       {a_.step, head_norms_[layer], shape.sliding ? rates_.sliding : rates_.full, a_.qkv,
                        owns ? cache.k : spare_k, owns ? cache.v : spare_v},
                       {shape.heads + (owns ? 2 * shape.kv_heads : 0), block, 1});
}

void GpuForward::record_attention(GpuRecorder& program, uint32_t layer, uint32_t block) {
    const model::Config& config = model_->config();
    const model::LayerConfig& shape = config.layers[layer];
    const LayerCache& cache = caches_[shape.kv_layer];
    record_projections(program, layer, block);
    const uint32_t rows = attention_rows(device().info(), shape.head_dim);
    program.add(kernels::kAttention,
                {{"kHeads", double(shape.heads)},
                 {"kKvHeads", double(shape.kv_heads)},
                 {"kDim", double(shape.head_dim)},
                 {"kStride", double(qkv_stride(layer))},
                 {"kRing", double(cache.ring)},
                 {"kWindow", shape.sliding ? double(config.sliding_window) : 0.0},
                 {"kRows", double(rows)}},
                {a_.step, a_.qkv, cache.k, cache.v, a_.attended},
                {shape.kv_heads, ceil_div(uint64_t(block) * shape.heads / shape.kv_heads, rows), 1});
    product(program, {.matrix = &model_->layers[layer].attn_output, .x = a_.attended, .y = a_.o}, block);
    return adapt(program, layer, Group::o, a_.attended, {.y = a_.o, .stride = config.width}, block);
}

void GpuForward::record_experts(GpuRecorder& program, uint32_t layer, uint32_t block, gpu::Binding h) {
    const model::Config& config = model_->config();
    const model::ExpertConfig& moe = config.experts;
    const model::LayerWeights& names = model_->table().layers[layer];
    const GpuLayer& w = model_->layers[layer];
    seam(program,
         {.weights = model_->vector(names.router_scale),
          .y = a_.router_in,
          .next_scale = 1.0f / std::sqrt(float(config.width)),
          .h = h},
         block);
    const Product router{.matrix = &w.router, .x = a_.router_in, .y = a_.router_logits};
    block == 1 ? row_product(program, router) : product(program, router, block);
    const gpu::Binding scales = program.keep(keeper().floats(model_->vector(names.expert_down_scale), "expert scales"));
    program.add(kernels::kRoute, {{"kExperts", double(moe.count)}, {"kUsed", double(moe.used)}},
                {a_.step, a_.router_logits, scales, a_.expert_ids, a_.shares}, {ceil_div(block, 64), 1, 1});
    seam(program, {.weights = model_->vector(names.pre_ffw_norm_2), .y = a_.xn, .h = h}, block);
    product(program,
            {.matrix = &w.expert_gate_up,
             .x = a_.xn,
             .y = a_.expert_ff,
             .finish = Finish::gelu_gate,
             .out_rows = moe.ffn,
             .y_stride = moe.ffn,
             .aux = a_.expert_ids,
             .experts = moe.used},
            block);
    product(program,
            {.matrix = &w.expert_down,
             .x = a_.expert_ff,
             .y = a_.expert_out,
             .out_rows = config.width,
             .y_stride = config.width,
             .aux = a_.expert_ids,
             .experts = moe.used,
             .x_per_slot = true},
            block);
    return program.add(kernels::kCombine, {{"kN", double(config.width)}, {"kUsed", double(moe.used)}},
                       {a_.step, a_.shares, a_.expert_out, a_.experts}, {ceil_div(config.width, 64), block, 1});
}

void GpuForward::record_ffn(GpuRecorder& program, uint32_t layer, uint32_t block) {
    const model::LayerConfig& shape = model_->config().layers[layer];
    const GpuLayer& w = model_->layers[layer];
    Product gate_up{.matrix = &w.gate_up,
                    .x = a_.xn,
                    .y = a_.ff,
                    .finish = Finish::gelu_gate,
                    .out_rows = shape.ffn,
                    .y_stride = shape.ffn};
    if (adapts(layer, Group::gate_up)) {
        gate_up = {.matrix = &w.gate_up, .x = a_.xn, .y = adapters_->gate_up};
        product(program, gate_up, block);
        adapt(program, layer, Group::gate_up, a_.xn,
              {.y = adapters_->gate_up, .stride = uint64_t{2} * shape.ffn, .up = shape.ffn}, block);
        program.add(kernels::kGate, {{"kN", double(shape.ffn)}}, {a_.step, adapters_->gate_up, a_.step, a_.ff},
                    {ceil_div(shape.ffn, 64), block, 1});
    } else {
        product(program, gate_up, block);
    }
    product(program, {.matrix = &w.down, .x = a_.ff, .y = a_.o}, block);
    adapt(program, layer, Group::down, a_.ff, {.y = a_.o, .stride = model_->config().width}, block);
    if (model_->table().layers[layer].is_moe()) record_experts(program, layer, block, a_.h);
}

// A layer's inputs by the offset of the binding where that is allowed: one pipeline serves all layers then.
gpu::Binding GpuForward::per_layer_inputs(uint32_t layer) const {
    const uint64_t row = model_->config().per_layer_width * sizeof(float);
    const uint64_t at = row % 256 == 0 ? row * layer : 0;
    return {a_.inputs.buffer, at, a_.inputs.size - at};
}

uint64_t GpuForward::per_layer_offset(uint32_t layer) const {
    const uint64_t p = model_->config().per_layer_width;
    return p * sizeof(float) % 256 == 0 ? 0 : p * layer;
}

void GpuForward::record_layer(GpuRecorder& program, uint32_t layer, uint32_t block) {
    const model::Config& config = model_->config();
    const model::LayerWeights& names = model_->table().layers[layer];
    const auto v = [&](const model::Weight& weight) { return model_->vector(weight); };
    record_attention(program, layer, block);
    seam(program, {.x = a_.o, .weights = joined({v(names.post_attention_norm), v(names.ffn_norm)}), .y = a_.xn}, block);
    record_ffn(program, layer, block);

    const bool last = layer + 1 == config.layers.size();
    const std::vector<float> next = v(last ? model_->table().output_norm : model_->table().layers[layer + 1].attn_norm);
    const std::vector<float> scales = v(names.layer_output_scale);
    const float scale = scales.empty() ? 1.0f : scales[0];
    const bool moe = names.is_moe();
    Seam after{.x = a_.o, .weights = v(names.post_ffw_norm)};
    if (moe) {
        after.x2 = a_.experts;
        after.weights = joined({after.weights, v(names.post_ffw_norm_1), v(names.post_ffw_norm_2)});
    }
    if (config.per_layer_width == 0) {
        after.weights = joined({after.weights, next});
        after.scale = scale;
        after.y = a_.xn;
        return seam(program, std::move(after), block);
    }
    seam(program, std::move(after), block);
    record_per_layer_input(program, layer, block);
    return seam(program, {.x = a_.o, .weights = joined({v(names.post_norm), next}), .scale = scale, .y = a_.xn}, block);
}

// o = proj · (gelu(inp_gate · h) ⊙ the layer's input)
void GpuForward::record_per_layer_input(GpuRecorder& program, uint32_t layer, uint32_t block) {
    const model::Config& config = model_->config();
    const uint64_t p = config.per_layer_width;
    Product gate{.matrix = &model_->layers[layer].inp_gate, .x = a_.h, .y = a_.gate};
    gpu::Binding gated = a_.gate;
    if (adapts(layer, Group::inp_gate)) {
        gated = adapters_->gated;
        product(program, gate, block);
        adapt(program, layer, Group::inp_gate, a_.h, {.y = a_.gate, .stride = p}, block);
        program.add(kernels::kGate,
                    {{"kN", double(p)},
                     {"kPaired", 0},
                     {"kAuxStride", double(p * config.layers.size())},
                     {"kAuxOffset", double(per_layer_offset(layer))}},
                    {a_.step, a_.gate, per_layer_inputs(layer), gated}, {ceil_div(p, 64), block, 1});
    } else {
        gate.finish = Finish::gelu_times_aux;
        gate.aux = per_layer_inputs(layer);
        gate.aux_stride = p * config.layers.size();
        gate.aux_offset = per_layer_offset(layer);
        product(program, gate, block);
    }
    product(program, {.matrix = &model_->layers[layer].proj, .x = gated, .y = a_.o}, block);
    return adapt(program, layer, Group::proj, gated, {.y = a_.o, .stride = config.width}, block);
}

void GpuForward::adapt(GpuRecorder& program, uint32_t layer, Group group, gpu::Binding x, GpuAdapters::Place place,
                       uint32_t block) {
    if (!adapts(layer, group)) return;
    return adapters_->add(program, a_.step, layer, group, x, place, block);
}

void GpuForward::record_layers(GpuRecorder& program, uint32_t block, Depth depth) {
    record_inputs(program, block);
    if (block == 1 && adapters_ == nullptr) return decode_layers(program, depth);
    seam(program, {.weights = model_->vector(model_->table().layers[0].attn_norm), .y = a_.xn}, block);
    const uint32_t complete = complete_layers(depth);
    for (uint32_t layer = 0; layer < complete; ++layer) record_layer(program, layer, block);
    if (depth == Depth::all) return;
    return record_projections(program, complete, block);
}

}  // namespace lapidary::infer
