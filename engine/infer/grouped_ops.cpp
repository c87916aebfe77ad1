#include "infer/grouped_ops.h"

#include <cmath>

#include "kernels/gemm/gemm.h"
#include "kernels/moe/expert_lists.h"
#include "kernels/moe/moe_ops.h"

namespace lapidary::infer {

GpuOps::Routed GroupedOps::route_at_once(const Experts& e, gpu::Tensor h) {
    const model::ExpertConfig& moe = config().experts;
    const kernels::Weights& router = model_.layers[e.layer].router;
    const uint32_t d = config().width;
    if (!kernels::MoeRouter::takes(router)) return route(e, h);
    Norm scale = e.router_scale;
    for (float& v : scale) v /= std::sqrt(float(d));
    const Routed out{.ids = program_.scratch("experts chosen", rows_, moe.used),
                     .weights = program_.scratch("experts' weights", rows_, moe.used),
                     .x = program_.scratch("xn", rows_, d)};
    program_.add(kernels::MoeRouter{.h = h,
                                    .w = router,
                                    .vectors = program_.floats(kernels::joined({scale, e.norm, e.scales}), "router"),
                                    .ids = out.ids,
                                    .weights = out.weights,
                                    .z = out.x,
                                    .used = moe.used,
                                    .eps = config().norm_epsilon,
                                    .rows = rows_});
    return out;
}

gpu::Tensor GroupedOps::experts(const Experts& e, gpu::Tensor h) {
    const model::ExpertConfig& moe = config().experts;
    const GpuLayer& w = model_.layers[e.layer];
    const uint32_t d = config().width;
    // Then they are refused there.
    if (w.expert_gate_up.pieces.size() > 1 || w.expert_down.pieces.size() > 1) return GpuOps::experts(e, h);
    const Routed routed = route_at_once(e, h);
    const gpu::Tensor lists = program_.scratch("experts' lists", 1, uint64_t{moe.count} * (rows_ + 1));
    program_.add(kernels::ExpertLists{
        .ids = routed.ids, .lists = lists, .experts = moe.count, .used = moe.used, .max_rows = rows_});
    const uint32_t slots = rows_ * moe.used;
    kernels::GroupedRows rows{
        .lists = lists, .experts = moe.count, .max_rows = rows_, .share = moe.used, .usual = slots / moe.count};
    const gpu::Tensor ff = program_.scratch("experts' ff", slots, moe.ffn);
    program_.add(kernels::Gemm{.w = w.expert_gate_up,
                               .x = routed.x,
                               .y = ff,
                               .out = moe.ffn,
                               .rows = slots,
                               .epilogue = kernels::GeluGate{},
                               .experts = rows});
    rows.share = 1;
    const gpu::Tensor out = program_.scratch("experts' output", slots, d);
    program_.add(kernels::Gemm{.w = w.expert_down, .x = ff, .y = out, .out = d, .rows = slots, .experts = rows});
    const gpu::Tensor y = program_.scratch("experts", rows_, d);
    program_.add(
        kernels::MoeCombine{.weights = routed.weights, .x = out, .y = y, .cols = d, .used = moe.used, .rows = rows_});
    return y;
}

}  // namespace lapidary::infer
