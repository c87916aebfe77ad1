#include <algorithm>
#include <cmath>

#include "reference/ops.h"
#include "train/cpu_pass.h"
#include "train/dropout.h"

namespace lapidary::train {

using lora::Target;

RopeTable::RopeTable(std::span<const double> frequencies, uint32_t positions) : half_(frequencies.size()) {
    cos_.reserve(half_ * positions);
    sin_.reserve(half_ * positions);
    for (uint32_t p = 0; p < positions; ++p) {
        for (const double frequency : frequencies) {
            cos_.push_back(float(std::cos(double(p) * frequency)));
            sin_.push_back(float(std::sin(double(p) * frequency)));
        }
    }
}

void RopeTable::turn(std::span<float> x, uint32_t position, bool backwards) const {
    const float direction = backwards ? -1.0f : 1.0f;
    for (size_t head = 0; head < x.size(); head += 2 * half_) {
        for (size_t i = 0; i < half_; ++i) {
            const float cosine = cos_[position * half_ + i];
            const float sine = direction * sin_[position * half_ + i];
            const float a = x[head + i];
            const float b = x[head + i + half_];
            x[head + i] = a * cosine - b * sine;
            x[head + i + half_] = a * sine + b * cosine;
        }
    }
}

namespace {

// The length of the longest example: the positions that are needed.
uint32_t longest(const Sequence& sequence) {
    uint32_t out = 0;
    for (size_t i = 0; i < sequence.starts.size(); ++i) {
        const size_t end = i + 1 < sequence.starts.size() ? sequence.starts[i + 1] : sequence.tokens.size();
        out = std::max(out, uint32_t(end) - sequence.starts[i]);
    }
    return out;
}

}  // namespace

CpuPass::CpuPass(const CpuModel& model, const Trained& trained, const Sequence& sequence)
    : model_(model),
      config_(*model.config),
      trained_(trained),
      sequence_(sequence),
      example_(sequence.tokens.size()),
      rope_full_(model.small.rope_full, longest(sequence)),
      rope_sliding_(model.small.rope_sliding, longest(sequence)),
      kv_(config_.layers.size()) {
    for (const uint32_t start : sequence.starts) {
        std::fill(example_.begin() + ptrdiff_t(start), example_.end(), start);
    }
}

std::vector<float> CpuPass::embeddings() const {
    const size_t d = config_.width;
    const reference::Matrix table = model_.weights->matrix(model_.table->token_embd);
    std::vector<float> h(sequence_.tokens.size() * d);
    for (size_t t = 0; t < sequence_.tokens.size(); ++t) {
        table.decode_row(uint64_t(sequence_.tokens[t]), std::span(h).subspan(t * d, d));
    }
    for (float& v : h) v *= std::sqrt(float(d));
    return h;
}

// (rms(proj · h / sqrt(d)) + row of the token · sqrt(P)) / sqrt(2), for every layer. With everything in it frozen, this
// needs no gradient.
void CpuPass::prepare(std::span<const float> embeddings) {
    const uint32_t p = config_.per_layer_width;
    if (p == 0) return;
    const reference::Matrix projection = model_.weights->matrix(model_.table->per_layer_model_proj);
    inputs_.resize(sequence_.tokens.size() * size_t(projection.rows));
    product(projection, embeddings, inputs_);
    for (float& v : inputs_) v *= 1.0f / std::sqrt(float(config_.width));
    reference::rms_norm(inputs_, model_.small.per_layer_proj_norm, p, config_.norm_epsilon, inputs_);
    const reference::Matrix table = model_.weights->matrix(model_.table->per_layer_token_embd);
    std::vector<float> row(size_t(table.cols));
    for (size_t t = 0; t < sequence_.tokens.size(); ++t) {
        table.decode_row(uint64_t(sequence_.tokens[t]), row);
        for (size_t i = 0; i < row.size(); ++i) {
            float& v = inputs_[t * row.size() + i];
            v = (v + row[i] * std::sqrt(float(p))) * (1.0f / std::sqrt(2.0f));
        }
    }
}

std::vector<float> CpuPass::apply(uint32_t layer, Target target, std::span<const float> x) const {
    const reference::Matrix w = model_.weights->matrix(*lora::weight_of(*model_.table, layer, target));
    std::vector<float> y(x.size() / size_t(w.cols) * size_t(w.rows));
    product(w, x, y);
    if (const Slot* slot = trained_.layout->find(layer, target)) {
        const auto a = trained_.parameters.subspan(slot->a, slot->shape.rank * slot->shape.in);
        const auto b = trained_.parameters.subspan(slot->b, slot->shape.rank * slot->shape.out);
        add_update(slot->shape, a, b, trained_.dropout.probability > 0 ? with_dropout(*slot, x) : x, y);
    }
    return y;
}

std::vector<float> CpuPass::with_dropout(const Slot& slot, std::span<const float> x) const {
    const float probability = trained_.dropout.probability;
    const auto number = uint32_t(&slot - trained_.layout->slots().data());
    const DropoutKey key = dropout_key(trained_.dropout.seed, number);
    std::vector<float> kept(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        kept[i] = dropped(key, uint32_t(i), probability) ? 0.0f : x[i] / (1 - probability);
    }
    return kept;
}

std::vector<float> CpuPass::normed(std::span<const float> x, std::span<const float> w, uint32_t n) const {
    std::vector<float> y(x.size());
    reference::rms_norm(x, w, n, config_.norm_epsilon, y);
    return y;
}

// RoPE for every token at its position in its example.
void CpuPass::turn(uint32_t layer, std::span<float> x, uint32_t width, bool backwards) const {
    const RopeTable& rope = config_.layers[layer].sliding ? rope_sliding_ : rope_full_;
    for (size_t t = 0; t < example_.size(); ++t) {
        rope.turn(x.subspan(t * width, width), uint32_t(t) - example_[t], backwards);
    }
}

// The first position that token t attends to.
uint32_t CpuPass::visible_from(uint32_t layer, size_t t) const {
    const auto end = uint32_t(t) + 1;
    const bool windowed = config_.layers[layer].sliding && end > config_.sliding_window;
    return std::max(example_[t], windowed ? end - config_.sliding_window : 0);
}

CpuSavedActivations CpuPass::forward(uint32_t layer, std::vector<float>& h) {
    CpuSavedActivations saved;
    saved.h = h;
    attention_forward(layer, saved, h);
    network_forward(layer, saved, h);
    if (config_.per_layer_width > 0) per_layer_forward(layer, saved, h);
    for (float& v : h) v *= model_.small.layers[layer].output_scale;
    return saved;
}

void CpuPass::attention_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h) {
    const model::LayerConfig& shape = config_.layers[layer];
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const std::vector<float> x = normed(h, vectors.attn_norm, config_.width);
    saved.q = apply(layer, Target::q, x);
    std::vector<float> q = normed(saved.q, vectors.q_norm, shape.head_dim);
    turn(layer, q, shape.q_width(), false);
    if (config_.owns_kv(layer)) {
        KeysAndValues& own = kv_[layer];
        saved.k = apply(layer, Target::k, x);
        if (model_.table->layers[layer].attn_v.present()) saved.v = apply(layer, Target::v, x);
        own.k = normed(saved.k, vectors.k_norm, shape.head_dim);
        own.v = saved.v.empty() ? saved.k : saved.v;
        if (config_.norms_values) own.v = normed(own.v, {}, shape.head_dim);
        turn(layer, own.k, shape.kv_width(), false);
    }
    const KeysAndValues& kv = kv_[shape.kv_layer];
    saved.attended.resize(q.size());
    for (size_t t = 0; t < example_.size(); ++t) {
        reference::attention({shape.heads, shape.kv_heads, shape.head_dim},
                             std::span(q).subspan(t * shape.q_width(), shape.q_width()), kv.k, kv.v,
                             visible_from(layer, t), uint32_t(t) + 1,
                             std::span(saved.attended).subspan(t * shape.q_width(), shape.q_width()));
    }
    saved.o = apply(layer, Target::o, saved.attended);
    reference::add_rms_norm(saved.o, vectors.post_attention_norm, config_.norm_epsilon, h);
    saved.h1.assign(h.begin(), h.end());
}

