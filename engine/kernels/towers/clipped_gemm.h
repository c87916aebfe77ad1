// y = clamp(W · clamp(x)): a linear layer of a tower, for many rows of x (gemm/gemm.wgsl).
#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/gemm/gemm_tiling.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// What the elements of x and y are clipped to. Read when it runs: the layers of a tower differ in nothing else.
struct ClipBounds {
    static constexpr float kMost = std::numeric_limits<float>::max();
    float x_low = -kMost, x_high = kMost, y_low = -kMost, y_high = kMost;
};

struct ClippedGemm {
    const Weights& w;  // one piece
    gpu::Tensor x, y;
    uint64_t out = 0;       // rows of y's that it computes
    uint64_t y_offset = 0;  // the first of them in a row of y
    uint32_t rows = 0;      // of x
    ClipBounds bounds = {};

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const {
        using B = wgsl::gemm::Binding;
        // A shader's infinities may be anything.
        const auto finite = [](float v) { return std::clamp(v, -ClipBounds::kMost, ClipBounds::kMost); };
        const std::array<float, 4> limits = {finite(bounds.x_low), finite(bounds.x_high), finite(bounds.y_low),
                                             finite(bounds.y_high)};
        const GemmTiling tile = gemm_tiling(out, rows, false, target.info.max_workgroup_bytes);
        wgsl::gemm::Constants c{.kCols = w.cols, .kOut = out};
        c.kYOffset = y_offset;
        c.kYStride = y.stride;
        c.kRowsPerThread = tile.rows_per_thread;
        c.kDown = tile.down;
        return Call<wgsl::gemm>(c, w.format)
            .read(B::w, {.at = w.pieces[0].binding})
            .read(B::x, x)
            .write(B::y, y)
            .fill<wgsl::epilogue_clip>("epilogue")
            .fill<wgsl::clipped_rows>("rows")
            .words(wgsl::clipped_rows::Binding::bounds, limits)
            .workgroups(ceil_div(rows, tile.tokens()), ceil_div(out, tile.rows()));
    }
};

}  // namespace lapidary::kernels
