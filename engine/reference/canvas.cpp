#include "reference/canvas.h"

#include <cmath>

#include "reference/forward.h"
#include "reference/ops.h"

namespace lapidary::reference {

uint32_t Canvas::length() const {
    return forward_.config_->diffusion->canvas;
}

Status Canvas::replace(std::span<const int32_t> ids) {
    if (ids.size() != length()) {
        return fail(Code::invalid_argument, "a canvas of this model has {} tokens, not {}", length(), ids.size());
    }
    TRY(forward_.check(ids));
    ids_.assign(ids.begin(), ids.end());
    return {};
}

Status Canvas::begin(std::span<const int32_t> ids) {
    TRY(replace(ids));
    logits_.clear();
    sampler_ = {};
    return {};
}

Task<Result<CanvasOutcome>> Canvas::step(CanvasStep step, CanvasView view, Breathe breathe) {
    logits_ = CO_TRY(co_await decode(std::move(breathe)));
    temperature_ = step.temperature;
    co_return sampler_.step(logits_, step, view, ids_);
}

Task<Result<std::vector<float>>> Canvas::decode(Breathe breathe) {
    Forward& f = forward_;
    std::vector<float> h = f.embeddings(ids_);  // [length, d]
    if (!logits_.empty()) {
        const std::vector<float> signal = self_conditioning();
        for (size_t i = 0; i < h.size(); ++i) h[i] += signal[i];
    }
    rms_norm(h, {}, f.config_->width, f.config_->norm_epsilon, h);
    // All of them see the whole canvas, and of a window what the first one does.
    std::vector<Forward::Row> rows;
    const uint32_t n = f.position_;
    for (uint32_t i = 0; i < length(); ++i)
        rows.push_back({.position = n + i, .key = n, .first = 0, .end = n + length(), .sliding_end = n + length()});
    Status status = co_await f.run_layers(h, rows, {}, model::Region::canvas, std::move(breathe));
    f.cache_.truncate(*f.config_, f.position_);  // a canvas that is not settled is not remembered
    CO_TRY(std::move(status));
    co_return f.head(h);
}

std::vector<float> Canvas::self_conditioning() const {
    const Forward& f = forward_;
    const model::SelfConditioning& w = f.table_->self_conditioning;
    std::vector<float> m = soft_embeddings();
    rms_norm(m, f.self_conditioning_norm_, f.config_->width, f.config_->norm_epsilon, m);
    std::vector<float> gate = f.apply(w.gate, m);
    gelu_gate(gate, f.apply(w.up, m));
    return f.apply(w.down, gate);
}

// √d · Σ_v p_v · E_v, p = softmax(logits / t)
std::vector<float> Canvas::soft_embeddings() const {
    const Forward& f = forward_;
    const size_t d = f.config_->width;
    const size_t vocabulary = f.config_->vocabulary;
    std::vector<float> p = logits_;
    for (float& v : p) v /= temperature_;
    for (size_t i = 0; i < ids_.size(); ++i) softmax(std::span(p).subspan(i * vocabulary, vocabulary));
    const Matrix table = f.weights_->matrix(f.table_->token_embd);
    std::vector<float> row(d);
    std::vector<float> soft(ids_.size() * d);
    for (size_t v = 0; v < vocabulary; ++v) {
        table.decode_row(v, row);
        for (const auto& term : f.terms(0, lora::Target::token_embd)) {
            lora::add_embedding_update(*term.update, term.scale, int32_t(v), row);
        }
        for (size_t i = 0; i < ids_.size(); ++i) {
            const float weight = p[i * vocabulary + v] * std::sqrt(float(d));
            for (size_t k = 0; k < d; ++k) soft[i * d + k] += weight * row[k];
        }
    }
    return soft;
}

}  // namespace lapidary::reference
