#include "cpu/cpu_ops.h"

#include <algorithm>
#include <cmath>

#include "base/edition.h"
#include "cpu/packed.h"
#include "cpu/place.h"

namespace lapidary::cpu {

using gpu::Tensor;
using infer::Activation;
using infer::Linear;
using infer::LinearOf;

namespace {

// A tensor's buffer is the machine's memory, its offset an address.
constexpr gpu::Id kMemory = 1;

Tensor tensor_at(Address at, uint64_t rows, uint64_t cols) {
    return gpu::rows_in({kMemory, at, rows * cols * sizeof(float)}, uint32_t(rows), uint32_t(cols));
}
Address address_of(const Tensor& t) {
    return Address(t.at.offset);
}
Rows rows_of(const Tensor& t) {
    return {.at = address_of(t), .stride = t.stride};
}
Rows columns_of(const Tensor& t, uint32_t first) {
    return {.at = Address(t.at.offset + first * sizeof(float)), .stride = t.stride};
}
// Multiplications of an attention over some hundred keys.
uint32_t attention_work(const kernels::HeadShape& shape) {
    return shape.heads * shape.head_dim * 1024;
}

}  // namespace

Result<Address> Scratch::take(std::string_view name, uint64_t bytes) {
    auto place = std::ranges::find(places_, name, &Place::name);
    if (place == places_.end()) place = places_.insert(place, {.name = name, .at = 0, .bytes = 0});
    if (place->bytes < bytes) *place = {.name = name, .at = TRY(blocks_.take(bytes)), .bytes = bytes};
    return place->at;
}

Result<std::vector<Op>> CpuOps::take() && {
    TRY(std::move(status_));
    return std::move(ops_);
}

Address CpuOps::keep(Result<Address> address) {
    if (address) return *address;
    if (status_) status_ = std::unexpected(std::move(address).error());
    return 0;
}

Tensor CpuOps::scratch(std::string_view name, uint64_t rows, uint64_t cols) {
    return tensor_at(keep(scratch_.take(name, rows * cols * sizeof(float))), rows, cols);
}

Tensor CpuOps::kept(std::string_view name, uint64_t rows, uint64_t cols) {
    return tensor_at(keep((kept_ != nullptr ? *kept_ : scratch_).take(name, rows * cols * sizeof(float))), rows, cols);
}

Address CpuOps::place(const std::vector<float>& values) {
    return keep(model_.place(values));
}

infer::Residual CpuOps::begin(Address table_rows, Address soft) {
    const uint32_t d = config().width;
    const float scale = std::sqrt(float(d));
    const Tensor h = kept("h", rows_, d);
    const Matrix soft_rows{.form = Form::f32, .at = soft, .rows = rows_, .cols = d};
    ops_.push_back(
        {.kind = soft == 0 ? Kind::embed : Kind::embed_rows,
         .work = d,
         .embed = {
             .table = soft == 0 ? model_.token_embd : soft_rows, .y = rows_of(h), .scale = soft == 0 ? scale : 1.0f}});
    if (has_everything() && adapters_ != nullptr && soft == 0) {
        for (const Adapters::Term& term : adapters_->terms({0, Linear::token_embd})) {
            ops_.push_back({.kind = Kind::add_column,
                            .work = d * term.a.rows,
                            .add_column = {.a = term.a.at,
                                           .b = term.b.at,
                                           .in = term.a.cols,
                                           .out = term.b.rows,
                                           .rank = term.a.rows,
                                           .y = rows_of(h),
                                           .scale = scale * term.scale}});
        }
    }
    for (const model::LayerConfig& layer : config().layers) {
        Address& at = layer.sliding ? angles_sliding_ : angles_full_;
        if (at != 0) continue;
        at = address_of(kept(layer.sliding ? "angles, sliding" : "angles", rows_, layer.head_dim));
        ops_.push_back(
            {.kind = Kind::angles,
             .work = 16 * layer.head_dim,
             .angles = {.inverse = model_.frequencies(layer.sliding), .out = at, .half = layer.head_dim / 2}});
    }
    if (config().per_layer_width > 0) {
        const uint32_t width = config().per_layer_width;
        const auto all = uint32_t(width * config().layers.size());
        const Tensor tokens = scratch("per-layer token inputs", rows_, all);
        const bool here = model_.per_layer_rows == nullptr;
        const Matrix own_rows{.form = Form::f32, .at = table_rows, .rows = rows_, .cols = all};
        ops_.push_back({.kind = here ? Kind::embed : Kind::embed_rows,
                        .work = all,
                        .embed = {.table = here ? model_.per_layer_token_embd : own_rows,
                                  .y = rows_of(tokens),
                                  .scale = std::sqrt(float(width))}});
        const Tensor context = scratch("per-layer context", rows_, all);
        multiply(model_.per_layer_model_proj, {}, h, context);
        inputs_ = kept("per-layer inputs", rows_, all);
        ops_.push_back({.kind = Kind::layer_inputs,
                        .work = 4 * all,
                        .layer_inputs = {.context = rows_of(context),
                                         .tokens = rows_of(tokens),
                                         .y = rows_of(inputs_),
                                         .norm = place(model_.vector(model_.table().per_layer_proj_norm)),
                                         .width = width,
                                         .layers = uint32_t(config().layers.size()),
                                         .scale = 1.0f / scale,
                                         .eps = config().norm_epsilon}});
    }
    return infer::Residual(*this, h);
}

void CpuOps::head(Tensor x, Tensor logits) {
    constexpr LinearOf kOutput{.layer = 0, .which = Linear::output};
    multiply(model_.head, kOutput, x, logits);
    adapt(kOutput, x, logits);
    const float cap = config().logit_softcap;
    if (cap == 0) return;
    ops_.push_back({.kind = Kind::softcap,
                    .work = 16 * logits.cols,
                    .softcap = {.y = rows_of(logits), .cols = logits.cols, .cap = cap}});
}

void CpuOps::multiply_all(const Stack& stack, Tensor x, Tensor y) {
    multiply(stack, {}, x, y);
}

Rows CpuOps::input_for(Form form, Tensor x, uint32_t per_token, Digits& digits) {
    digits = digits_for(form, model_.digits());
    if (digits == Digits::none) return rows_of(x);
    constexpr std::string_view kNames[] = {"", "digits", "three digits", "one digit"};
    const uint64_t bytes = uint64_t{rows_} * per_token * digit_row_bytes(digits, x.cols);
    const Address out = keep(scratch_.take(kNames[size_t(digits)], bytes));
    ops_.push_back({.kind = Kind::digits,
                    .work = 4 * x.cols * per_token,
                    .digits = {.x = rows_of(x), .cols = x.cols, .digits = digits, .out = out, .per_token = per_token}});
    return {.at = out, .stride = 0};
}

void CpuOps::multiply(const Stack& stack, LinearOf /*which*/, Tensor x, Tensor y) {
    Digits digits = Digits::none;
    Rows input{};
    for (size_t i = 0; i < stack.size(); ++i) {
        const Matrix& w = stack[i].w;
        if (i == 0 || digits_for(w.form, model_.digits()) != digits) input = input_for(w.form, x, 1, digits);
        ops_.push_back(
            {.kind = Kind::product,
             .work = w.rows * w.cols,
             .product = {
                 .w = w, .digits = digits, .adds = 0, .scale = 1, .x = input, .y = columns_of(y, stack[i].y_at)}});
    }
}

void CpuOps::adapt(LinearOf which, Tensor x, Tensor y) {
    if (!has_everything() || adapters_ == nullptr) return;
    for (const Adapters::Term& term : adapters_->terms(which)) {
        const Tensor z = scratch("z", rows_, term.a.rows);
        const auto product = [&](const Matrix& w, const Rows& from, const Rows& to, bool adds) {
            ops_.push_back(
                {.kind = Kind::product,
                 .work = w.rows * w.cols,
                 .product = {
                     .w = w, .digits = Digits::none, .adds = adds ? 1u : 0u, .scale = term.scale, .x = from, .y = to}});
        };
        product(term.a, rows_of(x), rows_of(z), false);
        product(term.b, rows_of(z), columns_of(y, term.y_at), true);
    }
}

Tensor CpuOps::linear(LinearOf which, const Activation& x) {
    const Tensor made = x.stream != nullptr ? x.stream->make(x) : x.ready;
    const Stack& stack = model_.matrices(which);
    const uint32_t cols = stack.back().y_at + stack.back().w.rows;
    const Tensor y = which.which == Linear::qkv ? kept("qkv", rows_, cols) : scratch("o", rows_, cols);
    multiply(stack, which, made, y);
    adapt(which, made, y);
    return y;
}

Activation CpuOps::gelu_gate(LinearOf which, const Activation& x, LinearOf /*reader*/) {
    const Tensor made = x.stream->make(x);
    const uint32_t ffn = config().layers[which.layer].ffn;
    const Tensor both = scratch("gate and up", rows_, 2 * uint64_t{ffn});
    multiply(model_.matrices(which), which, made, both);
    adapt(which, made, both);
    const Tensor y = scratch("ff", rows_, ffn);
    ops_.push_back(
        {.kind = Kind::gelu_gate,
         .work = 16 * ffn,
         .gelu_gate = {
             .gate = rows_of(both), .up = columns_of(both, ffn), .y = rows_of(y), .cols = ffn, .per_token = 1}});
    return {.ready = y};
}

Activation CpuOps::gelu_times_input(LinearOf which, const Activation& x) {
    const Tensor made = x.stream->make(x);
    const uint32_t width = config().per_layer_width;
    const Tensor y = scratch("per-layer gate", rows_, width);
    multiply(model_.matrices(which), which, made, y);
    adapt(which, made, y);
    ops_.push_back({.kind = Kind::gelu_gate,
                    .work = 16 * width,
                    .gelu_gate = {.gate = rows_of(y),
                                  .up = columns_of(inputs_, which.layer * width),
                                  .y = rows_of(y),
                                  .cols = width,
                                  .per_token = 1}});
    return {.ready = y};
}

void CpuOps::heads(const infer::Attention& a, Tensor qkv, bool with_queries) {
    const model::LayerWeights& names = model_.table().layers[a.layer];
    infer::Norm q_norm = model_.vector(names.attn_q_norm);
    // Scaling queries in their norm scales what they give with every key.
    for (float& value : q_norm) value *= config().attention_scale;
    ops_.push_back({.kind = Kind::heads,
                    .work = 8 * qkv.cols,
                    .heads = {.qkv = rows_of(qkv),
                              .angles = a.sliding ? angles_sliding_ : angles_full_,
                              .q_norm = place(q_norm),
                              .k_norm = place(model_.vector(names.attn_k_norm)),
                              .keys = a.owns_kv ? address_of(a.kv.k) : 0,
                              .values = a.owns_kv ? address_of(a.kv.v) : 0,
                              .heads = a.shape.heads,
                              .kv_heads = a.shape.kv_heads,
                              .head_dim = a.shape.head_dim,
                              .ring = a.kv.ring,
                              .values_are_keys = a.values_are_keys ? 1u : 0u,
                              .norms_values = config().norms_values ? 1u : 0u,
                              .with_queries = with_queries ? 1u : 0u,
                              .eps = config().norm_epsilon}});
}

Activation CpuOps::attend(const infer::Attention& a, Tensor qkv) {
    heads(a, qkv, true);
    const Tensor y = scratch("attended", rows_, a.shape.q_width());
    ops_.push_back({.kind = Kind::attend,
                    .work = attention_work(a.shape),
                    .attend = {.q = rows_of(qkv),
                               .y = rows_of(y),
                               .keys = address_of(a.kv.k),
                               .values = address_of(a.kv.v),
                               .sees = a.visible.rows ? address_of(a.visible.rows) : 0,
                               .heads = a.shape.heads,
                               .kv_heads = a.shape.kv_heads,
                               .head_dim = a.shape.head_dim,
                               .ring = a.kv.ring,
                               .window = a.visible.window}});
    return {.ready = y};
}

void CpuOps::store_keys(const infer::Attention& attention, Tensor qkv) {
    heads(attention, qkv, false);
}

void CpuOps::norm_rows(Tensor h, const infer::Norm& norm, Tensor y, float scale) {
    ops_.push_back({.kind = Kind::norm,
                    .work = 4 * config().width,
                    .norm = {.h = rows_of(h),
                             .x = {},
                             .x2 = {},
                             .y = rows_of(y),
                             .post = 0,
                             .post_1 = 0,
                             .post_2 = 0,
                             .next = place(norm),
                             .n = config().width,
                             .copies = 0,
                             .scale = 1,
                             .y_scale = scale,
                             .eps = config().norm_epsilon}});
}

void CpuOps::multiply_experts(const ExpertMatrices& m, Tensor ids, Tensor x, bool per_slot, Tensor y, uint32_t y_at) {
    const model::ExpertConfig& moe = config().experts;
    Digits digits = Digits::none;
    const Rows input = input_for(m.w.form, x, per_slot ? moe.used : 1, digits);
    ops_.push_back({.kind = Kind::experts,
                    .work = m.w.rows * m.w.cols * moe.used,
                    .experts = {.w = m.w,
                                .slice = m.slice,
                                .digits = digits,
                                .used = moe.used,
                                .x_per_slot = per_slot ? 1u : 0u,
                                .count = moe.count,
                                .ids = address_of(ids),
                                .x = input,
                                .y = columns_of(y, y_at)}});
}

Tensor CpuOps::experts(const infer::Experts& e, Tensor h) {
    if (!has_everything()) return {};  // Model::can_run has refused
    const model::ExpertConfig& moe = config().experts;
    const LayerMatrices& w = model_.layers[e.layer];
    const uint32_t d = config().width;
    const Tensor router_in = scratch("router input", rows_, d);
    norm_rows(h, e.router_scale, router_in, 1.0f / std::sqrt(float(d)));
    const Tensor logits = scratch("router logits", rows_, moe.count);
    multiply(w.router, {}, router_in, logits);
    const Tensor ids = scratch("experts chosen", rows_, moe.used);
    const Tensor weights = scratch("experts' weights", rows_, moe.used);
    ops_.push_back({.kind = Kind::route,
                    .work = 16 * moe.count,
                    .route = {.logits = rows_of(logits),
                              .scales = place(e.scales),
                              .ids = address_of(ids),
                              .weights = address_of(weights),
                              .experts = moe.count,
                              .used = moe.used}});
    const Tensor xn = scratch("experts' input", rows_, d);
    norm_rows(h, e.norm, xn, 1);
    const uint64_t slots = uint64_t{rows_} * moe.used;
    const Tensor both = scratch("experts' gate and up", slots, 2 * uint64_t{moe.ffn});
    uint32_t y_at = 0;
    for (const ExpertMatrices& m : w.expert_gate_up) {
        multiply_experts(m, ids, xn, false, both, y_at);
        y_at += m.w.rows;
    }
    const Tensor ff = scratch("experts' ff", slots, moe.ffn);
    ops_.push_back({.kind = Kind::gelu_gate,
                    .work = 16 * moe.ffn * moe.used,
                    .gelu_gate = {.gate = rows_of(both),
                                  .up = columns_of(both, moe.ffn),
                                  .y = rows_of(ff),
                                  .cols = moe.ffn,
                                  .per_token = moe.used}});
    const Tensor out = scratch("experts' output", slots, d);
    multiply_experts(w.expert_down, ids, ff, true, out, 0);
    const Tensor y = scratch("experts", rows_, d);
    ops_.push_back(
        {.kind = Kind::combine,
         .work = d * moe.used,
         .combine = {.x = rows_of(out), .y = rows_of(y), .weights = address_of(weights), .cols = d, .used = moe.used}});
    return y;
}

Tensor CpuOps::add_rms_norm(infer::Residual& stream, const infer::Norm& next, Tensor y) {
    const infer::Residual::Pending& pending = stream.pending();
    if (!pending.changes() && next.empty()) return stream.tensor();
    const uint32_t d = config().width;
    if (!next.empty() && !y) y = scratch("xn", rows_, d);
    const auto norm_at = [&](size_t which) {
        const size_t first = which * d;
        if (first >= pending.norms.size()) return Address{0};
        const auto begin = pending.norms.begin() + ptrdiff_t(first);
        return place({begin, begin + d});
    };
    ops_.push_back({.kind = Kind::norm,
                    .work = 8 * d,
                    .norm = {.h = rows_of(stream.tensor()),
                             .x = rows_of(pending.x),
                             .x2 = rows_of(pending.x2),
                             .y = next.empty() ? Rows{} : rows_of(y),
                             .post = norm_at(0),
                             .post_1 = norm_at(1),
                             .post_2 = norm_at(2),
                             .next = place(next),
                             .n = d,
                             .copies = 0,
                             .scale = pending.scale,
                             .y_scale = 1,
                             .eps = config().norm_epsilon}});
    stream.done();
    return next.empty() ? stream.tensor() : y;
}

}  // namespace lapidary::cpu
