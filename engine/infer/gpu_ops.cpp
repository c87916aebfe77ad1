#include "infer/gpu_ops.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/attention/flash_decode.h"
#include "kernels/attention/flash_prefill.h"
#include "kernels/attention/merge_splits.h"
#include "kernels/attention/qk_norm_rope_store.h"
#include "kernels/attention/rope_table.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemv/to_limbs.h"
#include "kernels/norm/add_rms_norm.h"
#include "kernels/train/gelu_gate.h"
#include "model/memory.h"

namespace lapidary::infer {

using gpu::Element;
using gpu::Tensor;
using kernels::Weights;

Residual GpuOps::begin(Tensor embedded, Tensor inputs) {
    inputs_ = inputs;
    if (!is_fused()) return Residual(*this, embedded);
    rope_table_ = program_.scratch_bytes("rope table", t_.frequencies.all.at.size / 2);
    program_.add(kernels::RopeTable{
        .frequencies = t_.frequencies.all, .y = rope_table_, .pairs = rope_table_.at.size / (2 * sizeof(float))});
    Residual out(*this, embedded, program_.scratch("h's twin", 1, config().width));
    // Nothing comes before the first layer; with a nothing to add it needs no pipelines of its own.
    out.add(t_.zeros, Norm(config().width));
    return out;
}

bool GpuOps::takes_limbs(const Weights& w) const {
    return kernels::activations_for(w.format, program_.target()) == kernels::Activations::limbs;
}

bool GpuOps::makes_its_x(const Weights& w) const {
    return kernels::makes_its_x(w.format, w.cols, program_.target());
}

const Weights& GpuOps::matrix_of(LinearOf which) const {
    const GpuLayer& layer = model_.layers[which.layer];
    switch (which.which) {
        case Linear::o: return layer.attn_output;
        case Linear::gate_up: return layer.gate_up;
        case Linear::down: return layer.down;
        case Linear::inp_gate: return layer.inp_gate;
        case Linear::proj: return layer.proj;
        default: return model_.head();
    }
}

Tensor GpuOps::result_of(LinearOf which) {
    switch (which.which) {
        case Linear::qkv: {
            uint64_t cols = 0;
            for (const Weights& w : model_.layers[which.layer].qkv) cols += w.rows;
            return program_.scratch("qkv", rows_, cols);
        }
        case Linear::gate_up: return program_.scratch("ff", rows_, config().layers[which.layer].ffn);
        case Linear::inp_gate: return program_.scratch("per-layer gate", rows_, config().per_layer_width);
        default: return program_.scratch("o", std::max(rows_, max_addends(which)), config().width);
    }
}

Tensor GpuOps::limbs(std::string_view name, uint64_t elements) {
    Tensor out = program_.scratch_bytes(name, kernels::limb_bytes(elements));
    out.element = Element::limbs;
    return out;
}

uint32_t GpuOps::max_addends(LinearOf which) const {
    // Rows that are too long for products to norm by themselves are normed by a kernel that can add up several of them.
    constexpr uint32_t kMost = 4;
    if (which.which != Linear::down || !is_fused() || model_.table().layers[which.layer].is_moe()) return 1;
    const Weights& down = matrix_of(which);
    return std::min(down.cols, down.rows) > kernels::kMaxPrologueColumns ? kMost : 1;
}

std::vector<GpuOps::Product> GpuOps::products_of(LinearOf which, Tensor y) const {
    if (which.which != Linear::qkv) return {{.w = &matrix_of(which), .y = y, .max_addends = max_addends(which)}};
    const std::vector<Weights>& qkv = model_.layers[which.layer].qkv;
    // Q and K in one format, V in another: one product has them both.
    if (is_fused() && qkv.size() == 2 && kernels::can_join(qkv[0], qkv[1])) {
        return {{.w = qkv.data(), .below = &qkv[1], .y = y}};
    }
    std::vector<Product> out;
    uint64_t offset = 0;
    for (const Weights& w : qkv) {
        out.push_back({.w = &w, .y = y, .y_offset = offset});
        offset += w.rows;
    }
    return out;
}

Tensor GpuOps::linear(LinearOf which, const Activation& x) {
    Tensor y = result_of(which);
    std::vector<Product> products = products_of(which, y);
    if (is_fused() && x.stream != nullptr) {
        multiply_normed(std::move(products), *x.stream, x.norm);
        return y;
    }
    const Tensor made = x.stream != nullptr ? x.stream->make(x) : x.ready;
    for (const Product& p : products) y.addends = multiply(p, {.ready = made, .splits = x.splits});
    adapt(which, made, y);
    return y;
}

void GpuOps::multiply(const Weights& w, Tensor x, Tensor y, kernels::Epilogue epilogue) {
    multiply({.w = &w, .y = y, .epilogue = std::move(epilogue)}, {.ready = x});
}

void GpuOps::multiply_gated(const Weights& w, Tensor x, Tensor y) {
    multiply({.w = &w, .y = y, .epilogue = kernels::GeluGate{}, .out = y.cols}, {.ready = x});
}

uint32_t GpuOps::multiply(Product p, const Activation& x) {
    const Weights& w = *p.w;
    if (p.takes_all_rows() && w.pieces.size() > 1) {
        program_.refuse(Code::unsupported, "a weight of {} is larger than this GPU binds at once",
                        format_bytes(w.bytes()));
        return 1;
    }
    if (x.splits) {
        multiply_splits(p, *x.splits);
        return 1;
    }
    if (x.ready.element == Element::limbs) return multiply_ready(p, x.ready);
    if (rows_ == 1 || p.experts) return multiply_floats(p, x.ready);
    for (size_t i = 0; i < w.pieces.size(); ++i) {
        const Weights piece = w.piece(i);
        const bool all = p.takes_all_rows();
        program_.add(kernels::Gemm{.w = piece,
                                   .x = x.ready,
                                   .y = p.y,
                                   .out = all ? p.out : piece.pieces[0].rows,
                                   .y_offset = p.y_offset + (all ? 0 : piece.pieces[0].first_row),
                                   .rows = rows_,
                                   .epilogue = p.epilogue});
    }
    return 1;
}

uint32_t GpuOps::multiply_floats(const Product& p, Tensor x) {
    const Weights& w = *p.w;
    const bool as_limbs = takes_limbs(w);
    const auto form = kernels::activations_for(w.format, program_.target());
    const bool one = rows_ == 1 && !p.experts;
    // Where very many workgroups would make the same limbs, a dispatch of its own makes them.
    const bool often = one && as_limbs && w.cols > kernels::kMaxPrologueColumns;
    if (kernels::fits_workgroup(program_.target().info, form, w.cols) && !often) {
        gemv(p, x, kernels::FloatX{});
        return 1;
    }
    if (!one) {
        program_.refuse(Code::unsupported, "the GPU backend has no room for experts with rows of {} elements", w.cols);
        return 1;
    }
    if (as_limbs) {
        const Tensor converted = limbs("x as limbs", w.cols);
        program_.add(kernels::ToLimbs{.x = x, .y = converted, .cols = w.cols});
        x = converted;
    }
    return multiply_ready(p, x);
}

uint32_t GpuOps::multiply_ready(const Product& p, Tensor x) {
    const auto tiling = persistent_tiling(p);
    if (!tiling) {
        gemv(p, x, kernels::ReadyX{});
        return 1;
    }
    const bool gate_up = is_gelu_gate(p.epilogue);
    program_.add(kernels::GemvPersistent{.w = *p.w,
                                         .below = p.below,
                                         .x = x,
                                         .y = p.y.from(p.y_offset),
                                         .out = gate_up ? p.out : p.w->rows + (p.below != nullptr ? p.below->rows : 0),
                                         .gelu_gate = gate_up,
                                         .tiling = *tiling});
    return tiling->splits;
}

std::optional<kernels::PersistentTiling> GpuOps::persistent_tiling(const Product& p) const {
    const Weights& w = *p.w;
    const bool gate_up = is_gelu_gate(p.epilogue);
    const bool plain = (gate_up || std::holds_alternative<kernels::Store>(p.epilogue)) && !p.experts && rows_ == 1 &&
                       p.y.element == Element::f32;
    if (!plain || !takes_limbs(w) || w.pieces.size() > 1 ||
        p.y_offset * sizeof(float) % kernels::kBindingAlignment != 0) {
        return std::nullopt;
    }
    kernels::PersistentShape shape{.rows = gate_up ? p.out : w.rows,
                                   .bytes = w.bytes(),
                                   .cols = w.cols,
                                   .gate_and_up = gate_up,
                                   .max_splits = p.max_addends};
    if (p.below != nullptr) {
        shape.below_rows = p.below->rows;
        shape.below_bytes = kernels::gpu_bytes(p.below->format, p.below->rows, w.cols);
    }
    return kernels::persistent_tiling(program_.target().info, program_.target().compute_units, shape);
}

void GpuOps::gemv(const Product& p, Tensor x, const kernels::Prologue& prologue) {
    const bool all = p.takes_all_rows();
    for (size_t i = 0; i < p.w->pieces.size(); ++i) {
        const Weights piece = p.w->piece(i);
        const Weights::Piece& rows = piece.pieces[0];
        program_.add(kernels::Gemv{.w = piece,
                                   .below = p.below,
                                   .x = x,
                                   .y = p.y,
                                   .out = all ? p.out : rows.rows + (p.below != nullptr ? p.below->rows : 0),
                                   .y_offset = p.y_offset + (all ? 0 : rows.first_row),
                                   .prologue = prologue,
                                   .epilogue = p.epilogue,
                                   .experts = p.experts,
                                   .tokens = rows_});
    }
}

void GpuOps::multiply_normed(std::vector<Product> products, Residual& stream, const Norm& norm) {
    if (!std::ranges::all_of(products, [&](const Product& p) { return makes_its_x(*p.w); })) {
        // First all that want limbs, then all that want floats: each form is made once. Without a norm there is nothing to
        // leave but the stream itself, in floats.
        constexpr uint64_t kMaxLimbs = 2 * kernels::kMaxPrologueColumns;  // of add_rms_norm
        for (const Element form : {Element::limbs, Element::f32}) {
            std::optional<Tensor> x;
            for (const Product& p : products) {
                const bool as_limbs = takes_limbs(*p.w) && !norm.empty() && p.w->cols <= kMaxLimbs;
                if (as_limbs != (form == Element::limbs)) continue;
                if (!x)
                    x = as_limbs ? normed_into(stream, norm, limbs("xn", p.w->cols)) : add_rms_norm(stream, norm, {});
                multiply(p, {.ready = *x});
            }
        }
        return;
    }
    for (const Product& p : products) {
        // A matrix in pieces: the first product adds what is pending, the others norm the sum again.
        for (size_t i = 0; i < p.w->pieces.size(); ++i) {
            const Residual::Pending& pending = stream.pending();
            const Weights piece = p.w->piece(i);
            Product one = p;
            one.w = &piece;
            gemv(one, stream.tensor(),
                 kernels::AddRmsNormX{
                     .delta = pending.x,
                     .weights = program_.floats(kernels::joined({pending.norms, norm, {pending.scale}}), "norms"),
                     .h_out = stream.twin(),
                     .next = !norm.empty(),
                     .eps = config().norm_epsilon});
            if (pending.changes()) stream.moved();
        }
    }
}

void GpuOps::multiply_splits(const Product& p, const Splits& splits) {
    const Weights& w = *p.w;
    if (makes_its_x(w)) {
        return gemv(p, splits.values,
                    kernels::MergeSplitsX{.stats = splits.stats,
                                          .head_dim = splits.head_dim,
                                          .window = splits.window,
                                          .max_splits = splits.max_splits});
    }
    const Tensor x = takes_limbs(w) ? limbs("attended", w.cols) : program_.scratch("attended", 1, w.cols);
    program_.add(kernels::MergeSplits{.splits = splits.values,
                                      .stats = splits.stats,
                                      .y = x,
                                      .cols = w.cols,
                                      .head_dim = splits.head_dim,
                                      .window = splits.window,
                                      .max_splits = splits.max_splits});
    multiply(p, {.ready = x});
}

Tensor GpuOps::add_rms_norm(Residual& stream, const Norm& next, Tensor y) {
    if (!stream.pending().changes() && next.empty()) return stream.tensor();
    if (!next.empty() && !y) y = program_.scratch("xn", rows_, config().width);
    return normed_into(stream, next, y);
}

Tensor GpuOps::normed_into(Residual& stream, const Norm& next, Tensor y) {
    const Residual::Pending& pending = stream.pending();
    const bool limbs = y.element == Element::limbs;
    program_.add(kernels::AddRmsNorm{
        .h = stream.tensor(),
        .x = pending.x,
        .x2 = pending.x2,
        .weights = program_.floats(kernels::joined({pending.norms, next, {pending.scale}}), "norms"),
        .y = y,
        .h_out = limbs ? stream.twin() : Tensor{},
        .cols = config().width,
        .rows = rows_,
        .eps = config().norm_epsilon});
    // As limbs several workgroups share a row, so h' goes where nobody reads.
    limbs ? stream.moved() : stream.done();
    return next.empty() ? stream.tensor() : y;
}

void GpuOps::norm_rows(Tensor h, const Norm& norm, Tensor y, float scale) {
    program_.add(kernels::AddRmsNorm{.h = h,
                                     .weights = program_.floats(kernels::joined({norm, {1.0f}}), "norms"),
                                     .y = y,
                                     .cols = config().width,
                                     .rows = rows_,
                                     .eps = config().norm_epsilon,
                                     .next_scale = scale});
}

bool GpuOps::leaves_limbs(LinearOf gate_up, LinearOf reader) const {
    // Where they do not make their own x, their workgroups may have fewer outputs than share a scale.
    return is_fused() && takes_limbs(matrix_of(reader)) && config().layers[gate_up.layer].ffn % 64 == 0 &&
           makes_its_x(matrix_of(gate_up));
}

Activation GpuOps::gelu_gate(LinearOf which, const Activation& x, LinearOf reader) {
    const uint64_t ffn = config().layers[which.layer].ffn;
    Product p{.w = &matrix_of(which), .epilogue = kernels::GeluGate{}, .out = ffn};
    if (is_fused()) {
        p.y = leaves_limbs(which, reader) ? limbs("ff", ffn) : result_of(which);
        multiply_normed({p}, *x.stream, x.norm);
        return {.ready = p.y};
    }
    const Tensor made = x.stream->make(x);
    p.y = result_of(which);
    if (!is_adapted(which)) {
        multiply(p, {.ready = made});
        return {.ready = p.y};
    }
    const Tensor both = program_.scratch("gate and up", rows_, 2 * ffn);
    multiply(*p.w, made, both);
    adapt(which, made, both);
    program_.add(kernels::GeluGateRows{.g = both, .y = p.y, .cols = ffn, .rows = rows_});
    return {.ready = p.y};
}

kernels::GeluTimes GpuOps::times_input(uint32_t layer) const {
    const uint32_t p = config().per_layer_width;
    // A layer's inputs by the offset of the binding where that is allowed: one pipeline serves all layers then.
    const bool binds = p * sizeof(float) % kernels::kBindingAlignment == 0;
    const uint64_t at = uint64_t{p} * layer;
    return {.factors = binds ? inputs_.from(at) : inputs_, .offset = binds ? 0 : at};
}

Activation GpuOps::gelu_times_input(LinearOf which, const Activation& x) {
    const kernels::GeluTimes times = times_input(which.layer);
    const Product p{.w = &matrix_of(which), .y = result_of(which), .epilogue = times};
    if (is_fused()) {
        multiply_normed({p}, *x.stream, x.norm);
        return {.ready = p.y};
    }
    const Tensor made = x.stream->make(x);
    if (!is_adapted(which)) {
        multiply(p, {.ready = made});
        return {.ready = p.y};
    }
    multiply(*p.w, made, p.y);
    adapt(which, made, p.y);
    const Tensor gated = program_.scratch("per-layer gated", rows_, p.y.cols);
    program_.add(kernels::GeluGateRows{.g = p.y,
                                       .y = gated,
                                       .by = {.factors = times.factors, .offset = times.offset},
                                       .cols = p.y.cols,
                                       .rows = rows_});
    return {.ready = gated};
}

void GpuOps::adapt(LinearOf which, Tensor x, Tensor y) {
    if (is_adapted(which)) adapters_->add(program_, which, x, y, rows_);
}

Activation GpuOps::attend(const Attention& attention, Tensor qkv) {
    if (is_fused()) return {.splits = flash_decode(attention, qkv)};
    qk_norm_rope_store(attention, qkv);
    const Tensor y = program_.scratch("attended", rows_, attention.shape.q_width());
    program_.add(kernels::FlashPrefill{
        .shape = attention.shape, .qkv = qkv, .y = y, .kv = attention.kv, .visible = attention.visible, .rows = rows_});
    return {.ready = y};
}

void GpuOps::store_keys(const Attention& attention, Tensor qkv) {
    // Of one token everything is one dispatch, so its attention comes along, and nobody reads it.
    if (is_fused()) {
        flash_decode(attention, qkv);
    } else {
        qk_norm_rope_store(attention, qkv);
    }
}

void GpuOps::qk_norm_rope_store(const Attention& a, Tensor qkv) {
    program_.add(kernels::QkNormRopeStore{.shape = a.shape,
                                          .qkv = qkv,
                                          .norms = t_.head_norms[a.layer],
                                          .frequencies = a.sliding ? t_.frequencies.sliding : t_.frequencies.full,
                                          .kv = a.kv,
                                          .visible = a.visible,
                                          .owns_kv = a.owns_kv,
                                          .values_are_keys = a.values_are_keys,
                                          .norms_values = a.norms_values,
                                          .eps = config().norm_epsilon,
                                          .rows = rows_});
}

Splits GpuOps::flash_decode(const Attention& a, Tensor qkv) {
    const uint32_t splits = max_splits(config(), a.layer, context_);
    const Tensor values = program_.scratch("attention splits", 1, uint64_t{a.shape.q_width()} * splits);
    const Tensor stats = program_.scratch("attention stats", 1, uint64_t{a.shape.heads} * splits * 2);
    program_.add(kernels::FlashDecode{.shape = a.shape,
                                      .qkv = qkv,
                                      .norms = t_.head_norms[a.layer],
                                      .rope_table = t_.frequencies.in_table(rope_table_, a.sliding),
                                      .kv = a.kv,
                                      .visible = a.visible,
                                      .max_keys = a.max_keys,
                                      .owns_kv = a.owns_kv,
                                      .values_are_keys = a.values_are_keys,
                                      .norms_values = a.norms_values,
                                      .eps = config().norm_epsilon,
                                      .max_splits = splits,
                                      .splits = values,
                                      .stats = stats});
    return {.values = values,
            .stats = stats,
            .head_dim = a.shape.head_dim,
            .window = a.visible.window,
            .max_splits = splits};
}

}  // namespace lapidary::infer
