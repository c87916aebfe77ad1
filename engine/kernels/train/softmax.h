// Scores of a block of queries become probabilities (softmax.wgsl); and the gradient by the scores (softmax_backward.wgsl).
#pragma once

#include "kernels/attention/kv_view.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

struct Softmax {
    gpu::Tensor position_ids;  // of each row its position in its example, and the row where that begins
    gpu::Tensor scores;        // [heads, block, keys]
    uint32_t first = 0;        // query
    uint32_t block = 0;        // queries
    uint32_t keys = 0;
    uint32_t heads = 0;
    Visible visible = {};

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::softmax::Binding;
        wgsl::softmax::Constants c{.kBlock = block, .kRow = keys};
        c.kWindow = visible.window;
        return Call<wgsl::softmax>(c)
            .words(B::first, std::array<uint32_t, 4>{first, 0, 0, 0})
            .read(B::position_ids, position_ids)
            .update(B::scores, scores)
            .workgroups(block, heads);
    }
};

// dp, the gradient by the probabilities p, becomes that by the scores.
struct SoftmaxBackward {
    gpu::Tensor p, dp;   // [heads, block, keys]
    uint32_t first = 0;  // query
    uint32_t block = 0;  // queries
    uint32_t keys = 0;
    uint32_t heads = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::softmax_backward::Binding;
        return Call<wgsl::softmax_backward>({.kBlock = block, .kRow = keys})
            .words(B::first, std::array<uint32_t, 4>{first, 0, 0, 0})
            .read(B::p, p)
            .update(B::dp, dp)
            .workgroups(block, heads);
    }
};

}  // namespace lapidary::kernels
