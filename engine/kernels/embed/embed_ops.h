// From tokens to the stream, and from states to the vector of a text.
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/weights.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// y[t] = scale · W[ids[t]] (gather_rows.wgsl); tokens whose row is in another piece are left alone.
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

// y[t, l] = (rms(scale · context[t, l]; norm) + tokens[t, l]) / √2, of every layer l (per_layer_inputs.wgsl).
struct PerLayerInputs {
    gpu::Tensor context, tokens, norm, y;
    uint32_t width = 0;  // of a layer's input
    uint32_t layers = 0;
    uint32_t rows = 0;
    float scale = 1;
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::per_layer_inputs::Binding;
        return Call<wgsl::per_layer_inputs>({.kWidth = width, .kScale = scale, .kEps = eps})
            .read(B::context, context)
            .read(B::tokens, tokens)
            .read(B::w, norm)
            .write(B::y, y)
            .workgroups(layers, rows);
    }
};

// y[t] = the mean of x's rows of text t (pool_rows.wgsl).
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
