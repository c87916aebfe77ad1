// Rows of scores become probabilities, in place (softmax_rows.wgsl).
#pragma once

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct SoftmaxRows {
    gpu::Tensor scores;
    uint32_t rows = 0;
    uint32_t cols = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::softmax_rows::Binding;
        constexpr uint32_t kWide = 1024;  // a dimension of a grid has an end
        const std::array<uint32_t, 2> shape = {rows, cols};
        const uint32_t wide = std::min(rows, kWide);
        return Call<wgsl::softmax_rows>({})
            .words(B::shape, shape)
            .update(B::scores, scores)
            .workgroups(wide, ceil_div(rows, wide));
    }
};

}  // namespace lapidary::kernels
