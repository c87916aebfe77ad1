// The experts' way through a layer; the same for one token and for many.
#include <cmath>

#include "base/edition.h"
#include "infer/gpu_ops.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::infer {

GpuOps::Routed GpuOps::route(const Experts& e, gpu::Tensor h) {
    const model::ExpertConfig& moe = config().experts;
    const GpuLayer& w = model_.layers[e.layer];
    const uint32_t d = config().width;
    const gpu::Tensor router_in = program_.scratch("router input", rows_, d);
    norm_rows(h, e.router_scale, router_in, 1.0f / std::sqrt(float(d)));
    const gpu::Tensor logits = program_.scratch("router logits", rows_, moe.count);
    multiply(w.router, router_in, logits);
    const gpu::Tensor ids = program_.scratch("experts chosen", rows_, moe.used);
    const gpu::Tensor weights = program_.scratch("experts' weights", rows_, moe.used);
    program_.add(kernels::MoeRoute{.logits = logits,
                                   .scales = program_.floats(e.scales, "expert scales"),
                                   .ids = ids,
                                   .weights = weights,
                                   .experts = moe.count,
                                   .used = moe.used,
                                   .rows = rows_});
    const gpu::Tensor xn = program_.scratch("xn", rows_, d);
    norm_rows(h, e.norm, xn);
    return {.ids = ids, .weights = weights, .x = xn};
}

gpu::Tensor GpuOps::experts(const Experts& e, gpu::Tensor h) {
    if (!has_everything()) return h;  // such a model is not opened there
    const model::ExpertConfig& moe = config().experts;
    const GpuLayer& w = model_.layers[e.layer];
    const uint32_t d = config().width;
    const auto [ids, weights, xn] = route(e, h);
    kernels::ExpertRows rows{.ids = ids, .count = moe.count, .used = moe.used};
    const gpu::Tensor ff = program_.scratch("experts' ff", rows_ * moe.used, moe.ffn);
    multiply({.w = &w.expert_gate_up, .y = ff, .epilogue = kernels::GeluGate{}, .out = moe.ffn, .experts = rows},
             {.ready = xn});
    rows.x_per_slot = true;
    const gpu::Tensor out = program_.scratch("experts' output", rows_ * moe.used, d);
    multiply({.w = &w.expert_down, .y = out, .out = d, .experts = rows}, {.ready = ff});
    const gpu::Tensor y = program_.scratch("experts", rows_, d);
    program_.add(kernels::MoeCombine{.weights = weights, .x = out, .y = y, .cols = d, .used = moe.used, .rows = rows_});
    return y;
}

}  // namespace lapidary::infer
