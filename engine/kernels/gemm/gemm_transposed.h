// dx = (dx) + Wᵀ · dy for many rows: the gradient of gemm by its input, and a mean of W's rows (gemm_transposed.wgsl).
#pragma once

#include <optional>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/gemm.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct GemmTransposed {
    const Weights& w;  // one piece
    gpu::Tensor dy, dx;
    uint64_t w_rows = 0;     // of one matrix
    uint64_t dy_offset = 0;  // the first of its results in a row of dy
    uint32_t rows = 0;       // of dy
    bool add = false;        // to the dx that is there
    uint32_t splits = 1;     // of W's rows: dx is as many parts of `rows` rows, which somebody has to add up
    std::optional<GroupedRows> experts = {};

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::gemm_transposed::Binding;
        constexpr uint32_t kTile = 64;
        wgsl::gemm_transposed::Constants c{.kCols = w.cols, .kRows = w_rows};
        c.kYOffset = dy_offset;
        c.kAdd = add;
        if (splits > 1) {
            c.kSplits = splits;
            c.kSplitVecs = rows * w.cols / 4;
        }
        if (!experts) c.kYStride = dy.stride;
        Call<wgsl::gemm_transposed> d(c, w.format);
        d.read(B::w, {.at = w.pieces[0].binding}).read(B::dy, dy);
        add ? d.update(B::dx, dx) : d.write(B::dx, dx);
        fill_rows(d, experts);
        const uint64_t row_tiles =
            experts ? uint64_t{experts->experts} * ceil_div(experts->max_rows, kTile) : ceil_div(rows, kTile);
        return d.workgroups(ceil_div(w.cols, kTile), row_tiles, splits);
    }
};

}  // namespace lapidary::kernels
