// y[t] = scale · W[ids[t]] (gather_rows.wgsl); tokens whose row is in another piece are left alone.
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct GatherRows {
    const Weights& w;
    size_t piece = 0;
    gpu::Tensor ids, y;
    uint32_t rows = 0;
    float scale = 1;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::gather_rows::Binding;
        const Weights::Piece& part = w.pieces[piece];
        wgsl::gather_rows::Constants c{.kCols = w.cols, .kWRows = part.rows};
        c.kFirstRow = part.first_row;
        c.kScale = scale;
        return Call<wgsl::gather_rows>(c, w.format)
            .read(B::w, {.at = part.binding})
            .read(B::ids, ids)
            .write(B::y, y)  // the pieces of a table together: every row is in one of them
            .workgroups(ceil_div(w.cols / 16, 64), rows);
    }
};

}  // namespace lapidary::kernels
