// y = epilogue(W · prologue(x)) for one row of x, or for a slot an expert (gemv.wgsl). What makes x, and what is done with
// the result, runs in the product's own workgroups: that costs less than a dispatch.
#pragma once

#include <optional>
#include <variant>

#include "kernels/dispatch.h"
#include "kernels/epilogue.h"
#include "kernels/gemv/gemv_tiling.h"
#include "kernels/weights.h"

namespace lapidary::kernels {

// x is there in the form that the product takes: limbs for quantised weights where the target has them, else floats.
struct ReadyX {};
// x is there as floats, one row a token or slot; the workgroups convert it where it has to be limbs.
struct FloatX {};
// x = rms(h'; next) with h' = (h + rms(delta; post)) · scale; `weights`: [post, next, scale]. Without post nothing is added,
// without next x = h'. The first workgroup stores h' in h_out.
struct AddRmsNormX {
    gpu::Tensor delta = {};
    gpu::Tensor weights;
    gpu::Tensor h_out;
    bool next = false;
    float eps = 1e-6f;
};
// x: what the splits of flash_decode found (x has their values), merged.
struct MergeSplitsX {
    gpu::Tensor stats;
    uint32_t head_dim = 0;
    uint32_t window = 0;
    uint32_t max_splits = 0;
};
using Prologue = std::variant<ReadyX, FloatX, AddRmsNormX, MergeSplitsX>;

// A stack of matrices, of which slot s of a token uses number ids[token, s].
struct ExpertRows {
    gpu::Tensor ids;
    uint32_t count = 0;  // of matrices
    uint32_t used = 0;   // slots a token
    bool x_per_slot = false;
};

struct Gemv {
    const Weights& w;                // one piece
    const Weights* below = nullptr;  // more rows, in another format, behind those of w in the same buffer
    gpu::Tensor x, y;
    uint64_t out = 0;       // rows of y
    uint64_t y_offset = 0;  // the first of them in a row of y
    Prologue prologue = FloatX{};
    Epilogue epilogue = Store{};
    std::optional<ExpertRows> experts = {};
    uint32_t tokens = 1;
    std::optional<GemvTiling> tiling = {};  // of one's own, to try it

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const;
};

// Where the rows in the second format are, for the kernel.
struct SecondFormat {
    gpu::Binding weights;  // both
    uint64_t first_rows = 0;
    uint64_t second_at = 0;
};
SecondFormat second_format(const Weights& w, const Weights& below);
// Whether one product can take both: neighbours in a buffer, of formats that can be mixed.
bool can_join(const Weights& w, const Weights& below);

}  // namespace lapidary::kernels
