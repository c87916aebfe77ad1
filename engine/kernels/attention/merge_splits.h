// y = what the splits of flash_decode found, merged, where the product that reads it cannot do that by itself
// (merge_splits.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct MergeSplits {
    gpu::Tensor splits, stats, y;
    uint64_t cols = 0;  // heads · head_dim
    uint32_t head_dim = 0;
    uint32_t window = 0;
    uint32_t max_splits = 1;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::merge_splits::Binding;
        wgsl::merge_splits::Constants c{.kCols = cols, .kHeadDim = head_dim, .kMaxSplits = max_splits};
        c.kWindow = window;
        c.kLimbs = y.element == gpu::Element::limbs;
        return Call<wgsl::merge_splits>(c)
            .read(B::x, splits)
            .read(B::stats, stats)
            .write(B::y, y)
            .workgroups(ceil_div(cols, 8 * 64));
    }
};

}  // namespace lapidary::kernels
