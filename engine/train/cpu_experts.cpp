#include <algorithm>
#include <cmath>

#include "quant/dot.h"
#include "reference/ops.h"
#include "train/cpu_pass.h"
#include "train/ops.h"

namespace lapidary::train {

using lora::Target;

namespace {

// The rows of x at the tokens of an expert's slots, one behind the other.
std::vector<float> gathered(std::span<const size_t> slots, uint32_t used, std::span<const float> x, size_t d) {
    std::vector<float> out;
    out.reserve(slots.size() * d);
    for (const size_t slot : slots) {
        const auto row = x.subspan(slot / used * d, d);
        out.insert(out.end(), row.begin(), row.end());
    }
    return out;
}

}  // namespace

CpuPass::Routing CpuPass::route(uint32_t layer, std::span<const float> h) const {
    const model::ExpertConfig& moe = config_.experts;
    const size_t d = config_.width;
    Routing out;
    out.in = normed(h, {}, config_.width);
    const float scale = 1.0f / std::sqrt(float(d));
    for (size_t i = 0; i < out.in.size(); ++i) out.in[i] *= scale * model_.small.layers[layer].router_scale[i % d];
    out.p.resize(example_.size() * moe.count);
    product(model_.weights->matrix(model_.table->layers[layer].router), out.in, out.p);
    for (size_t t = 0; t < example_.size(); ++t) {
        const auto p = std::span(out.p).subspan(t * moe.count, moe.count);
        reference::softmax(p);
        float sum = 0;
        for (const uint32_t e : reference::largest(p, moe.used)) {
            out.chosen.push_back(e);
            out.share.push_back(p[e]);
            sum += p[e];
        }
        for (float& share : std::span(out.share).last(moe.used)) share /= sum;
    }
    return out;
}

reference::Matrix CpuPass::expert_matrix(uint32_t layer, uint32_t expert, Target part) const {
    const model::LayerWeights& w = model_.table->layers[layer];
    const auto matrix = [&](const model::Weight& weight) { return model_.weights->matrix(weight); };
    const uint64_t f = config_.experts.ffn;
    const uint64_t d = config_.width;
    if (part == Target::down) return matrix(w.expert_down).slice(expert * d, d);
    if (w.expert_gate_up.present()) {
        return matrix(w.expert_gate_up).slice(expert * 2 * f + (part == Target::up ? f : 0), f);
    }
    return matrix(part == Target::up ? w.expert_up : w.expert_gate).slice(expert * f, f);
}

// z: [t, d]. Everything that is assigned to the expert goes through it together: its rows are decoded once.
CpuPass::Assignment CpuPass::assigned(uint32_t layer, uint32_t expert, const Routing& routing,
                                      std::span<const float> z) const {
    Assignment out;
    for (size_t i = 0; i < routing.chosen.size(); ++i) {
        if (routing.chosen[i] == expert) out.slots.push_back(i);
    }
    if (out.slots.empty()) return out;
    out.z = gathered(out.slots, config_.experts.used, z, config_.width);
    const auto through = [&](Target part, std::span<const float> x) {
        const reference::Matrix w = expert_matrix(layer, expert, part);
        std::vector<float> y(out.slots.size() * size_t(w.rows));
        product(w, x, y);
        return y;
    };
    out.gate = through(Target::gate, out.z);
    out.up = through(Target::up, out.z);
    std::vector<float> gated = out.gate;
    reference::gelu_gate(gated, out.up);
    out.down = through(Target::down, gated);
    return out;
}

// Σ over the chosen experts of share · scale · down(gelu(gate·z) ⊙ (up·z)). [t, d]
std::vector<float> CpuPass::experts_forward(uint32_t layer, std::span<const float> h) const {
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const model::ExpertConfig& moe = config_.experts;
    const size_t d = config_.width;
    const Routing routing = route(layer, h);
    const std::vector<float> z = normed(h, vectors.pre_ffw_norm_2, config_.width);
    std::vector<float> out(h.size());
    for (uint32_t e = 0; e < moe.count; ++e) {
        const Assignment work = assigned(layer, e, routing, z);
        for (size_t i = 0; i < work.slots.size(); ++i) {
            const float amount = routing.share[work.slots[i]] * vectors.expert_down_scale[e];
            float* row = out.data() + work.slots[i] / moe.used * d;
            for (size_t c = 0; c < d; ++c) row[c] += amount * work.down[i * d + c];
        }
    }
    return out;
}

// Through the experts to z, and through the shares to the router; the experts and the choice itself are constant.
void CpuPass::experts_backward(uint32_t layer, std::span<const float> h, std::span<const float> dy,
                               std::span<float> dh) const {
    const reference::LayerVectors& vectors = model_.small.layers[layer];
    const model::ExpertConfig& moe = config_.experts;
    const size_t d = config_.width;
    const Routing routing = route(layer, h);
    const std::vector<float> z = normed(h, vectors.pre_ffw_norm_2, config_.width);
    std::vector<float> dz(h.size());
    std::vector<float> dshare(routing.share.size());
    for (uint32_t e = 0; e < moe.count; ++e) {
        const Assignment work = assigned(layer, e, routing, z);
        if (work.slots.empty()) continue;
        const float scale = vectors.expert_down_scale[e];
        std::vector<float> ddown = gathered(work.slots, moe.used, dy, d);
        for (size_t i = 0; i < work.slots.size(); ++i) {
            const auto row = std::span(ddown).subspan(i * d, d);
            dshare[work.slots[i]] = scale * quant::dot(row, std::span(work.down).subspan(i * d, d));
            for (float& v : row) v *= scale * routing.share[work.slots[i]];
        }
        std::vector<float> dgated(work.gate.size());
        add_product_backward(expert_matrix(layer, e, Target::down), ddown, dgated);
        std::vector<float> dgate(work.gate.size());
        std::vector<float> dup(work.gate.size());
        gelu_gate_backward(work.gate, work.up, dgated, dgate, dup);
        std::vector<float> dz_here(work.z.size());
        add_product_backward(expert_matrix(layer, e, Target::gate), dgate, dz_here);
        add_product_backward(expert_matrix(layer, e, Target::up), dup, dz_here);
        for (size_t i = 0; i < work.slots.size(); ++i) {
            float* row = dz.data() + work.slots[i] / moe.used * d;
            for (size_t c = 0; c < d; ++c) row[c] += dz_here[i * d + c];
        }
    }
    norm_backward(h, vectors.pre_ffw_norm_2, config_.width, dz, dh);

    std::vector<float> dlogits(routing.p.size());
    for (size_t t = 0; t < example_.size(); ++t) {
        route_backward(std::span(routing.p).subspan(t * moe.count, moe.count),
                       std::span(routing.chosen).subspan(t * moe.used, moe.used),
                       std::span(dshare).subspan(t * moe.used, moe.used),
                       std::span(dlogits).subspan(t * moe.count, moe.count));
    }
    std::vector<float> din(h.size());
    add_product_backward(model_.weights->matrix(model_.table->layers[layer].router), dlogits, din);
    for (size_t i = 0; i < din.size(); ++i) din[i] *= vectors.router_scale[i % d] / std::sqrt(float(d));
    norm_backward(h, {}, config_.width, din, dh);
}

}  // namespace lapidary::train
