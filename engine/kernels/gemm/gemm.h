// y = epilogue(W · x) for many rows of x (gemm.wgsl).
#pragma once

#include <optional>

#include "base/checked.h"
#include "base/edition.h"
#include "kernels/dispatch.h"
#include "kernels/epilogue.h"
#include "kernels/gemm/gemm_tiling.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// W is a stack of matrices; the rows of x are slots, listed by the expert they go to (moe/expert_lists.wgsl).
struct GroupedRows {
    gpu::Tensor lists;
    uint32_t experts = 0;
    uint32_t max_rows = 0;  // of an expert
    uint32_t share = 1;     // slots that have one row of x together
    uint32_t usual = 64;    // of an expert, about
};

template <class K>
void fill_rows(Call<K>& d, const std::optional<GroupedRows>& experts) {
    constexpr std::string_view kSlot = "rows";
    if (!experts || !has_everything()) {
        d.template fill<wgsl::all_rows>(kSlot);
        return;
    }
    d.template fill<wgsl::grouped_rows>(kSlot, {.kExperts = experts->experts, .kMaxRows = experts->max_rows});
    d.read(wgsl::grouped_rows::Binding::expert_lists, experts->lists);
}

struct Gemm {
    const Weights& w;  // one piece
    gpu::Tensor x, y;
    uint64_t out = 0;       // rows of y's that it computes
    uint64_t y_offset = 0;  // the first of them in a row of y
    uint32_t rows = 0;      // of x
    Epilogue epilogue = Store{};
    std::optional<GroupedRows> experts = {};
    std::optional<GemmTiling> tiling = {};  // of one's own, to try it

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const {
        using B = wgsl::gemm::Binding;
        const bool pairs = is_gelu_gate(epilogue);
        const uint64_t w_rows = pairs ? 2 * out : out;
        const GemmTiling usual = experts ? grouped_tiling(experts->usual)
                                         : gemm_tiling(w_rows, rows, pairs, target.info.max_workgroup_bytes);
        const GemmTiling tile = tiling.value_or(usual);
        wgsl::gemm::Constants c{.kCols = w.cols, .kOut = out};
        c.kYOffset = y_offset;
        c.kRowsPerThread = tile.rows_per_thread;
        c.kDown = tile.down;
        if (!experts) c.kYStride = y.stride;
        if (experts) c.kShare = experts->share;
        Call<wgsl::gemm> d(c, w.format);
        d.read(B::w, {.at = w.pieces[0].binding}).read(B::x, x).write(B::y, y);
        fill_epilogue(d, epilogue);
        fill_rows(d, experts);
        const uint64_t row_tiles = experts ? uint64_t{experts->experts} * ceil_div(experts->max_rows, tile.tokens())
                                           : ceil_div(rows, tile.tokens());
        return d.workgroups(row_tiles, ceil_div(w_rows, tile.rows()));
    }
};

}  // namespace lapidary::kernels
