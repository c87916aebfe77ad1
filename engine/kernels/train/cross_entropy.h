// What a tile of the vocabulary adds to the cross entropy of each row (cross_entropy.wgsl), and, once all tiles have been
// seen, the gradient by its logits (cross_entropy_backward.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// Tokens of the vocabulary whose logits exist.
struct VocabularyTile {
    uint32_t first = 0;
    uint32_t count = 0;

    [[nodiscard]] std::array<uint32_t, 4> words() const { return {first, count, 0, 0}; }
};

struct CrossEntropy {
    VocabularyTile tile;
    gpu::Tensor targets;  // of each row a token and its weight
    gpu::Tensor logits;   // soft-capped
    gpu::Tensor sums;     // of each row what the tiles so far have come to
    uint32_t rows = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::cross_entropy::Binding;
        return Call<wgsl::cross_entropy>({.kStride = logits.stride})
            .words(B::tile, tile.words())
            .read(B::targets, targets)
            .read(B::logits, logits)
            .update(B::sums, sums)
            .workgroups(rows);
    }
};

struct CrossEntropyBackward {
    VocabularyTile tile;
    gpu::Tensor targets, sums;  // as CrossEntropy has left them
    gpu::Tensor logits;         // become the gradient by them, before the cap
    uint32_t rows = 0;
    float cap = 0;  // 0: none

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::cross_entropy_backward::Binding;
        wgsl::cross_entropy_backward::Constants c{.kStride = logits.stride};
        c.kCap = cap;
        return Call<wgsl::cross_entropy_backward>(c)
            .words(B::tile, tile.words())
            .read(B::targets, targets)
            .read(B::sums, sums)
            .update(B::logits, logits)
            .workgroups(ceil_div(tile.count, 64), rows);
    }
};

}  // namespace lapidary::kernels