// gelu(gate) ⊙ up
std::vector<float> CpuPass::gated(uint32_t /*layer*/, const CpuSavedActivations& saved) const {
    std::vector<float> out = saved.gate;
    reference::gelu_gate(out, saved.up);
    return out;
}

// What the last norm of the networks sees: the dense network's output, or the sum of both networks' normed ones.
std::vector<float> CpuPass::network_sum(uint32_t layer, const CpuSavedActivations& saved) const {
    if (saved.experts.empty()) return saved.down;
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    std::vector<float> sum = normed(saved.down, vectors.post_ffw_norm_1, config_.width);
    reference::add_rms_norm(saved.experts, vectors.post_ffw_norm_2, config_.norm_epsilon, sum);
    return sum;
}

void CpuPass::network_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h) {
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const std::vector<float> u = normed(h, vectors.ffn_norm, config_.width);
    saved.gate = apply(layer, Target::gate, u);
    saved.up = apply(layer, Target::up, u);
    saved.down = apply(layer, Target::down, gated(layer, saved));
    if (model_.table->layers[layer].is_moe()) saved.experts = experts_forward(layer, h);
    reference::add_rms_norm(network_sum(layer, saved), vectors.post_ffw_norm, config_.norm_epsilon, h);
}

// The layer's own inputs: [t, P]
std::vector<float> CpuPass::layer_inputs(uint32_t layer) const {
    const size_t p = config_.per_layer_width;
    std::vector<float> out(example_.size() * p);
    for (size_t t = 0; t < example_.size(); ++t) {
        std::copy_n(inputs_.begin() + ptrdiff_t((t * config_.layers.size() + layer) * p), p,
                    out.begin() + ptrdiff_t(t * p));
    }
    return out;
}

void CpuPass::per_layer_forward(uint32_t layer, CpuSavedActivations& saved, std::span<float> h) {
    saved.h2.assign(h.begin(), h.end());
    saved.ple_gate = apply(layer, Target::inp_gate, h);
    std::vector<float> gate = saved.ple_gate;
    reference::gelu_gate(gate, layer_inputs(layer));
    saved.ple = apply(layer, Target::proj, gate);
    reference::add_rms_norm(saved.ple, model_.small.layers[layer].post_norm, config_.norm_epsilon, h);
}

void CpuPass::forget_keys(uint32_t layer) {
    kv_[layer] = {};
}

}  // namespace lapidary::train
