// y[t] = Σ_k weights[t, k] · x[t, k]: the answers of a row's experts (moe_combine.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct MoeCombine {
    gpu::Tensor weights, x, y;
    uint32_t cols = 0;
    uint32_t used = 0;
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::moe_combine::Binding;
        return Call<wgsl::moe_combine>({.kCols = cols, .kTopK = used})
            .read(B::router_weights, weights)
            .read(B::x, x)
            .write(B::y, y)
            .workgroups(ceil_div(cols, 64), rows);
    }
};

}  // namespace lapidary::kernels
