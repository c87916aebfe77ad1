// y[t] = the mean of x's rows of text t (pool_rows.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct PoolRows {
    gpu::Tensor x, y;
    gpu::Tensor texts;   // [texts] of (first row, the one behind the last), at least one row each
    uint32_t count = 0;  // of texts, at most: the step has how many there are

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::pool_rows::Binding;
        return Call<wgsl::pool_rows>({.kCols = x.cols})
            .read(B::x, x)
            .read(B::texts, texts)
            .write(B::y, y)
            .workgroups(ceil_div(x.cols / 4, 8), count);
    }
};

}  // namespace lapidary::kernels
