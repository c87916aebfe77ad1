// The gradient of the experts' weighted sum, by each expert's answer and by the router's logits (moe_route_backward.wgsl).
#pragma once

#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct MoeRouteBackward {
    gpu::Tensor ids, weights;  // as MoeRoute has left them
    gpu::Tensor scales, dy;
    gpu::Tensor x;       // the experts' answers; the gradient by them takes their place,
    gpu::Tensor logits;  // and that by the router's logits theirs
    uint32_t cols = 0;
    uint32_t experts = 0;
    uint32_t used = 0;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_route_backward::Binding;
        return Call<wgsl::moe_route_backward>({.kCols = cols, .kExperts = experts, .kTopK = used})
            .read(B::ids, ids)
            .read(B::router_weights, weights)
            .read(B::scales, scales)
            .read(B::dy, dy)
            .update(B::x, x)
            .update(B::logits, logits)
            .workgroups(rows);
    }
};

}  // namespace lapidary::kernels
