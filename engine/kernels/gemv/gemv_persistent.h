// y = epilogue(W · x) of a large matrix by no more workgroups than the GPU holds at a time (gemv_persistent.wgsl); x as limbs.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/gemv/gemv.h"

namespace lapidary::kernels {

struct PersistentTiling {
    uint32_t splits = 1;  // of a row; each leaves its own y, whose sum is the result
    uint32_t rows = 2;    // that a row group computes at a time
    uint32_t groups = 0;  // of workgroups, for each split
    // With two formats some workgroups take the first, and the others the second.
    uint32_t first_groups = 0;
    uint32_t first_steps = 0;
    uint32_t second_steps = 0;

    [[nodiscard]] uint32_t steps() const { return std::max(first_steps, second_steps); }
};

// What decides how such a product is divided.
struct PersistentShape {
    uint64_t rows;  // of the result, in the first format
    uint64_t bytes;
    uint64_t below_rows = 0;  // and in the second
    uint64_t below_bytes = 0;
    uint64_t cols = 0;
    bool gate_and_up = false;
    uint32_t max_splits = 1;  // that its result may be the sum of
};

// How the workgroups of a GPU with so many compute units go through a matrix together; none where they should not.
std::optional<PersistentTiling> persistent_tiling(const gpu::Info& info, uint32_t compute_units,
                                                  const PersistentShape& shape);

struct GemvPersistent {
    const Weights& w;  // one piece
    const Weights* below = nullptr;
    gpu::Tensor x, y;
    uint64_t out = 0;
    bool gelu_gate = false;
    PersistentTiling tiling;

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const;
};

}  // namespace lapidary::kernels
