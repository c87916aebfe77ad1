// y = cap · tanh(y / cap) in place, where something was added after the product (softcap.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct Softcap {
    gpu::Tensor y;
    uint32_t cols = 0;
    uint32_t rows = 0;
    float cap = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::softcap::Binding;
        return Call<wgsl::softcap>({.kCols = cols, .kCap = cap}).update(B::y, y).workgroups(ceil_div(cols, 64), rows);
    }
};

}  // namespace lapidary::kernels
