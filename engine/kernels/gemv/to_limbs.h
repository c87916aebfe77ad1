// y = x as limbs, where it is too long for gemv's workgroups to convert it by themselves (to_limbs.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct ToLimbs {
    gpu::Tensor x, y;
    uint64_t cols = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::to_limbs::Binding;
        return Call<wgsl::to_limbs>({.kCols = cols}).read(B::x, x).write(B::y, y).workgroups(ceil_div(cols, 8 * 64));
    }
};

}  // namespace lapidary::kernels
