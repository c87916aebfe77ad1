// y[t] = x[rows[t]] (copy_rows.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct CopyRows {
    gpu::Tensor rows, x, y;
    uint32_t cols = 0;
    uint32_t count = 0;  // of rows

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::copy_rows::Binding;
        return Call<wgsl::copy_rows>({.kCols = cols})
            .read(B::rows, rows)
            .read(B::x, x)
            .write(B::y, y)
            .workgroups(ceil_div(cols, 64), count);
    }
};

}  // namespace lapidary::kernels
