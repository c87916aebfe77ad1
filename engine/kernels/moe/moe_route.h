// Which experts a row goes to, and with which weights (moe_route.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct MoeRoute {
    gpu::Tensor logits, scales;  // [rows, experts], [experts]
    gpu::Tensor ids, weights;    // [rows, used]
    uint32_t experts = 0;
    uint32_t used = 0;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_route::Binding;
        return Call<wgsl::moe_route>({.kExperts = experts, .kTopK = used})
            .read(B::logits, logits)
            .read(B::scales, scales)
            .write(B::ids, ids)
            .write(B::router_weights, weights)
            .workgroups(ceil_div(rows, 64));
    }
};

}  // namespace lapidary::kernels
